//! What an agent is started with, and how it is started.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::web::WebTools;
use proctor_config::{AgentSpec, McpSettings, ScenarioSpec, Settings};
use proctor_model::TaskId;

/// What a trial's agent is started with and for.
#[derive(Debug, Clone, Copy)]
pub struct InvocationContext<'a> {
    /// The agent.
    pub agent: &'a AgentSpec,
    /// The scenario.
    pub scenario: &'a ScenarioSpec,
    /// `suite:`.
    pub settings: &'a Settings,
    /// `mcp:`.
    pub mcp: &'a McpSettings,
    /// The prompt, complete.
    pub prompt: &'a str,
    /// The project folder of the workspace.
    pub workdir: &'a Path,
    /// Where `{OUT_JSON}` points.
    pub out_json: &'a Path,
    /// A folder of this trial alone, outside of the workspace; its path is short, since sockets lie below it.
    pub private: &'a Path,
    /// The task; `None` in baseline runs and post-run reports.
    pub task: Option<&'a TaskId>,
    /// Whether this is a baseline run.
    pub baseline: bool,
    /// Which trial of the cell, from 0.
    pub index: u32,
    /// PATH of the agent, shims first.
    pub path: &'a OsStr,
    /// Whether the home that the agent sees is the trial's alone, so that what it keeps there reaches no other trial.
    pub home_is_own: bool,
    /// This program, if it is to stand before the MCP servers and note what they tell.
    pub go_between: Option<&'a Path>,
}

/// A started agent to be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Invocation {
    /// The command line; the program is looked up on PATH.
    pub argv: Vec<OsString>,
    /// Variables beside the base environment. Names that the config sets itself (`suite.env`, the agent's or the
    /// scenario's `env`) are left out, so it does not matter which side is applied last.
    pub env: Vec<(String, OsString)>,
    /// Bytes for standard input; `None` = nothing to read.
    pub stdin: Option<Vec<u8>>,
    /// What `{EXTRA_ARGS}` became; empty where the command has no such token.
    pub extra_args: Vec<String>,
    /// What became of the web tools of its provider.
    pub web_tools: WebTools,
    /// The private home, if the agent has one.
    pub private_home: Option<PathBuf>,
    /// The agent's own folder (login, settings, sessions), where that is the trial's alone.
    pub agent_home: Option<PathBuf>,
    /// Files with secrets (copied logins, MCP settings): to be removed when the agent has ended.
    pub private_files: Vec<PathBuf>,
    /// `CODEX_HOME` of the trial alone, where Codex leaves its session files.
    pub codex_home: Option<PathBuf>,
}

/// The variable with settings that opencode puts over all others.
pub(super) const OPENCODE_CONTENT: &str = "OPENCODE_CONFIG_CONTENT";
