//! What a run looks like at a moment: who runs since when, what was counted, how long it may still take.

use std::time::{Duration, Instant};

use crate::model::{Infra, Progress, Termination, TrialKey, TrialOutcome};

/// The state of a run as its steps tell it.
#[derive(Debug)]
pub(super) struct Board {
    pub(super) running: Vec<Running>,
    counts: Counts,
    planned: usize,
    already_done: usize,
    jobs: u32,
    finished: u32,
    /// Time of all whole trials that ended, harness included.
    took: Duration,
    spent_usd: Option<f64>,
    cancelling: u32,
}

/// A trial that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) key: TrialKey,
    pub(super) stage: &'static str,
    pub(super) limit: Duration,
    started: Instant,
    agent_started: Option<Instant>,
    last_spoke: Option<Instant>,
    pub(super) text: String,
    spent_usd: Option<f64>,
}

/// How the trials of this start came out, baselines in `baselines` only unless they failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::cli) struct Counts {
    /// Trials that passed.
    pub(in crate::cli) pass: usize,
    /// Trials that did not.
    pub(in crate::cli) fail: usize,
    /// Trials that something else than the agent decided.
    pub(in crate::cli) infra: usize,
    /// Trials that were cancelled.
    pub(in crate::cli) cancelled: usize,
    /// Baselines that ended well.
    pub(in crate::cli) baselines: usize,
}

/// How one trial came out, for the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Pass,
    Fail,
    Infra,
    Cancelled,
    Baseline,
}

impl Ending {
    pub(super) fn of(outcome: &TrialOutcome) -> Self {
        let stopped = matches!(
            outcome.termination,
            Termination::Cancelled | Termination::Interrupted
        );
        match outcome {
            _ if stopped => Self::Cancelled,
            _ if outcome.infra != Infra::None => Self::Infra,
            _ if outcome.success && outcome.key.baseline => Self::Baseline,
            _ if outcome.success => Self::Pass,
            _ => Self::Fail,
        }
    }
}

impl Running {
    /// Time that counts against the limit: the agent's, else the trial's.
    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.agent_started.unwrap_or(self.started))
    }

    /// How long the agent has said nothing; absent while no agent runs.
    pub(super) fn quiet(&self, now: Instant) -> Option<Duration> {
        let since = self.last_spoke.or(self.agent_started)?;
        (self.stage == AGENT).then(|| now.saturating_duration_since(since))
    }
}

/// The stage in which an agent runs.
const AGENT: &str = "agent";

impl Board {
    pub(super) fn new() -> Self {
        Self {
            running: Vec::new(),
            counts: Counts::default(),
            planned: 0,
            already_done: 0,
            jobs: 1,
            finished: 0,
            took: Duration::ZERO,
            spent_usd: None,
            cancelling: 0,
        }
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn planned(&self) -> usize {
        self.planned
    }

    pub(super) fn already_done(&self) -> usize {
        self.already_done
    }

    /// Trials of this start that ended.
    pub(super) fn finished(&self) -> usize {
        self.finished as usize
    }

    pub(super) fn cancelling(&self) -> u32 {
        self.cancelling
    }

    /// USD of the trials that ended and of those that run, as far as they are known.
    pub(super) fn spent_usd(&self) -> Option<f64> {
        let running = self.running.iter().filter_map(|trial| trial.spent_usd);
        running.chain(self.spent_usd).reduce(|sum, usd| sum + usd)
    }

    /// Takes one step in.
    pub(super) fn take_in(&mut self, step: Progress, now: Instant) {
        match step {
            Progress::RunStarted {
                planned,
                already_done,
                jobs,
            } => {
                self.planned = planned;
                self.already_done = already_done;
                self.jobs = jobs.max(1);
            }
            Progress::TrialStarted { key, limit } => self.running.push(Running {
                key,
                stage: "start",
                limit,
                started: now,
                agent_started: None,
                last_spoke: None,
                text: String::new(),
                spent_usd: None,
            }),
            Progress::TrialStage { key, stage } => self.enter(&key, (stage, now)),
            Progress::TrialActivity {
                key,
                text,
                spent_usd,
            } => {
                if let Some(trial) = self.trial(&key) {
                    trial.last_spoke = Some(now);
                    trial.spent_usd = spent_usd.or(trial.spent_usd);
                    trial.text = text;
                }
            }
            Progress::TrialFinished { outcome } => self.finish(&outcome, now),
            Progress::Cancelling { times } => self.cancelling = self.cancelling.max(times),
            Progress::BlockStarted { .. } | Progress::Notice { .. } => {}
            Progress::RunFinished { .. } => self.running.clear(),
        }
    }

    fn enter(&mut self, key: &TrialKey, (stage, now): (&'static str, Instant)) {
        if let Some(trial) = self.trial(key) {
            trial.stage = stage;
            trial.text.clear();
            if stage == AGENT {
                trial.agent_started = Some(now);
            }
        }
    }

    fn finish(&mut self, outcome: &TrialOutcome, now: Instant) {
        let place = self
            .running
            .iter()
            .position(|trial| trial.key == outcome.key);
        let whole = place.map(|place| {
            let trial = self.running.remove(place);
            now.saturating_duration_since(trial.started)
        });
        self.finished += 1;
        self.took += whole.unwrap_or_default();
        if let Some(usd) = outcome.cost.billed_usd {
            *self.spent_usd.get_or_insert(0.0) += usd;
        }
        let counts = &mut self.counts;
        *match Ending::of(outcome) {
            Ending::Pass => &mut counts.pass,
            Ending::Fail => &mut counts.fail,
            Ending::Infra => &mut counts.infra,
            Ending::Cancelled => &mut counts.cancelled,
            Ending::Baseline => &mut counts.baselines,
        } += 1;
    }

    fn trial(&mut self, key: &TrialKey) -> Option<&mut Running> {
        self.running.iter_mut().find(|trial| trial.key == *key)
    }

    /// Estimated time left: mean time of the trials that ended, times those to come, less what runs already, over the
    /// jobs. Absent until a trial has ended.
    pub(super) fn time_left(&self, now: Instant) -> Option<Duration> {
        let mean = self.took.checked_div(self.finished)?;
        let begun = self.finished() + self.running.len();
        let waiting = u32::try_from(self.planned.saturating_sub(begun)).unwrap_or(u32::MAX);
        let running: Duration = self
            .running
            .iter()
            .map(|trial| mean.saturating_sub(now.saturating_duration_since(trial.started)))
            .sum();
        Some((mean.saturating_mul(waiting) + running) / self.jobs)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::{
        AgentId, Cell, Cost, Grade, Integrity, Measures, ScenarioId, StreamReport, TaskId,
        WorkspaceKind,
    };

    pub(in crate::cli::console) fn key(index: u32) -> TrialKey {
        TrialKey {
            cell: Cell {
                agent: AgentId::recorded("claude"),
                scenario: ScenarioId::recorded("shell_primed"),
                task: TaskId::recorded("fix_rounding"),
            },
            baseline: false,
            index,
            attempt: 0,
        }
    }

    pub(in crate::cli::console) fn outcome(index: u32) -> TrialOutcome {
        TrialOutcome {
            key: key(index),
            task_kind: "capability".to_owned(),
            agent_kind: "replay".to_owned(),
            ts_start: String::new(),
            ts_end: String::new(),
            termination: Termination::Completed,
            grade: Grade::Pass,
            integrity: Integrity::Clean,
            infra: Infra::None,
            success: true,
            failure_reason: None,
            verdicts: Vec::new(),
            exit_code: Some(0),
            wall_time: Some(Duration::from_millis(1_300)),
            paused: Duration::ZERO,
            lingered: false,
            leftovers: Vec::new(),
            stream: StreamReport::default(),
            cost: Cost {
                billed_usd: Some(0.0123),
                ..Cost::default()
            },
            measures: Measures::default(),
            workspace: WorkspaceKind::Worktree,
            overhead: Duration::ZERO,
            jobs: 1,
            notes: Vec::new(),
        }
    }

    pub(in crate::cli::console) fn finished(outcome: TrialOutcome) -> Progress {
        Progress::TrialFinished {
            outcome: Box::new(outcome),
        }
    }

    pub(in crate::cli::console) fn started(index: u32) -> Progress {
        Progress::TrialStarted {
            key: key(index),
            limit: Duration::from_secs(60),
        }
    }

    fn at(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn every_trial_is_counted_by_what_decided_it() {
        type Change = fn(&mut TrialOutcome);
        let cases: [(Change, Ending); 6] = [
            (|_| {}, Ending::Pass),
            (|outcome| outcome.success = false, Ending::Fail),
            (|outcome| outcome.infra = Infra::RateLimited, Ending::Infra),
            (
                |outcome| outcome.termination = Termination::Cancelled,
                Ending::Cancelled,
            ),
            (|outcome| outcome.key.baseline = true, Ending::Baseline),
            (
                |outcome| {
                    outcome.key.baseline = true;
                    outcome.success = false;
                },
                Ending::Fail,
            ),
        ];
        for (change, ending) in cases {
            let mut outcome = outcome(0);
            change(&mut outcome);
            assert_eq!(Ending::of(&outcome), ending);
        }
    }

    #[test]
    fn the_time_left_follows_from_measured_trials_and_jobs() {
        let start = Instant::now();
        let mut board = Board::new();
        board.take_in(
            Progress::RunStarted {
                planned: 10,
                already_done: 0,
                jobs: 2,
            },
            start,
        );
        board.take_in(started(0), start);
        assert_eq!(board.time_left(at(start, 5)), None);
        board.take_in(finished(outcome(0)), at(start, 10));
        board.take_in(started(1), at(start, 10));
        // Eight wait at 10 s each, one has 6 s to go, two at a time.
        assert_eq!(
            board.time_left(at(start, 14)),
            Some(Duration::from_secs(43))
        );
        // A trial that takes longer than the mean never makes it negative.
        assert_eq!(
            board.time_left(at(start, 100)),
            Some(Duration::from_secs(40))
        );
    }

    #[test]
    fn silence_is_measured_from_the_last_word_and_only_while_an_agent_runs() {
        let start = Instant::now();
        let mut board = Board::new();
        board.take_in(started(0), start);
        assert_eq!(board.running[0].quiet(at(start, 1)), None);
        let stage = |stage| Progress::TrialStage { key: key(0), stage };
        board.take_in(stage("agent"), at(start, 2));
        assert_eq!(
            board.running[0].quiet(at(start, 5)),
            Some(Duration::from_secs(3))
        );
        let words = Progress::TrialActivity {
            key: key(0),
            text: "hi".to_owned(),
            spent_usd: Some(0.5),
        };
        board.take_in(words, at(start, 6));
        assert_eq!(
            board.running[0].quiet(at(start, 7)),
            Some(Duration::from_secs(1))
        );
        assert_eq!(
            board.running[0].elapsed(at(start, 7)),
            Duration::from_secs(5)
        );
        board.take_in(stage("grading"), at(start, 8));
        assert_eq!(board.running[0].quiet(at(start, 9)), None);
    }

    #[test]
    fn money_of_running_and_ended_trials_is_added_once() {
        let start = Instant::now();
        let mut board = Board::new();
        assert_eq!(board.spent_usd(), None);
        board.take_in(started(0), start);
        let words = Progress::TrialActivity {
            key: key(0),
            text: String::new(),
            spent_usd: Some(0.01),
        };
        board.take_in(words, start);
        assert_eq!(board.spent_usd(), Some(0.01));
        board.take_in(finished(outcome(0)), start);
        assert_eq!(board.spent_usd(), Some(0.0123));
    }
}
