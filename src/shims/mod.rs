//! The PATH overlay that sees every call of a watched command.
