//! How a trial ended: four axes that are never folded into one, and all that the row is made of.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::{Cost, Measures, StreamReport, TrialKey};

/// How the agent's process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Termination {
    /// It ended by itself (or lingered after its final event and was stopped).
    Completed,
    /// It ran into the hard limit.
    HardTimeout,
    /// It showed no activity for the stall limit.
    Stall,
    /// It ran into a budget.
    Budget,
    /// A person cancelled the run.
    Cancelled,
    /// It was ended by a signal that is not ours, or never started.
    Crashed,
    /// The harness died while it ran.
    Interrupted,
}

impl Termination {
    /// The word in rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::HardTimeout => "hard_timeout",
            Self::Stall => "stall",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
            Self::Crashed => "crashed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// What the graders say of what the agent left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grade {
    /// All graders passed.
    Pass,
    /// A grader failed.
    Fail,
    /// A grader could not judge.
    Error,
    /// A grader ran into its limit.
    Timeout,
    /// A grader that ran several times did not agree with itself.
    Flaky,
    /// Nothing was graded.
    NotGraded,
}

impl Grade {
    /// The word in rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Flaky => "flaky",
            Self::NotGraded => "not_graded",
        }
    }
}

/// Whether the result can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Integrity {
    /// Nothing speaks against it.
    #[default]
    Clean,
    /// Something looks odd; the reasons say what.
    Suspect(Vec<String>),
    /// A rule was broken; the reasons say which.
    Violated(Vec<String>),
    /// Processes of the trial could not be ended: nothing of it, and of what ran beside it, can be trusted.
    Uncontained,
}

impl Integrity {
    /// The word in rows: `clean`, or `suspect[a;b]` and `violated[a;b]`.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Clean => "clean".to_owned(),
            Self::Suspect(reasons) => format!("suspect[{}]", reasons.join(";")),
            Self::Violated(reasons) => format!("violated[{}]", reasons.join(";")),
            Self::Uncontained => "uncontained".to_owned(),
        }
    }
}

/// Whether something else than the agent's work decided the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Infra {
    /// Nothing.
    None,
    /// A rate or usage limit, or overload.
    RateLimited,
    /// A key, an account, a model id.
    Auth,
    /// Network or provider down.
    ProviderUnreachable,
    /// The agent could not be started.
    Spawn,
    /// The workspace or a setup command failed.
    Setup,
    /// A simulator would not answer.
    Simulator,
    /// The disk is full.
    DiskFull,
    /// The agent never said or did anything.
    NoActivity,
    /// An MCP server that the agent must have did not start.
    McpServer,
    /// Killed by the system for want of memory.
    Oom,
    /// Killed by nobody that is known here.
    KilledByOther,
    /// It ended well but never said that it was done.
    AgentProtocol,
    /// The agent broke the folder that it worked in, or the shell.
    WorkspaceDead,
    /// A defect of the harness.
    HarnessBug,
}

impl Infra {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::None,
        Self::RateLimited,
        Self::Auth,
        Self::ProviderUnreachable,
        Self::Spawn,
        Self::Setup,
        Self::Simulator,
        Self::DiskFull,
        Self::NoActivity,
        Self::McpServer,
        Self::Oom,
        Self::KilledByOther,
        Self::AgentProtocol,
        Self::WorkspaceDead,
        Self::HarnessBug,
    ];

    /// The word in rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::RateLimited => "rate_limited",
            Self::Auth => "auth",
            Self::ProviderUnreachable => "provider_unreachable",
            Self::Spawn => "spawn",
            Self::Setup => "setup",
            Self::Simulator => "simulator",
            Self::DiskFull => "disk_full",
            Self::NoActivity => "no_activity",
            Self::McpServer => "mcp_server",
            Self::Oom => "oom",
            Self::KilledByOther => "killed_by_other",
            Self::AgentProtocol => "agent_protocol",
            Self::WorkspaceDead => "workspace_dead",
            Self::HarnessBug => "harness_bug",
        }
    }
}

/// What kept the processes of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// A session of its own, and a sweep at its end.
    None,
    /// Namespaces of its own, a view of the file system, and an end that nothing outlives (Linux).
    Jail,
    /// A container or a virtual machine that the operator vouches for.
    External,
}

impl Isolation {
    /// The word in rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Jail => "jail",
            Self::External => "external",
        }
    }
}

/// What kind of workspace a trial had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceKind {
    /// A linked worktree of a repository that belongs to this trial alone.
    Worktree,
    /// The same with `.git` inside the workspace.
    Clone,
    /// A worktree of the user's own repository.
    Shared,
}

impl WorkspaceKind {
    /// The word in config and rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Worktree => "worktree",
            Self::Clone => "clone",
            Self::Shared => "shared",
        }
    }
}

/// Which tree graders work in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GradedIn {
    /// One that the harness built: base, setup, and what the agent changed.
    Fresh,
    /// The one that the agent left.
    Workspace,
}

impl GradedIn {
    /// The word in config and rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Workspace => "workspace",
        }
    }
}

/// Which network a child has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// The operator's.
    #[default]
    Host,
    /// None but loopback, with a door to its provider and what else is named.
    Provider,
    /// None but loopback.
    None,
}

impl Network {
    /// The one that leads to less.
    #[must_use]
    pub fn narrower(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, _) | (_, Self::None) => Self::None,
            (Self::Provider, _) | (_, Self::Provider) => Self::Provider,
            (Self::Host, Self::Host) => Self::Host,
        }
    }

    /// The word in config and rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Provider => "provider",
            Self::None => "none",
        }
    }
}

/// What went through the door of a network that leads to named hosts alone, and what did not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DoorUse {
    /// Hosts, with their ports, that were asked for and refused, and how often.
    pub refused: BTreeMap<String, u64>,
    /// Bytes to the world.
    pub sent: u64,
    /// Bytes from the world.
    pub received: u64,
}

/// What one grader said.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Type of the grader.
    pub grader: String,
    /// `Pass`, `Fail`, `Error`, `Timeout` or `Flaky`.
    pub grade: Grade,
    /// Why not, in the contract's words; of a pass what it warns of, absent where there is nothing.
    pub reason: Option<String>,
    /// How long it took.
    pub duration: Duration,
}

/// What the three layers found of a trial: `pass`, `warn`, `fail` or `error` each, absent where the task does not ask.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LayerVerdicts {
    /// Layer 1.
    pub answer: Option<String>,
    /// Layer 2.
    pub path: Option<String>,
    /// Layer 3.
    pub budget: Option<String>,
    /// Every check: `path.max_loops warn: 4 of at most 3`.
    pub findings: Vec<String>,
    /// Every check that a judge decided, with how far that judge is known.
    pub judges: Vec<String>,
    /// What these judges cost, in USD, where that is known.
    pub judge_cost_usd: Option<f64>,
    /// Whether judges were asked, or their recorded replies read.
    pub judges_asked: bool,
    /// What of the run's money judges took: what they cost, or can have cost at most.
    pub judge_charged_usd: Option<f64>,
    /// The baseline that path or budget were compared with, with its version and the digest of its spec.
    pub baseline: Option<String>,
}

/// A process that outlived the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its process id.
    pub pid: u32,
    /// Its parent's.
    pub ppid: u32,
    /// Its command line, as far as readable.
    pub argv: String,
}

/// How the shims told of the calls of watched commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShimLogKept {
    /// Over a socket, where the kernel tells who speaks; else in a file that the agent can write to.
    pub by_socket: bool,
    /// Calls that are known to be missing.
    pub lost: u64,
    /// Calls that were told.
    pub calls: u64,
    /// How much longer a call takes through its shim, where any was told.
    pub cost: Option<Duration>,
}

impl ShimLogKept {
    /// The word in rows.
    #[must_use]
    pub const fn word(self) -> &'static str {
        if self.by_socket { "socket" } else { "file" }
    }
}

/// How busy the machine is; what is unknown is absent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct HostLoad {
    /// Mean length of the run queue over the last minute.
    pub load_1m: Option<f64>,
    /// Memory that a program could get without swapping, in KiB.
    pub free_memory_kib: Option<u64>,
}

/// What a trial may spend, in USD; `None` is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Allowance {
    /// This trial: it is stopped when it has spent so much.
    pub trial_usd: Option<f64>,
    /// All rows of the run together.
    pub run_usd: Option<f64>,
    /// Whether `trial_usd` is only what the run had left, and not the share that every trial gets.
    pub is_the_rest: bool,
}

/// The `failure_reason` of a trial that was stopped because the run had no more money, which says nothing of the agent.
pub const RUN_BUDGET: &str = "run_budget";

/// All that came out of one trial, whatever happened: the row is made of this.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialOutcome {
    /// Which trial.
    pub key: TrialKey,
    /// A person stopped the run while graders worked: it has no row yet, and what the agent left waits to be graded.
    pub awaits_grading: bool,
    /// `capability`, `regression` or `baseline`.
    pub task_kind: String,
    /// Kind of the agent as configured.
    pub agent_kind: String,
    /// UTC, RFC 3339 with microseconds and `+00:00`.
    pub ts_start: String,
    /// The same, when the trial was over.
    pub ts_end: String,
    /// How the agent's process ended.
    pub termination: Termination,
    /// What the graders say.
    pub grade: Grade,
    /// Whether it can be trusted.
    pub integrity: Integrity,
    /// What else decided it.
    pub infra: Infra,
    /// The seed's `success`: all graders passed and the agent ended with exit code 0.
    pub success: bool,
    /// The seed's `failure_reason`.
    pub failure_reason: Option<String>,
    /// One per grader that ran; absent when none was asked.
    pub verdicts: Vec<Verdict>,
    /// Exit code of the agent; a signal is 128 + its number; absent when it never started.
    pub exit_code: Option<i32>,
    /// Agent-only time; absent when it never started.
    pub wall_time: Option<Duration>,
    /// Time in which the machine or the harness stood still, not part of `wall_time`.
    pub paused: Duration,
    /// Whether it had to be stopped after its final event.
    pub lingered: bool,
    /// Processes that outlived it and were reaped.
    pub leftovers: Vec<Leftover>,
    /// Peak resident memory of the agent's first process in KiB, as far as it was sampled.
    pub peak_memory_kib: Option<u64>,
    /// How busy the machine was when the agent was started.
    pub host: HostLoad,
    /// What the stream amounts to.
    pub stream: StreamReport,
    /// Money.
    pub cost: Cost,
    /// Tool metrics.
    pub measures: Measures,
    /// What kept its processes.
    pub isolation: Isolation,
    /// Kind of workspace.
    pub workspace: WorkspaceKind,
    /// Seconds spent beside the agent: workspace, setup, grading, cleaning.
    pub overhead: Duration,
    /// How many trials ran at once in this run (`--jobs`).
    pub jobs: u32,
    /// Which tree was graded; absent when none was.
    pub graded_in: Option<GradedIn>,
    /// Digest of the tree that the agent left, in hex; absent when it was not captured.
    pub tree_sha256: Option<String>,
    /// How calls of watched commands were told; absent when the agent was not started.
    pub shim_log: Option<ShimLogKept>,
    /// Keys of `suite.limits` that were reached.
    pub limits_hit: Vec<String>,
    /// Digest of what was seen of the agent and must be the same in its arm; absent when it never started.
    pub attestation_sha256: Option<String>,
    /// What of it is not as in the first trial of the arm, or not as the scenario asks, in one word each.
    pub attestation_flags: Vec<String>,
    /// What it might spend.
    pub budget: Allowance,
    /// When the provider's limit ends: UTC, RFC 3339; absent where none was met or nothing told.
    pub retry_at: Option<String>,
    /// Words for the person: what was odd, in no fixed form.
    pub notes: Vec<String>,
    /// Network of the agent.
    pub network: Network,
    /// What went through its door, where it has one.
    pub door: Option<DoorUse>,
    /// What the two suites of a task say that has both.
    pub suites: Option<TwoSuites>,
    /// What the layers found, where the task asks for one.
    pub layers: Option<LayerVerdicts>,
    /// How long a simulator was waited for, before the agent was started; no part of `overhead`.
    pub simulator_wait: Duration,
    /// How long builds of graders waited for their turn; no part of `overhead`.
    pub xcodebuild_wait: Duration,
}

/// What a task's graders say apart: those that the agent could know of, and those that were held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwoSuites {
    /// Whether the visible ones passed.
    pub visible: bool,
    /// Whether the held-out ones passed; unknown where they could not judge. They are asked only after the others passed.
    pub held_out: Option<bool>,
}

impl TwoSuites {
    /// What the verdicts of a task say whose last `held_out` of `all` graders were held out; nothing where the visible ones
    /// could not judge.
    #[must_use]
    pub fn of(verdicts: &[Verdict], (all, held_out): (usize, usize)) -> Option<Self> {
        let first = all
            .checked_sub(held_out)
            .filter(|first| held_out > 0 && *first > 0)?;
        let judged = |verdict: &&Verdict| matches!(verdict.grade, Grade::Pass | Grade::Fail);
        let last = verdicts.last()?;
        let passed = verdicts
            .iter()
            .filter(|verdict| verdict.grade == Grade::Pass)
            .count();
        if passed < first {
            return (last.grade == Grade::Fail).then_some(Self {
                visible: false,
                held_out: None,
            });
        }
        let last = Some(last).filter(|_| verdicts.len() > first).filter(judged);
        Some(Self {
            visible: true,
            held_out: last.map(|_| passed == all),
        })
    }
}
