//! The whole plan: preflight, order, concurrency, cancellation, one stream of progress.

mod apple;
mod believed;
mod disk;
mod dispatch;
mod drift;
mod failure;
mod inputs;
mod judges;
mod lanes;
mod lanes_told;
mod ledger;
mod memories;
mod metadata;
mod postmortem;
mod preflight;
mod preview;
mod programs;
mod project;
mod purse;
mod pythons;
mod references;
mod regrading;
mod request;
mod schedule;
mod sealed;
mod secrets;
mod validation;

pub use failure::RunError;
pub use inputs::named_files;
pub use postmortem::{PostRun, post_run};
pub use preview::{Preview, preview};
pub use programs::{Lack, lacking};
pub use project::project_of;
pub use regrading::{Comparison, Regrading, regrade};
pub use request::{RunEnd, RunRequest, run};
pub use validation::validate;
