//! The person: flags, words, colours, exit codes.
