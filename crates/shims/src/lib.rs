//! The PATH overlay that sees every call of a watched command.
//!
//! [`Overlay::install`] lays a folder with one small native program per watched command in front of `PATH`. Each of them logs
//! the call and becomes the real tool (`relay/main.rs`). On Linux it logs over a socket, where the kernel tells who speaks
//! (`call_listener.rs`); elsewhere it appends a line to a file, as it does at level none where no socket can be made.
//! [`Overlay::heard`] gives what came. The way to the log and the real tool are written into a file beside the shim, not
//! into the environment, since agents start MCP servers with hardly any.
//!
//! What it cannot see: tools called by their absolute path or by a `PATH` set anew, so counts are a lower bound. Agents that
//! run login shells, whose system-wide startup files set `PATH` anew, need [`Overlay::shell_startup`].

#[cfg(target_os = "linux")]
mod call_listener;
#[cfg(not(target_os = "linux"))]
#[path = "no_listener.rs"]
mod call_listener;
mod log;
mod overlay;
mod startup;
#[cfg(test)]
mod tests;

pub use log::{ShimLog, read_log};
pub use overlay::{LogWay, Overlay, WatchedTool, watched_tools};
