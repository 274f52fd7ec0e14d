//! The PATH overlay that sees every call of a watched command.
//!
//! [`Overlay::install`] lays a folder with one small native program per watched command in front of `PATH`. Each of them runs
//! the real tool, as if it had been called itself, and appends one line to a log when the call ends (`relay/main.rs`);
//! [`read_log`] reads the lines back. The log and the real tool are written into a file beside the shim, not into the
//! environment, since agents start MCP servers with hardly any.
//!
//! What it cannot see: tools called by their absolute path or by a `PATH` set anew, so counts are a lower bound. Agents that
//! run login shells, whose system-wide startup files set `PATH` anew, need [`Overlay::shell_startup`].

mod log;
mod overlay;
mod startup;
#[cfg(test)]
mod tests;

pub use log::{ShimLog, read_log};
pub use overlay::{Overlay, WatchedTool, watched_tools};
