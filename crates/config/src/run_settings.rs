//! `suite:`, run-level settings, resolved.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use crate::{IsolationSettings, LimitSettings, RetrySettings};
use proctor_model::host::HostRule;
use proctor_model::vocabulary::{
    AnyPath, Filled, Host, Id, Inside, Limit, Map, Pause, Program, Variable, VariableRule, Word,
    without,
};
use proctor_model::{AgentId, Network, ScenarioId, WorkspaceKind};

/// Run-level settings.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the config file"
)]
pub struct Settings {
    /// Name of the suite in reports: `name`, or that of the config's folder.
    #[serde(skip)]
    pub name: String,
    /// Folder that run directories are created in.
    #[schemars(with = "AnyPath", extend("default" = "./runs"))]
    pub output_root: PathBuf,
    /// Folder of baselines that path and budget compare with, relative to the config.
    #[schemars(with = "Filled", extend("default" = "baselines"))]
    pub baselines: PathBuf,
    /// Hard limit of an agent.
    #[serde(rename = "timeout_sec")]
    #[schemars(with = "Limit", extend("default" = 1800))]
    pub timeout: Duration,
    /// Hard limit of an agent by scenario, instead of `timeout_sec`.
    #[serde(rename = "scenario_timeouts_sec", default)]
    #[schemars(with = "Map<Id, Limit>")]
    pub scenario_timeouts: BTreeMap<ScenarioId, Duration>,
    /// Limit of an agent's silence: no output, no watched command that begins or ends, and no process of it that works. No
    /// limit when absent.
    #[serde(rename = "stall_timeout_sec")]
    #[schemars(with = "Option<Limit>")]
    pub stall_timeout: Option<Duration>,
    /// Limit of an agent's silence even while its processes work. No limit when absent.
    #[serde(rename = "silence_timeout_sec")]
    #[schemars(with = "Option<Limit>")]
    pub silence_limit: Option<Duration>,
    /// Limit of an agent's silence by scenario, instead of `stall_timeout_sec`.
    #[serde(rename = "scenario_stall_timeouts_sec", default)]
    #[schemars(with = "Map<Id, Limit>")]
    pub scenario_stall_timeouts: BTreeMap<ScenarioId, Duration>,
    /// Limit of each setup command.
    #[serde(rename = "setup_timeout_sec")]
    #[schemars(with = "Limit", extend("default" = 600))]
    pub setup_timeout: Duration,
    /// Limit of a grader that names none.
    #[serde(rename = "grader_timeout_sec")]
    #[schemars(with = "Limit", extend("default" = 1800))]
    pub grader_timeout: Duration,
    /// Limit of each call of simctl and xcresulttool by the harness, the boot of a simulator among them.
    #[serde(rename = "simulator_timeout_sec")]
    #[schemars(with = "Limit", extend("default" = 180))]
    pub simulator_timeout: Duration,
    /// Most builds of graders at once, however many trials run.
    #[schemars(range(min = 1, max = 1_000))]
    pub xcodebuild_jobs: Option<u32>,
    /// An agent, too, takes one of the places of `xcodebuild_jobs`, from its start to its end: when it builds nobody knows
    /// beforehand.
    #[serde(default)]
    pub cap_agent_builds: bool,
    /// Time between INT, TERM and KILL when a process is stopped.
    #[serde(rename = "stop_grace_sec")]
    #[schemars(with = "Pause", extend("default" = 5))]
    pub stop_grace: Duration,
    /// How long an agent may live on after its final event.
    #[serde(rename = "linger_sec")]
    #[schemars(with = "Pause", extend("default" = 5))]
    pub linger: Duration,
    /// How long output is awaited after the agent's exit.
    #[serde(rename = "drain_sec")]
    #[schemars(with = "Pause", extend("default" = 2))]
    pub drain: Duration,
    /// Trials of each agent x scenario x task.
    #[schemars(range(min = 1, max = 100_000), extend("default" = 1))]
    pub trials_per_cell: u32,
    /// Seed of the order: the same seed gives the same plan on every machine.
    #[schemars(extend("default" = 1337))]
    pub random_seed: u64,
    /// Order of the matrix.
    #[schemars(extend("default" = "random"))]
    pub plan_mode: PlanMode,
    /// Whether a block of `blocked_by_scenario` is shuffled.
    #[schemars(extend("default" = true))]
    pub shuffle_within_scenario: bool,
    /// Whether do-nothing runs measure the fixed cost of each agent x scenario.
    #[serde(default)]
    pub run_baselines: bool,
    /// Baselines of each agent x scenario.
    #[schemars(range(max = 100_000), extend("default" = 1))]
    pub baseline_trials_per_scenario: u32,
    /// Trials at once; more than one changes timings, and the run says so.
    #[schemars(range(min = 1, max = 1_000), extend("default" = 1))]
    pub jobs: u32,
    /// Where more than four trials of a lane run, the least time between two starts; up to a half more by chance.
    #[serde(rename = "start_gap_sec")]
    #[schemars(with = "Pause", extend("default" = 0.25))]
    pub start_gap: Duration,
    /// How often and when a trial is tried again that something else than the agent decided.
    #[schemars(extend("default" = {}))]
    pub retries: RetrySettings,
    /// What a run may take of the disk, of memory and of money.
    #[schemars(extend("default" = {}))]
    pub limits: LimitSettings,
    /// What each trial works in.
    #[schemars(extend("default" = "worktree"))]
    pub workspace: WorkspaceKind,
    /// `isolation` and what belongs to it.
    #[serde(flatten)]
    pub isolation: IsolationSettings,
    /// The network of agents, where neither a task nor a scenario says.
    #[schemars(extend("default" = "host"))]
    pub network: Network,
    /// Hosts that agents may ask beside their provider, where their network is `provider`: api.example.com, *.example.com,
    /// 10.0.0.7:8080.
    #[serde(default)]
    #[schemars(with = "Vec<Host>")]
    pub hosts: Vec<HostRule>,
    /// The network of graders; never more than the agent of their trial has.
    #[schemars(with = "GraderNetwork", extend("default" = "host"))]
    pub grader_network: Network,
    /// Where the project's solutions can be fetched: parts of addresses, and names of packages. By default its remotes and
    /// the names in its manifests; [] for no watch.
    #[schemars(with = "Option<Vec<Filled>>")]
    pub upstream: Option<Vec<String>>,
    /// Whether agents keep the tools by which their provider searches and fetches the web.
    #[serde(default)]
    pub web_tools: bool,
    /// Whether `summary_cold.*` are written for trials without cached reads.
    #[schemars(extend("default" = true))]
    pub summary_cache_strata: bool,
    /// Whether workspaces stay after their trial, to look into failures.
    #[serde(default)]
    pub keep_workdirs: bool,
    /// Whether the repository is fetched once before `base_ref` is resolved.
    #[serde(default)]
    pub fetch_remote: bool,
    /// Whether reference patches are checked before the trials.
    #[serde(default)]
    pub validate_tasks: bool,
    /// How much of an agent's output is kept as a transcript.
    #[schemars(extend("default" = "minimal"))]
    pub transcript_mode: TranscriptMode,
    /// Whether agents get a private home, so that your own settings and skills stay out.
    #[serde(default)]
    pub clean_agent_env: bool,
    /// Whether ccusage reports the cost of Codex where the provider does not.
    #[schemars(extend("default" = true))]
    pub use_ccusage_for_codex: bool,
    /// Which ccusage that is.
    #[schemars(extend("default" = "ccusage@20.0.24"))]
    pub ccusage_package: CcusagePackage,
    /// Whether Swift package dependencies are resolved once before the trials.
    #[serde(default)]
    pub prewarm_spm: bool,
    /// Shared Swift package cache, relative to `output_root`.
    #[schemars(with = "Option<Filled>")]
    pub spm_cache_dir: Option<PathBuf>,
    /// Environment of agent and MCP processes in every scenario.
    #[serde(default)]
    #[schemars(with = "Map<Variable, Word>")]
    pub env: BTreeMap<String, String>,
    /// Names of further variables of your own environment that agents may see.
    #[serde(default)]
    #[schemars(with = "Vec<VariableRule>")]
    pub env_pass: Vec<String>,
    /// Further commands whose calls are watched, beside xcodebuild and xcrun.
    #[serde(default)]
    #[schemars(with = "Vec<Program>")]
    pub shims: Vec<String>,
    /// Whether agents see `EVAL_SUITE_ROOT`, which leads to the reference solutions.
    #[serde(default)]
    pub agent_sees_suite_root: bool,
    /// Whether an agent sums up the tool errors after the run.
    #[serde(default)]
    pub post_run_report: bool,
    /// Id of the agent that writes reports after the run.
    #[schemars(with = "Option<Id>")]
    pub post_run_report_agent: Option<AgentId>,
    /// Where that report goes, relative to the run directory.
    #[schemars(with = "Inside", extend("default" = "tool_error_report.md"))]
    pub post_run_report_path: PathBuf,
    /// Whether an agent analyses the failures after the run.
    #[serde(default)]
    pub failure_analysis: bool,
}

/// Networks of graders: they have no provider.
struct GraderNetwork;

impl JsonSchema for GraderNetwork {
    fn schema_name() -> Cow<'static, str> {
        "GraderNetwork".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        without::<Network>("provider", generator)
    }
}

impl Settings {
    /// Hard limit of an agent under `scenario`.
    #[must_use]
    pub fn hard_limit(&self, scenario: &ScenarioId) -> Duration {
        self.scenario_timeouts
            .get(scenario)
            .copied()
            .unwrap_or(self.timeout)
    }

    /// Stall limit of an agent under `scenario`.
    #[must_use]
    pub fn stall_limit(&self, scenario: &ScenarioId) -> Option<Duration> {
        self.scenario_stall_timeouts
            .get(scenario)
            .copied()
            .or(self.stall_timeout)
    }
}

/// Which ccusage is asked; the versions are pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub enum CcusagePackage {
    /// A program for each system; knows newer models and written tokens.
    #[default]
    #[serde(rename = "ccusage@20.0.24")]
    Ccusage20,
    /// A script for any system; gives newer models the price of an older one.
    #[serde(rename = "@ccusage/codex@18.0.11")]
    Codex18,
}

/// Order of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanMode {
    /// All trials shuffled.
    Random,
    /// Grouped by scenario, then agent; baselines first in each block.
    BlockedByScenario,
}

/// How much of the agent's output is kept as a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptMode {
    /// Messages, tool calls and errors, a line each.
    Minimal,
    /// Every byte as it came.
    Raw,
    /// Nothing.
    None,
}
