//! What a trial amounts to: facts to numbers, the same at the end of a trial and at a rebuild.
//!
//! Two sources know of a watched command: its shim (what ran, with what arguments) and the agent's own stream
//! (what the agent says it ran). [`Tally`] counts a call that both saw once; the rule stands in `watched.rs`.
//! Nothing here reads a clock or a file, but for what it set aside itself (`kept.rs`), and no input makes it fail or grow
//! without bound.

mod calls;
mod cost;
mod error_class;
mod kept;
mod mcp_tools;
mod mcp_xcode;
mod named;
mod shell;
mod shell_lexer;
mod shell_nesting;
mod shell_wrappers;
mod tallied;
mod tally;
mod upstream;
mod watched;
mod xcode;

pub use calls::call_made;
pub use cost::{KnownCost, PricedTokens, cost, priced_usd};
pub use error_class::{ErrorClass, classify, is_mcp_error_discovery};
pub use kept::Kept;
pub use mcp_tools::{Drives, McpTool, mcp_server_and_tool, mcp_tool};
pub use tallied::{McpCallSeen, Tallied, ToolErrors};
pub use tally::Tally;
pub use upstream::{MANIFESTS, Upstream, package_name};
