//! A trial told in formats of others: ATIF, which can also be read, and spans of OpenTelemetry.

mod agentci;
mod atif_check;
mod atif_export;
mod atif_import;
mod atif_wire;
mod otel;
mod source;
mod tokens;

pub use agentci::{AgentCiTrace, read_agentci};
pub use atif_export::atif;
pub use atif_import::{AtifProblem, Imported, read_atif};
pub use atif_wire::Trajectory;
pub use otel::{OtelOptions, otel};
pub use source::{Told, trials_below};
use tokens::tokens_of;

#[cfg(test)]
mod tests;
