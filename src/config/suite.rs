//! What was asked, resolved: every path absolute, every default filled in, nothing left to check.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::{
    Asked, GraderSpec, IsolationSettings, JudgeSettings, LimitSettings, Place, PriceSource,
    PriceTable, RetrySettings,
};
use crate::model::host::HostRule;
use crate::model::{AgentId, GradedIn, Network, Pricing, ScenarioId, TaskId, WorkspaceKind};

/// A whole suite: config and tasks together.
#[derive(Debug, Clone)]
pub struct Suite {
    /// The config file; a made-up name for the embedded suite.
    pub config_path: PathBuf,
    /// Folder that relative paths of the config and `EVAL_SUITE_ROOT` start from.
    pub config_dir: PathBuf,
    /// The tasks file.
    pub tasks_path: PathBuf,
    /// SHA-256 of the config file's bytes, in hex.
    pub config_digest: String,
    /// SHA-256 of the tasks file's bytes, in hex.
    pub tasks_digest: String,
    /// Both files value by value, and the files that they name; no filter changes it.
    pub asked: Asked,
    /// `suite:`.
    pub settings: Settings,
    /// `project:`.
    pub project: Project,
    /// `agents:`, in the file's order.
    pub agents: Vec<AgentSpec>,
    /// Agents that a filter left out; one of them may still write the reports after the run.
    pub further_agents: Vec<AgentSpec>,
    /// The scenarios that run: those of `suite.scenarios` in its order, else the built-in ones that apply and then
    /// those of `scenarios:`.
    pub scenarios: Vec<ScenarioSpec>,
    /// Scenarios that are known but run only when a filter names them.
    pub further_scenarios: Vec<ScenarioSpec>,
    /// Built-in scenarios that cannot run here, with the reason.
    pub left_out: Vec<LeftOut>,
    /// `mcp:`.
    pub mcp: McpSettings,
    /// `prices:` and the shipped ones.
    pub prices: PriceTable,
    /// `judge:`, where there is one.
    pub judge: Option<JudgeSettings>,
    /// `tasks:`, in the file's order.
    pub tasks: Vec<TaskSpec>,
    /// Things worth a warning, each a whole sentence with its place.
    pub warnings: Vec<String>,
}

impl Suite {
    /// What tokens of `model` cost when this agent uses them: by the agent's own prices, else by the model's.
    #[must_use]
    pub fn price(&self, agent: &AgentSpec, model: Option<&str>) -> Option<(Pricing, PriceSource)> {
        let own = agent.pricing.map(|pricing| (pricing, PriceSource::Agent));
        own.or_else(|| self.prices.find(model?))
    }

    /// The network of agents under a scenario and a task that say this: the narrower one, or else that of the suite.
    #[must_use]
    pub fn network(&self, scenario: Option<Network>, task: Option<Network>) -> Network {
        match (scenario, task) {
            (Some(scenario), Some(task)) => scenario.narrower(task),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => self.settings.network,
        }
    }

    /// The first place that asks for another network of agents than the operator's, as its key, and which; baselines have
    /// no task.
    #[must_use]
    pub fn narrowed(&self, wanted: impl Fn(Network) -> bool) -> Option<(String, Network)> {
        let suite = [("suite.network".to_owned(), Some(self.settings.network))];
        let scenarios = self.scenarios.iter();
        let scenarios = scenarios.map(|one| (format!("scenario {}: network", one.id), one.network));
        let tasks = self.tasks.iter();
        let tasks = tasks.map(|one| (format!("task {}: network", one.id), one.network));
        let mut all = tasks.chain(scenarios).chain(suite);
        all.find_map(|(key, network)| Some((key, network.filter(|network| wanted(*network))?)))
    }
}

/// A built-in scenario that cannot run here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its id.
    pub id: ScenarioId,
    /// Why, as a fragment that follows "is left out: ".
    pub reason: String,
}

/// `suite:`, run-level settings.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the config file"
)]
pub struct Settings {
    /// `name`: shown in reports; the config's folder name by default.
    pub name: String,
    /// `output_root`, absolute.
    pub output_root: PathBuf,
    /// `baselines`, absolute: traces that `path` and `budget` compare with.
    pub baselines: PathBuf,
    /// `timeout_sec`: hard limit of an agent (1,800 s by default).
    pub timeout: Duration,
    /// `scenario_timeouts_sec`.
    pub scenario_timeouts: BTreeMap<ScenarioId, Duration>,
    /// `stall_timeout_sec`; `None` = no stall limit.
    pub stall_timeout: Option<Duration>,
    /// `silence_timeout_sec` (new): the same while processes work; `None` = no limit.
    pub silence_limit: Option<Duration>,
    /// `scenario_stall_timeouts_sec` (new).
    pub scenario_stall_timeouts: BTreeMap<ScenarioId, Duration>,
    /// `setup_timeout_sec` (new, 600): limit of each setup command.
    pub setup_timeout: Duration,
    /// `grader_timeout_sec` (new, 1,800): limit of a grader that names none.
    pub grader_timeout: Duration,
    /// `simulator_timeout_sec` (new, 180): limit of each call of `simctl` and `xcresulttool`.
    pub simulator_timeout: Duration,
    /// `xcodebuild_jobs` (new): most builds of the harness at once; `None` is as many as trials run.
    pub xcodebuild_jobs: Option<u32>,
    /// `cap_agent_builds` (new): an agent, too, has one of the places of `xcodebuild_jobs`, from its start to its end.
    pub cap_agent_builds: bool,
    /// `stop_grace_sec` (new, 5): between INT, TERM and KILL.
    pub stop_grace: Duration,
    /// `linger_sec` (new, 5): how long an agent may live on after its final event.
    pub linger: Duration,
    /// `drain_sec` (new, 2): how long output is awaited after the agent's exit.
    pub drain: Duration,
    /// `trials_per_cell`.
    pub trials_per_cell: u32,
    /// `random_seed`.
    pub random_seed: u64,
    /// `plan_mode`.
    pub plan_mode: PlanMode,
    /// `shuffle_within_scenario`.
    pub shuffle_within_scenario: bool,
    /// `run_baselines`.
    pub run_baselines: bool,
    /// `baseline_trials_per_scenario`.
    pub baseline_trials_per_scenario: u32,
    /// `jobs` (new, 1): trials at once.
    pub jobs: u32,
    /// `start_gap_sec` (new, 0.25): between starts of a lane in which several trials run.
    pub start_gap: Duration,
    /// `retries` (new): further attempts after infra faults.
    pub retries: RetrySettings,
    /// `limits` (new).
    pub limits: LimitSettings,
    /// `workspace` (new).
    pub workspace: WorkspaceKind,
    /// `grader_env` (new): which tree graders work in, where the task does not say.
    pub grader_env: GradedIn,
    /// `isolation` (new) and what belongs to it.
    pub isolation: IsolationSettings,
    /// `network` (new): that of agents, where neither task nor scenario says.
    pub network: Network,
    /// `hosts` (new): what agents may ask beside their provider, where their network leads to that alone.
    pub hosts: Vec<HostRule>,
    /// `grader_network` (new).
    pub grader_network: Network,
    /// `upstream` (new): where solutions can be fetched; `None` = as the project's remotes and manifests say.
    pub upstream: Option<Vec<String>>,
    /// `web_tools` (new): whether agents keep the web tools of their providers.
    pub web_tools: bool,
    /// `summary_cache_strata`.
    pub summary_cache_strata: bool,
    /// `keep_workdirs`.
    pub keep_workdirs: bool,
    /// `fetch_remote`.
    pub fetch_remote: bool,
    /// `validate_tasks`.
    pub validate_tasks: bool,
    /// `transcript_mode`.
    pub transcript_mode: TranscriptMode,
    /// `clean_agent_env`: private home for the agent's own config.
    pub clean_agent_env: bool,
    /// `use_ccusage_for_codex`.
    pub use_ccusage_for_codex: bool,
    /// `ccusage_package` (new).
    pub ccusage_package: CcusagePackage,
    /// `prewarm_spm`.
    pub prewarm_spm: bool,
    /// `spm_cache_dir`, relative to `output_root`.
    pub spm_cache_dir: Option<PathBuf>,
    /// `env`, for agent and MCP processes of every scenario.
    pub env: BTreeMap<String, String>,
    /// `env_pass` (new): names of further variables of the operator that agents may see.
    pub env_pass: Vec<String>,
    /// `shims` (new): further commands to watch beside `xcodebuild` and `xcrun`.
    pub shims: Vec<String>,
    /// `agent_sees_suite_root` (new).
    pub agent_sees_suite_root: bool,
    /// `post_run_report`.
    pub post_run_report: bool,
    /// `post_run_report_agent`.
    pub post_run_report_agent: Option<AgentId>,
    /// `post_run_report_path`, relative to the run directory.
    pub post_run_report_path: PathBuf,
    /// `failure_analysis` (new): the second post-run report.
    pub failure_analysis: bool,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CcusagePackage {
    /// `ccusage@20.0.24`
    #[default]
    Ccusage20,
    /// `@ccusage/codex@18.0.11`
    Codex18,
}

/// Order of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanMode {
    /// All trials shuffled.
    Random,
    /// Grouped by scenario, then agent; baselines first in each block.
    BlockedByScenario,
}

/// How much of the agent's output is kept as a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptMode {
    /// Messages, tool calls and errors, a line each.
    Minimal,
    /// Every byte as it came.
    Raw,
    /// Nothing.
    None,
}

/// `project:`, what the agents work on.
#[derive(Debug, Clone)]
pub struct Project {
    /// Where the files come from.
    pub source: ProjectSource,
    /// `base_ref` ("HEAD" by default).
    pub base_ref: String,
    /// `simulator_name`.
    pub simulator_name: Option<String>,
    /// `simulators` (new): which simulators trials get.
    pub simulators: Simulators,
    /// `build_params`.
    pub build_params: BuildParams,
    /// `allow_lfs_pointers` (new): agents are started although files of Git LFS are only pointers.
    pub allow_lfs_pointers: bool,
    /// Where `repo_path` or `template` stands in the config.
    pub source_at: Place,
    /// Where `base_ref` stands in the config; where `project` begins if it is not there.
    pub base_ref_at: Place,
}

/// `project.simulators`: a simulator is one trial's at any time, whichever way it is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Simulators {
    /// The one that `build_params` or `simulator_name` name.
    #[default]
    Single,
    /// Any of these, by id or name.
    Pool(Vec<String>),
    /// `per_trial`: a copy of the one, deleted after the trial.
    PerTrial,
}

/// Where the project's files come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProjectSource {
    /// `repo_path`: a folder inside a git repository.
    Repository(PathBuf),
    /// `template`: a plain folder that is turned into a repository at run time.
    Template(PathBuf),
}

/// `project.build_params`; `null` and absent are the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildParams {
    /// `workspace`
    pub workspace: Option<String>,
    /// `project`
    pub project: Option<String>,
    /// `scheme`
    pub scheme: Option<String>,
    /// `bundle_id`
    pub bundle_id: Option<String>,
    /// `configuration`
    pub configuration: Option<String>,
    /// `simulator_name`
    pub simulator_name: Option<String>,
    /// `destination`
    pub destination: Option<String>,
    /// `simulator_udid`, `simulator_id` or `udid`
    pub simulator_udid: Option<String>,
    /// Further parameters of projects that are not Apple's: named in primed prompts, in the file's order.
    pub other: Vec<(String, String)>,
}

/// One of `agents:`.
#[derive(Debug, Clone)]
pub struct AgentSpec {
    /// `id`
    pub id: AgentId,
    /// `kind`
    pub kind: AgentKind,
    /// `command`: argv with `{PROMPT}`, `{WORKDIR}`, `{OUT_JSON}` inside tokens and `{EXTRA_ARGS}` as a token.
    pub command: Vec<String>,
    /// `env`
    pub env: BTreeMap<String, String>,
    /// `pricing`
    pub pricing: Option<Pricing>,
    /// `prompt_via` (new): where the prompt goes when no token holds it.
    pub prompt_via: PromptVia,
    /// `lane` (new): agents of one lane share their provider's limits; the agent's id by default.
    pub lane: String,
    /// `max_parallel` (new): most trials of this agent's lane at once; `None` is as many as run at all.
    pub max_parallel: Option<u32>,
    /// What a `replay` agent plays.
    pub replay: Option<ReplaySpec>,
}

impl AgentSpec {
    /// The kind whose stream this agent speaks: a recorded one speaks as what it plays.
    #[must_use]
    pub fn speaks(&self) -> AgentKind {
        self.replay
            .as_ref()
            .map_or(self.kind, |replay| replay.plays)
    }
}

/// Kinds of agents; a closed set, so that a new one makes the compiler name every place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AgentKind {
    /// `codex_cli`
    Codex,
    /// `claude_code_cli`
    ClaudeCode,
    /// `gemini_cli`
    Gemini,
    /// `opencode`
    Opencode,
    /// `qwen_code`
    Qwen,
    /// `copilot_cli`
    Copilot,
    /// `command`: any program; its output is text, its exit code is its end.
    Command,
    /// `replay`: plays a recorded trial.
    Replay,
}

impl AgentKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Codex,
        Self::ClaudeCode,
        Self::Gemini,
        Self::Opencode,
        Self::Qwen,
        Self::Copilot,
        Self::Command,
        Self::Replay,
    ];

    /// The word in config and rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex_cli",
            Self::ClaudeCode => "claude_code_cli",
            Self::Gemini => "gemini_cli",
            Self::Opencode => "opencode",
            Self::Qwen => "qwen_code",
            Self::Copilot => "copilot_cli",
            Self::Command => "command",
            Self::Replay => "replay",
        }
    }
}

/// How the prompt reaches an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PromptVia {
    /// In the token that holds `{PROMPT}`.
    #[default]
    Argument,
    /// On standard input.
    Stdin,
}

/// What a `replay` agent plays.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplaySpec {
    /// `cassettes`: folder; a trial plays `<scenario>/<task>.<n>.jsonl` (or `<task>.<n>.jsonl`), n = index mod how many there are.
    pub cassettes: PathBuf,
    /// `plays`: whose stream format the cassettes hold (`codex_cli`, `claude_code_cli` or `command`).
    pub plays: AgentKind,
    /// `pace`: recorded times are multiplied by this (1 = as recorded, 0 = at once).
    pub pace: f64,
}

/// A scenario: nothing but a named treatment.
#[derive(Debug, Clone)]
pub struct ScenarioSpec {
    /// Its id.
    pub id: ScenarioId,
    /// `description` (new): shown in reports.
    pub description: Option<String>,
    /// Text put before the task's prompt.
    pub prompt_prefix: Option<String>,
    /// Text put after it.
    pub prompt_suffix: Option<String>,
    /// Whether the build parameters are listed in the prompt.
    pub primed: bool,
    /// Whether the prompt says that MCP tools are preferred.
    pub prefer_mcp: bool,
    /// MCP: `None` = switched off hard, else the file with `mcpServers`.
    pub mcp_config: Option<PathBuf>,
    /// Files or folders laid into the workspace: (from, path in the workspace's project folder).
    pub files: Vec<(PathBuf, PathBuf)>,
    /// Further agent arguments, put where `{EXTRA_ARGS}` is: (`None` = every agent, else that kind only, arguments).
    pub agent_args: Vec<(Option<AgentKind>, Vec<String>)>,
    /// Further environment of the agent.
    pub env: BTreeMap<String, String>,
    /// `network` (new): that of its agents, if not what the suite says; of two the narrower one holds.
    pub network: Option<Network>,
    /// `hosts` (new): what its agents may ask beside those of the suite.
    pub hosts: Vec<HostRule>,
}

/// `mcp:`.
#[derive(Debug, Clone, Default)]
pub struct McpSettings {
    /// `enabled`
    pub enabled: bool,
    /// `start_command`; empty = none.
    pub start_command: Vec<String>,
    /// `stop_command`; empty = none.
    pub stop_command: Vec<String>,
    /// `env`; the value of [`MCP_TOOL_LOG`] is an absolute path that may hold `{RUN_ID}`.
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
    /// `impossible` (new): whether no honest work can pass.
    pub impossible: bool,
    /// `network` (new): that of its agents, if not what the suite says.
    pub network: Option<Network>,
    /// `hosts` (new): what its agents may ask beside those of the suite.
    pub hosts: Vec<HostRule>,
    /// `grader_env` (new): which tree its graders work in, if not what the suite says.
    pub grader_env: Option<GradedIn>,
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
    /// SHA-256 over the task as written and its reference patch, in hex.
    pub digest: String,
}

/// `kind` of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    /// Can the agent do it at all?
    Capability,
    /// Does it still do it?
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
