//! Confidence sequences: intervals that hold at every look, so that a run may stop at any.
//!
//! Feed them the differences of [`paired_differences`](crate::paired_differences), block by block.
//! Where several contrasts decide together, divide alpha by their number.

mod asymptotic;
mod betting;

pub use asymptotic::{AsymptoticSequence, FIRST_BLOCK};
pub use betting::{BettingSequence, OutOfRange};
