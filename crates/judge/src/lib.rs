//! Who judges answers by a rubric: what is asked, of whom, at what cost, and how far to trust it.
//!
//! A judge is a model or a program. What it judges is data between marks that the data cannot forge; what it may answer is
//! one strict JSON object that names the mark. Anything else is an error and tried again, never a verdict. Several replies
//! count by their median, ties fail. Replies are recorded by the digest of the exact request, so that nothing is paid twice.
//! No judge decides before it was measured against people ([`measure`]) unless the operator says so.

mod attempt;
mod bench;
mod budget;
mod calibration;
mod call;
mod dialect;
mod fault;
mod files;
mod http;
mod judges;
mod labels;
mod measure;
mod panel;
mod program;
mod prompt;
mod recordings;
mod reply;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

pub use bench::{JudgeSetup, JudgeSetupError, Judgement, keys, standing};
pub use budget::JudgeBudget;
pub use calibration::{Calibration, Share, Standing, keep, shown};
pub use call::{Given, NoVerdict};
pub use judges::Judges;
pub use labels::{Label, Labels, Opinion, read as read_labels};
pub use measure::{Judged, Measurement, measure};
pub use prompt::Material;
