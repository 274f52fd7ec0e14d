//! What was asked, resolved: every path absolute, every default filled in, nothing left to check.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::{
    AgentKind, AgentSpec, Asked, IsolationSettings, JudgeSettings, LimitSettings, McpSettings,
    Place, PriceSource, PriceTable, RetrySettings, ScenarioSpec, TaskSpec,
};
use proctor_model::host::HostRule;
use proctor_model::{AgentId, Network, Pricing, ScenarioId, WorkspaceKind};

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
