//! Judging what a trial left.
