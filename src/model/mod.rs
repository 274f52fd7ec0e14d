//! What happened, as nouns: no I/O, no clock, no wire format.

mod command_call;
mod event;
pub mod host;
mod id;
mod measures;
mod outcome;
pub mod path_text;
mod progress;
mod seen_ids;
mod usage;

pub use command_call::{CallSource, CommandCall, McpServerCall};
pub use event::{
    AgentEvent, EventKind, McpServerSeen, ProviderFault, ProviderFaultKind, Reset, STDERR_CALL,
    StreamReport, Terminal, ToolCall, ToolResult,
};
pub use id::{AgentId, Cell, IdProblem, ScenarioId, TaskId, TrialKey, check_id};
pub use measures::{Measures, ToolErrorSeen};
pub use outcome::{
    Allowance, DoorUse, Grade, GradedIn, HostLoad, Infra, Integrity, Isolation, LayerVerdicts,
    Leftover, Network, RUN_BUDGET, ShimLogKept, Termination, TrialOutcome, TwoSuites, Verdict,
    WorkspaceKind,
};
pub use progress::{LaneState, Progress};
pub use seen_ids::{ById, SeenIds, id_hash};
pub use usage::{
    CacheTtl, CacheWrites, Cost, CostSource, ModelTokens, Pricing, Usage, UsageSource,
};
