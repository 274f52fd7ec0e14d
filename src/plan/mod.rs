//! The matrix and its order: which trials there are, in which order, and which are still missing.

mod matrix;
mod order;
mod resume;

pub use matrix::{Block, Plan, PlannedTrial, baselines_per_arm, build};
pub use order::Shuffler;
pub use resume::{Done, Missing, missing};
