//! An outcome whose files are on disk: only then may its row name them.

use crate::model::TrialOutcome;
use crate::record::Row;
use crate::runner::disk::Disk;
use crate::trial::RunContext;

/// An outcome with its sealed files.
pub(super) struct Sealed {
    pub(super) outcome: TrialOutcome,
    /// Digest of the list of the trial's files; absent where there is no folder, or it could not be sealed.
    sums: Option<String>,
}

impl Sealed {
    /// Waits until the files of the trial are on disk, and lists their digests. It takes its time: it wants a thread that
    /// may block.
    pub(super) fn seal(context: &RunContext, disk: &Disk, mut outcome: TrialOutcome) -> Self {
        let trial = context.run_dir.trial(&outcome.key);
        // A trial that could not even make its folder has nothing to seal.
        let sealed = trial
            .root()
            .is_dir()
            .then(|| disk.with_room(|| trial.sum_up()));
        let sums = match sealed {
            Some(Err(error)) => {
                outcome
                    .notes
                    .push(format!("the trial's files are not sealed: {error}"));
                None
            }
            Some(Ok(sums)) => Some(sums),
            None => None,
        };
        Self { outcome, sums }
    }

    /// The row, with the digests that tell which inputs it belongs to.
    pub(super) fn row(&self, context: &RunContext) -> Row {
        let outcome = &self.outcome;
        let trial = context.run_dir.trial(&outcome.key);
        let mut row = Row::from_outcome(outcome, &trial.paths());
        row.artifacts_sha256.clone_from(&self.sums);
        row.prompt_digest = trial.prompt_digest();
        row.config_digest = Some(context.suite.config_digest.clone());
        let tasks = &context.suite.tasks;
        let task = tasks
            .iter()
            .find(|task| task.id == outcome.key.cell.task && !outcome.key.baseline);
        row.task_digest = task.map(|task| task.digest.clone());
        row
    }
}
