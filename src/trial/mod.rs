//! One trial, start to end.
//!
//! `run_trial` is total: whatever happens inside, a `TrialOutcome` comes out and the workspace is gone.

mod aftermath;
mod alone;
mod answers;
mod app_left;
mod attest;
mod blocking;
mod cheat;
mod confinement;
mod context;
mod door;
mod draft;
mod environment;
mod finish;
mod frame;
mod grading;
mod guard;
mod jail;
mod judgement;
mod kept;
mod listener;
mod mcp_seen;
mod meter;
mod money;
mod named_files;
mod outside;
mod performance;
mod preparation;
mod rebuilt;
mod regrade;
mod sessions;
mod shim_cost;
mod simulator;
mod stages;
mod steering;
mod telling;
mod validate;
mod watch;

pub use aftermath::scrub_folder;
pub use attest::Attested;
pub use cheat::Cheat;
pub use confinement::{Confinement, Places};
pub use context::{RunContext, Teller};
pub use door::hosts_ahead;
pub use draft::crashed_outcome;
pub use environment::{base_environment, program_path};
pub use finish::finish_trial;
pub use guard::Guard;
pub use kept::{Kept, read as read_kept};
pub use regrade::{Regraded, regrade_trial};
pub use simulator::AppleSide;
pub use stages::run_trial;
pub use steering::{memories_of_folder, memories_of_home};
pub use validate::{Caught, Proof, Validation, validate_task};
