//! What happened, as nouns: no I/O, no clock, no wire format.

mod command_call;
mod event;
mod id;
mod measures;
mod outcome;
pub mod path_text;
mod progress;
mod usage;

pub use command_call::{CallSource, CommandCall};
pub use event::{
    AgentEvent, EventKind, McpServerSeen, ProviderFault, ProviderFaultKind, Reset, StreamReport,
    Terminal, ToolCall, ToolResult,
};
pub use id::{AgentId, Cell, IdProblem, ScenarioId, TaskId, TrialKey, check_id};
pub use measures::{ErrorContext, Measures, ToolErrorSeen};
pub use outcome::{
    Grade, GradedIn, HostLoad, Infra, Integrity, Isolation, Leftover, ShimLogKept, Termination,
    TrialOutcome, Verdict, WorkspaceKind,
};
pub use progress::Progress;
pub use usage::{CacheTtl, CacheWrites, Cost, CostSource, Pricing, Usage};
