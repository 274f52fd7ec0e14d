//! The PATH overlay that sees every call of a watched command.
//!
//! [`Overlay::install`] lays a folder with one small native program per watched command in front of `PATH`. Each of them runs
//! the real tool, as if it had been called itself, and tells of the call when it has ended (`relay/main.rs`). On Linux it
//! does so over a socket, where the kernel tells who speaks (`desk.rs`); elsewhere it appends a line to a file, as it does at
//! level none where no socket can be made. [`Overlay::heard`] tells what came. The way to the log and the real tool are
//! written into a file beside the shim, not into the environment, since agents start MCP servers with hardly any.
//!
//! What it cannot see: tools called by their absolute path or by a `PATH` set anew, so counts are a lower bound. Agents that
//! run login shells, whose system-wide startup files set `PATH` anew, need [`Overlay::shell_startup`].

#[cfg(target_os = "linux")]
mod call_listener;
mod ear;
#[cfg(target_os = "linux")]
mod hub;
mod log;
mod overlay;
mod startup;
#[cfg(test)]
mod tests;
#[cfg(target_os = "linux")]
mod witness;

pub use log::{ShimLog, read_log};
pub use overlay::{LogWay, Overlay, WatchedTool, watched_tools};
