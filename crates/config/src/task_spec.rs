//! Scenarios, servers and tasks as a suite asks for them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{AgentKind, GraderSpec};
use proctor_model::host::HostRule;
use proctor_model::vocabulary::{Map, Variable, Word};
use proctor_model::{Network, ScenarioId, TaskId};

/// A scenario: nothing but a named treatment.
#[derive(Debug, Clone)]
pub struct ScenarioSpec {
    /// Its id.
    pub id: ScenarioId,
    /// `description` (new): shown in reports.
    pub description: Option<String>,
    /// Text put before the task's prompt.
    pub prompt_prefix: Option<String>,
    /// Text put after the task's prompt.
    pub prompt_suffix: Option<String>,
    /// Whether the prompt lists the build parameters.
    pub primed: bool,
    /// Whether the prompt asks the agent to prefer MCP tools.
    pub prefer_mcp: bool,
    /// MCP: `None` = switched off hard, else the file with `mcpServers`.
    pub mcp_config: Option<PathBuf>,
    /// Paths in the words and variables of its servers that name something beside the config, and what they name.
    pub mcp_paths: BTreeMap<String, PathBuf>,
    /// Files or folders laid into the workspace: (from, path in the workspace's project folder).
    pub files: Vec<(PathBuf, PathBuf)>,
    /// Further agent arguments, put where `{EXTRA_ARGS}` is: (`None` = every agent, else that kind only, arguments).
    pub agent_args: Vec<(Option<AgentKind>, Vec<String>)>,
    /// Environment variables of the agent.
    pub env: BTreeMap<String, String>,
    /// `network` (new): that of its agents, if not what the suite says; of two the narrower one holds.
    pub network: Option<Network>,
    /// `hosts` (new): what its agents may ask beside those of the suite.
    pub hosts: Vec<HostRule>,
}

/// The MCP server of the built-in MCP scenarios.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct McpSettings {
    /// Whether to use the built-in MCP scenarios. They need the folder `mcp_configs` next to the config.
    #[serde(default)]
    pub enabled: bool,
    /// Program and arguments that start the server before an MCP trial.
    #[serde(default)]
    #[schemars(with = "Vec<Word>")]
    pub start_command: Vec<String>,
    /// Program and arguments that stop it after the trial.
    #[serde(default)]
    #[schemars(with = "Vec<Word>")]
    pub stop_command: Vec<String>,
    /// Environment variables of the server. `EVAL_MCP_TOOL_LOG` may name a JSONL file in which it logs its tool calls;
    /// `{RUN_ID}` in it is replaced.
    #[serde(default)]
    #[schemars(with = "Map<Variable, Word>")]
    pub env: BTreeMap<String, String>,
}

/// The variable that names the JSONL which an MCP server writes of its own calls.
pub const MCP_TOOL_LOG: &str = "EVAL_MCP_TOOL_LOG";

/// One of `tasks:`.
#[derive(Debug, Clone)]
pub struct TaskSpec {
    /// `id`
    pub id: TaskId,
    /// `description`
    pub description: String,
    /// `prompt`
    pub prompt: String,
    /// `kind`
    pub kind: TaskKind,
    /// `setup_commands`, each an argv; a shell string became `["sh", "-c", text]`.
    pub setup_commands: Vec<Vec<String>>,
    /// `graders`, and after them `held_out_graders` (new).
    pub graders: Vec<GraderSpec>,
    /// How many of the graders, the last ones, are held out.
    pub held_out: usize,
    /// The places of those that say `shares_tree` (new): they work in what the grader before them left.
    pub sharing: BTreeSet<usize>,
    /// `impossible` (new): whether no honest work can pass.
    pub impossible: bool,
    /// `network` (new): that of its agents, if not what the suite says.
    pub network: Option<Network>,
    /// `hosts` (new): what its agents may ask beside those of the suite.
    pub hosts: Vec<HostRule>,
    /// `carry` (new): paths that go into the graders' tree though the base commit ignores them.
    pub carry: Vec<String>,
    /// `protected` (new): paths that are put back before grading; `None` = those that decide how tests run, by name.
    pub protected: Option<Vec<String>>,
    /// `allowed_changes` (new): where an agent may change anything at all; `None` = anywhere.
    pub allowed_changes: Option<Vec<String>>,
    /// `grader_files` (new): files or folders that only graders see: (from, path in the project's folder).
    pub grader_files: Vec<(PathBuf, PathBuf)>,
    /// `reference_patch`, absolute.
    pub reference_patch: Option<PathBuf>,
    /// `alternatives` (new): further right solutions, absolute; validation alone looks at them.
    pub alternatives: Vec<PathBuf>,
    /// SHA-256 over the task as written and its reference patch, in hex.
    pub digest: String,
}

impl TaskSpec {
    /// Whether every grader that runs code has a twin, and there is one.
    #[must_use]
    pub fn is_twinned(&self) -> bool {
        let mut running = self.graders.iter().filter(|it| it.runs_code()).peekable();
        running.peek().is_some() && running.all(|grader| !grader.twin().is_empty())
    }
}

/// `kind` of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// Tests what agents can do at all.
    Capability,
    /// Tests that agents still do what they did.
    Regression,
}

impl TaskKind {
    /// The word in config and rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Capability => "capability",
            Self::Regression => "regression",
        }
    }
}
