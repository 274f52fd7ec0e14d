//! What one grader thinks.

use std::time::Duration;

use proctor_config::GraderSpec;
use proctor_model::{Grade, Infra, Reason, ReasonKind, Verdict, VerdictCause};

/// What one grader thinks.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Opinion {
    /// Its grade.
    pub grade: Grade,
    /// The reason, unless it passed without a warning.
    pub reason: Option<String>,
    /// What it means beyond its grade.
    pub cause: Option<VerdictCause>,
}

/// It passed.
pub(super) const PASS: Opinion = Opinion {
    grade: Grade::Pass,
    reason: None,
    cause: None,
};

impl Opinion {
    pub(super) fn new(grade: Grade, reason: impl Into<String>) -> Self {
        Self {
            grade,
            reason: Some(reason.into()),
            cause: None,
        }
    }

    pub(super) fn because(self, cause: VerdictCause) -> Self {
        Self {
            cause: Some(cause),
            ..self
        }
    }

    /// The same as the verdict of this grader.
    pub(super) fn verdict(self, spec: &GraderSpec, duration: Duration) -> Verdict {
        Verdict {
            grader: spec.type_name().to_owned(),
            grade: self.grade,
            reason: self.reason,
            cause: self.cause,
            duration,
        }
    }
}

/// It failed.
pub(super) fn fail(reason: impl Into<String>) -> Opinion {
    Opinion::new(Grade::Fail, reason)
}

/// It could not judge.
pub(super) fn error(reason: impl Into<String>) -> Opinion {
    Opinion::new(Grade::Error, reason)
}

/// It failed: somebody killed its supervisor.
pub(super) fn supervisor_tampered() -> Opinion {
    let kind = ReasonKind::SupervisorTampered;
    fail(kind.as_str()).because(VerdictCause::Violation(Reason::of(kind)))
}

/// It failed: this test passed although it was made wrong.
pub(super) fn twin_passed(id: &str) -> Opinion {
    let kind = ReasonKind::TwinPassed;
    let reason = Reason::about(kind, id);
    fail(format!("{}:{id}", kind.as_str())).because(VerdictCause::Violation(reason))
}

/// A program that graders call is not the one that was there before the agent.
pub(super) fn tool_changed(name: &str) -> Opinion {
    let kind = ReasonKind::ToolChanged;
    let reason = Reason::about(kind, name);
    error(format!("{}:{name}", kind.as_str())).because(VerdictCause::Violation(reason))
}

/// The machine kept a grader from judging.
pub(super) fn kept_by_machine(fault: Infra, why: &str) -> Opinion {
    error(format!("machine:{}:{why}", fault.as_str())).because(VerdictCause::Machine(fault))
}

/// The simulator or Xcode kept a grader from judging.
pub(super) fn kept_by_simulator(why: impl std::fmt::Display) -> Opinion {
    error(format!("simulator:{why}")).because(VerdictCause::Simulator)
}
