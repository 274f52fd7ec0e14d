//! What the runner tells while it works: one closed stream of events, recorded first and shown after.

use std::time::Duration;

use crate::{TrialKey, TrialOutcome};

/// One step of a run.
#[derive(Debug, Clone)]
pub enum Progress {
    /// The run begins.
    RunStarted {
        /// Trials to run, resumed ones left out.
        planned: usize,
        /// Trials that an earlier start finished.
        already_done: usize,
        /// Trials at once.
        jobs: u32,
        /// What earlier starts spent.
        spent_usd: Option<f64>,
        /// Whether they spent more than is known.
        spent_is_lower_bound: bool,
        /// What the run may spend in all.
        max_cost_usd: Option<f64>,
    },
    /// A block of a blocked plan begins.
    BlockStarted {
        /// Its name, `scenario/agent`.
        name: String,
    },
    /// A trial begins.
    TrialStarted {
        /// Which.
        key: TrialKey,
        /// Its hard limit.
        limit: Duration,
    },
    /// A trial entered a stage: `workspace`, `setup`, `agent`, `grading`, `cleanup`.
    TrialStage {
        /// Which.
        key: TrialKey,
        /// The stage.
        stage: &'static str,
    },
    /// The agent said or did something.
    TrialActivity {
        /// Which.
        key: TrialKey,
        /// A short text, safe to show.
        text: String,
        /// Billed cost so far, where the stream tells.
        spent_usd: Option<f64>,
    },
    /// A trial ended and its row is on disk.
    TrialFinished {
        /// What came out.
        outcome: Box<TrialOutcome>,
        /// Whether it is tried again.
        again: bool,
    },
    /// The trials of a lane wait, or go on.
    Lane {
        /// Its name: that of an agent, as a rule.
        name: String,
        /// What it does now.
        state: LaneState,
    },
    /// Something that a person should know.
    Notice {
        /// The text.
        text: String,
    },
    /// Something that a person must know even where little is told.
    Warning {
        /// The text.
        text: String,
    },
    /// A person asked to stop: 1 = let the running agents end, 2 = kill them.
    Cancelling {
        /// How often it was asked.
        times: u32,
    },
    /// The run is over.
    RunFinished {
        /// Rows written by this start.
        finished: usize,
        /// Whether it was cancelled.
        cancelled: bool,
    },
}

/// What a lane does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaneState {
    /// It starts nothing for a while: its provider refuses, or cannot be reached.
    Parked {
        /// How long.
        wait: Duration,
        /// Until when: local time, as a person reads it.
        until: String,
    },
    /// It starts trials again.
    Open,
    /// It starts nothing more in this run: its login failed twice in a row.
    Stopped,
}
