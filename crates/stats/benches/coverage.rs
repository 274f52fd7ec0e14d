//! Simulates runs with known effects.

fn main() {}
