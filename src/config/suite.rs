//! What was asked, resolved: every path absolute, every default filled in, nothing left to check.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use crate::config::vocabulary::{
    AnyPath, Filled, Host, Id, Inside, Limit, Map, Pause, Program, Variable, VariableRule, Word,
    without,
};
use crate::config::{
    AgentKind, AgentSpec, Asked, IsolationSettings, JudgeSettings, LimitSettings, McpSettings,
    Place, PriceSource, PriceTable, RetrySettings, ScenarioSpec, TaskSpec,
};
use crate::model::host::HostRule;
use crate::model::{AgentId, Network, Pricing, ScenarioId, WorkspaceKind};

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
            .or_else(|| self.price_behind_provider(agent, model?))
    }

    /// opencode is asked for `PROVIDER/MODEL`: the config may give that model a price without the provider. List prices are of
    /// whoever makes a model, and no other provider need keep to them.
    fn price_behind_provider(
        &self,
        agent: &AgentSpec,
        model: &str,
    ) -> Option<(Pricing, PriceSource)> {
        let is_asked_so = agent.speaks() == AgentKind::Opencode;
        let (_, bare) = model.split_once('/').filter(|_| is_asked_so)?;
        let found = self.prices.find(bare);
        found.filter(|(_, source)| matches!(source, PriceSource::Config(_)))
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
    /// Hard limit of an agent by scenario, instead of timeout_sec.
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
    /// Limit of an agent's silence by scenario, instead of stall_timeout_sec.
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
    /// An agent, too, takes one of the places of xcodebuild_jobs, from its start to its end: when it builds nobody knows
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
    /// Whether a block of blocked_by_scenario is shuffled.
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
    /// Whether summary_cold.* are written for trials without cached reads.
    #[schemars(extend("default" = true))]
    pub summary_cache_strata: bool,
    /// Whether workspaces stay after their trial, to look into failures.
    #[serde(default)]
    pub keep_workdirs: bool,
    /// Whether the repository is fetched once before base_ref is resolved.
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
    /// Shared Swift package cache, relative to output_root.
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
    /// Whether agents see EVAL_SUITE_ROOT, which leads to the reference solutions.
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
