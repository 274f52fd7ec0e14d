//! Starts trials in order, a few at once, and writes each row before it is told.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tokio::task::{Id, JoinError, JoinSet, block_in_place};

use crate::model::{Infra, Integrity, Progress, Termination};
use crate::plan::{Plan, PlannedTrial};
use crate::record::Journal;
use crate::runner::RunError;
use crate::runner::disk::Disk;
use crate::runner::lanes::Lanes;
use crate::runner::sealed::Sealed;
use crate::trial::{RunContext, Teller, crashed_outcome, run_trial};

/// Works a plan off.
pub(super) struct Dispatch {
    pub(super) context: Arc<RunContext>,
    pub(super) teller: Teller,
    pub(super) journal: Journal,
    pub(super) disk: Arc<Disk>,
}

/// What was counted.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) finished: usize,
    pub(super) passed: usize,
    pub(super) infra: usize,
    /// Trials whose processes could not be ended; each retires a slot.
    pub(super) uncontained: usize,
    /// Rows that are results: resume would not run them again.
    pub(super) results: usize,
    /// Why nothing further was started, where the disk was the reason.
    pub(super) disk_full: Option<String>,
    /// Digest of the last row.
    pub(super) head: Option<String>,
}

impl Dispatch {
    /// Runs all blocks; within a block the baselines end before the trials start.
    pub(super) async fn all(mut self, plan: Plan) -> Result<Tally, RunError> {
        let mut tally = Tally::default();
        for block in plan.blocks {
            if self.is_over(&mut tally) {
                break;
            }
            self.teller
                .tell(Progress::BlockStarted { name: block.name });
            self.side_by_side(block.baselines, &mut tally).await;
            self.side_by_side(block.trials, &mut tally).await;
        }
        tally.head = Some(self.journal.head().to_owned());
        // Rows that could not be written wait in memory; this is their last chance.
        match self.disk.with_room(|| self.journal.flush()) {
            Ok(()) => Ok(tally),
            Err(error) => Err(RunError::Journal {
                disk_full: error.is_disk_full(),
                why: error.to_string(),
                unsaved: self.journal.unsaved().map(str::to_owned).collect(),
            }),
        }
    }

    async fn side_by_side(&mut self, trials: Vec<PlannedTrial>, tally: &mut Tally) {
        let mut waiting: VecDeque<PlannedTrial> = trials.into();
        let lanes = Lanes::default();
        let mut running: JoinSet<Sealed> = JoinSet::new();
        let mut started: HashMap<Id, PlannedTrial> = HashMap::new();
        let jobs = usize::try_from(self.context.jobs.max(1)).unwrap_or(1);
        loop {
            // Where processes could not be ended, there is no room for others any more; one slot is always left.
            let slots = jobs.saturating_sub(tally.uncontained).max(1);
            while running.len() < slots && !self.is_over(tally) {
                let Some(planned) = waiting.pop_front() else {
                    break;
                };
                let id = self.start(&mut running, planned.clone(), &lanes);
                started.insert(id, planned);
            }
            let Some(joined) = running.join_next_with_id().await else {
                return;
            };
            let mut ended = vec![self.outcome(joined, &mut started)];
            while let Some(joined) = running.try_join_next_with_id() {
                ended.push(self.outcome(joined, &mut started));
            }
            self.keep(ended, tally);
        }
    }

    /// Whether nothing further is started: a person asked, or there is no room.
    fn is_over(&self, tally: &mut Tally) -> bool {
        if tally.disk_full.is_none()
            && let Some(why) = self.disk.low()
        {
            self.teller.tell(Progress::Notice {
                text: format!("{why}; no further trial is started"),
            });
            tally.disk_full = Some(why);
        }
        tally.disk_full.is_some() || self.context.cancel.level() > 0
    }

    fn start(&self, running: &mut JoinSet<Sealed>, planned: PlannedTrial, lanes: &Lanes) -> Id {
        let context = self.context.clone();
        let teller = self.teller.clone();
        let lanes = lanes.clone();
        let disk = self.disk.clone();
        let run = move || {
            let ran = lanes.run(run_trial(&context, &planned, &teller));
            let outcome = ran.unwrap_or_else(|error| {
                crashed_outcome(&context, &planned, &format!("make a runtime: {error}"))
            });
            Sealed::seal(&context, &disk, outcome)
        };
        running.spawn_blocking(run).id()
    }

    /// A trial whose code panicked is a row as well.
    fn outcome(
        &self,
        joined: Result<(Id, Sealed), JoinError>,
        started: &mut HashMap<Id, PlannedTrial>,
    ) -> Sealed {
        match joined {
            Ok((id, sealed)) => {
                started.remove(&id);
                sealed
            }
            Err(error) => {
                let planned = started
                    .remove(&error.id())
                    .expect("every running trial was remembered when it started");
                let outcome = crashed_outcome(&self.context, &planned, &error.to_string());
                Sealed::seal(&self.context, &self.disk, outcome)
            }
        }
    }

    /// Record, then show. Trials that ended together share one write and one sync.
    ///
    /// When a row cannot be written, nothing further is started: what was paid for must not be lost. The row waits in
    /// memory and is tried again with the next one and at the end.
    fn keep(&mut self, ended: Vec<Sealed>, tally: &mut Tally) {
        let written = block_in_place(|| {
            let journal = &mut self.journal;
            let appended = journal.append_all(ended.iter().map(|sealed| &sealed.row));
            appended.or_else(|error| {
                if error.is_disk_full() && self.disk.release() {
                    journal.flush()
                } else {
                    Err(error)
                }
            })
        });
        if let Err(error) = written {
            self.teller.tell(Progress::Notice {
                text: format!("{error}; no further trial is started"),
            });
            if error.is_disk_full() {
                tally.disk_full.get_or_insert(error.to_string());
            }
            self.context.cancel.request();
        }
        for Sealed { outcome, .. } in ended {
            if outcome.infra == Infra::DiskFull {
                let text = format!("the disk was full at the end of {}", outcome.key.run_id());
                tally.disk_full.get_or_insert(text);
            }
            tally.finished += 1;
            tally.passed += usize::from(outcome.success);
            tally.uncontained += usize::from(outcome.integrity == Integrity::Uncontained);
            tally.infra += usize::from(outcome.infra != Infra::None);
            tally.results += usize::from(is_result(outcome.infra, outcome.termination));
            self.teller.tell(Progress::TrialFinished {
                outcome: Box::new(outcome),
            });
        }
    }
}

/// Whether a row settles its trial: infra faults, cancelled and interrupted trials are run again on resume.
pub(super) fn is_result(infra: Infra, termination: Termination) -> bool {
    infra == Infra::None
        && !matches!(
            termination,
            Termination::Cancelled | Termination::Interrupted
        )
}
