//! What follows a run: manifests for an agent that writes reports, its prompts, and the reports that need no agent.

mod arms;
mod collect;
mod failures;
mod prompts;
mod tool_errors;

pub use arms::Arm;
pub use collect::{Manifests, manifests, write_manifests};
pub use failures::{FailedTrial, FailureManifest};
pub use prompts::{failure_analysis_prompt, tool_error_prompt};
pub use tool_errors::{ToolErrorManifest, TrialErrors};

/// Version of both manifests' shape.
pub const MANIFEST_VERSION: u32 = 1;

/// No manifest lists more trials; it says how many it left out.
const MOST_TRIALS: usize = 2_000;
/// No report that needs no agent lists more lines of one kind.
const MOST_LINES: usize = 100;
