//! What graders are asked about.

use proctor_config::TaskSpec;
use proctor_graders::ForbiddenBaseline;
use proctor_layers::Spent;
use proctor_model::Oversize;
use proctor_record::{AppLeft, TrialDir};
use proctor_workspace::ChangedPath;

/// What is graded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work<'a> {
    /// What is different from the state after setup.
    pub(super) changed: &'a [ChangedPath],
    /// Set where that is too much to grade.
    pub(super) oversize: Option<Oversize>,
    /// Forbidden files after setup, where they were looked at; else they are looked at in the fresh tree.
    pub(super) baseline: Option<&'a ForbiddenBaseline>,
    /// Arguments that the scenario adds to the agent's, for graders to see.
    pub(super) extra_args: &'a [String],
    /// What the agent left of the app on its simulator, where graders ask.
    pub(super) app: Option<&'a AppLeft>,
    /// Nothing where no agent ran.
    pub(super) agent: Option<AgentRecord<'a>>,
}

/// What is known of an agent whose work is graded.
#[derive(Debug, Clone, Copy)]
pub(super) struct AgentRecord<'a> {
    /// The folder with its output.
    pub(super) dir: &'a TrialDir,
    pub(super) spent: Spent,
    /// Why the trial is no success, whatever graders say.
    pub(super) decided: Option<&'a str>,
}

/// A task, what is graded, and which of its changes are carried into the graders' trees.
#[derive(Clone, Copy)]
pub(super) struct Job<'a> {
    pub(super) task: &'a TaskSpec,
    pub(super) work: Work<'a>,
    pub(super) carried: &'a [&'a ChangedPath],
}
