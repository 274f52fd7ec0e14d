//! The `proctor` program.
fn main() {}
