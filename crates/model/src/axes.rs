//! How a trial ended: four axes that are never folded into one.

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
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Completed,
        Self::HardTimeout,
        Self::Stall,
        Self::Budget,
        Self::Cancelled,
        Self::Crashed,
        Self::Interrupted,
    ];

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
    /// The workspace or a setup command failed, or an MCP server of the scenario never started.
    Setup,
    /// A simulator would not answer.
    Simulator,
    /// The disk is full.
    DiskFull,
    /// The agent never said or did anything.
    NoActivity,
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
    pub const ALL: [Self; 14] = [
        Self::None,
        Self::RateLimited,
        Self::Auth,
        Self::ProviderUnreachable,
        Self::Spawn,
        Self::Setup,
        Self::Simulator,
        Self::DiskFull,
        Self::NoActivity,
        Self::Oom,
        Self::KilledByOther,
        Self::AgentProtocol,
        Self::WorkspaceDead,
        Self::HarnessBug,
    ];

    /// Whether the provider refused or could not be reached.
    #[must_use]
    pub const fn is_by_provider(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Auth | Self::ProviderUnreachable
        )
    }

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
            Self::Oom => "oom",
            Self::KilledByOther => "killed_by_other",
            Self::AgentProtocol => "agent_protocol",
            Self::WorkspaceDead => "workspace_dead",
            Self::HarnessBug => "harness_bug",
        }
    }
}
