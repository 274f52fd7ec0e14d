//! One trial, start to end.
