//! Why a trial stops before its end.

use crate::trial::judgement::SETUP_FAILED;
use proctor_model::Infra;
use proctor_supervise::fault_of;

/// Why a trial stopped before its end.
#[derive(Debug)]
pub(in crate::trial) struct Stop {
    pub(super) infra: Infra,
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// What the machine lacked, where an error of the file system says so.
    fault: Option<Infra>,
}

impl Stop {
    /// The workspace or a setup command failed: the agent was not started and nothing was spent.
    pub(in crate::trial) fn setup(message: String) -> Self {
        Self {
            infra: Infra::Setup,
            reason: SETUP_FAILED,
            message,
            fault: None,
        }
    }

    /// The harness itself could not go on.
    pub(in crate::trial) fn harness(what: &str, error: impl Into<std::io::Error>) -> Self {
        let error = error.into();
        let fault = fault_of(&error);
        let full = fault == Some(Infra::DiskFull);
        Self {
            infra: if full {
                Infra::DiskFull
            } else {
                Infra::HarnessBug
            },
            reason: if full { "disk_full" } else { "harness_error" },
            message: format!("{what}: {error}"),
            fault,
        }
    }

    /// The disk is full before the agent was started, so nothing was spent.
    pub(in crate::trial) fn no_room() -> Self {
        Self {
            infra: Infra::DiskFull,
            reason: "disk_full",
            message: "the disk has no room for the trial's folder".to_owned(),
            fault: Some(Infra::DiskFull),
        }
    }

    /// No simulator could be had: the agent was not started and nothing was spent.
    pub(in crate::trial) fn simulator(message: String) -> Self {
        Self {
            infra: Infra::Simulator,
            reason: "simulator",
            message,
            fault: None,
        }
    }

    /// The agent cannot be started as configured.
    pub(in crate::trial) fn spawn(message: String) -> Self {
        Self {
            infra: Infra::Spawn,
            reason: "spawn",
            message,
            fault: None,
        }
    }

    /// The harness itself is broken.
    pub(in crate::trial) fn defect(message: &str) -> Self {
        Self {
            infra: Infra::HarnessBug,
            reason: "harness_error",
            message: format!("a defect of the harness: {message}"),
            fault: None,
        }
    }

    /// What the machine lacked, where it was that.
    pub(in crate::trial) fn by_machine(&self) -> Option<Infra> {
        self.fault
    }

    /// What happened, in words.
    pub(in crate::trial) fn message(&self) -> &str {
        &self.message
    }

    /// A person cancelled the run before the agent was started.
    pub(in crate::trial) fn cancelled() -> Self {
        Self {
            infra: Infra::None,
            reason: "cancelled",
            message: "cancelled before the agent was started".to_owned(),
            fault: None,
        }
    }
}
