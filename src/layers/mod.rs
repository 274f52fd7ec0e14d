//! The three layers: what an answer, a path of tool calls and a bill must hold to. Specs and facts in, findings out; no I/O.

mod judge;

pub use judge::{
    JudgeCheck, JudgeFailure, JudgeKind, JudgeLabel, JudgeReply, Threshold, threshold_score,
};
