//! What was asked: `config.yaml` and `tasks.yaml`, checked and resolved.

mod grader_spec;
mod suite;

pub use grader_spec::{GraderSpec, IosTestOptions};
pub use suite::{
    AgentKind, AgentSpec, BuildParams, LeftOut, McpSettings, PlanMode, Project, ProjectSource,
    PromptVia, ReplaySpec, ScenarioSpec, Settings, Suite, TaskKind, TaskSpec, TranscriptMode,
};
