//! Arithmetic, with the reference of each formula above it.
