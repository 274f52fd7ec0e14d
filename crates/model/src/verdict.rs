//! What graders and layers said.

use std::time::Duration;

use crate::{Grade, Infra, Reason};

/// What a verdict means beyond its grade. Decisions use this, never the text of the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerdictCause {
    /// A rule of grading was broken.
    Violation(Reason),
    /// The simulator or Xcode prevented a verdict.
    Simulator,
    /// The machine prevented a verdict, by this fault.
    Machine(Infra),
    /// Judges were not asked, since the trial cannot succeed any more.
    Unjudged,
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
    /// What it means beyond its grade, where it means more.
    pub cause: Option<VerdictCause>,
    /// How long it took.
    pub duration: Duration,
}

impl Verdict {
    /// Whether the simulator or Xcode prevented it.
    #[must_use]
    pub fn is_of_simulator(&self) -> bool {
        self.cause == Some(VerdictCause::Simulator)
    }
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

/// What a task's graders say apart: those that the agent could know of, and those that were held out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwoSuites {
    /// Whether the visible ones passed.
    pub visible: bool,
    /// Whether the held-out ones passed; unknown where they could not judge, or were not all asked.
    pub held_out: Option<bool>,
}

impl TwoSuites {
    /// What the graders say that were asked, each by its place in the task's list, whose last `held_out` of `all` were held
    /// out; nothing where the visible ones could not judge. One that waits for judges and was not asked says nothing.
    #[must_use]
    pub fn of(asked: &[(usize, Grade)], all: usize, held_out: usize) -> Option<Self> {
        let first = all
            .checked_sub(held_out)
            .filter(|first| held_out > 0 && *first > 0 && !asked.is_empty())?;
        let grades = |held: bool| {
            let of_suite = asked
                .iter()
                .filter(move |(place, _)| (*place >= first) == held);
            of_suite.map(|(_, grade)| *grade)
        };
        let stopped = |held: bool| grades(held).find(|grade| *grade != Grade::Pass);
        if let Some(grade) = stopped(false) {
            return (grade == Grade::Fail).then_some(Self {
                visible: false,
                held_out: None,
            });
        }
        Some(Self {
            visible: true,
            held_out: match stopped(true) {
                Some(grade) => (grade == Grade::Fail).then_some(false),
                None => (grades(true).count() == held_out).then_some(true),
            },
        })
    }
}
