//! What the marks of a start that died are worth. Without a jail an agent can end the harness, and write as well what its own
//! trial has come to: nothing that speaks for it is taken from there.

use std::collections::HashSet;

use crate::config::Suite;
use crate::model::{Grade, Isolation};
use crate::plan::PlannedTrial;
use crate::record::{
    ROW_SCHEMA, RecordError, Row, RunDir, RunMetadata, Stage, StageMark, TrialDir, rows_after,
};
use crate::supervise;
use crate::trial::suspect;

/// Why a trial is suspect that the harness died in.
pub(super) const DIED_BESIDE: &str = "harness_died_beside_agent";

/// Which marks of a run are believed.
pub(super) struct Belief<'a> {
    suite: &'a Suite,
    metadata: Option<RunMetadata>,
    /// The level of the start that died, where it kept agents away from what it wrote.
    kept: Option<Isolation>,
}

impl<'a> Belief<'a> {
    /// What is believed of the run in `run_dir`: as much as its level and the one that this start would have allow. An agent
    /// that can write marks can write the run's metadata, too, but not what this start finds.
    pub(super) fn of(suite: &'a Suite, run_dir: &RunDir) -> Self {
        let asked = suite.settings.isolation.level.unwrap_or(Isolation::Jail);
        let now = match asked {
            Isolation::Jail => supervise::probe().level,
            level => level,
        };
        // Who cannot read the file is told so where it is needed.
        let metadata = RunMetadata::read(run_dir).ok().flatten();
        let before = metadata.as_ref().and_then(|it| it.isolation.as_deref());
        let same = before == Some(now.as_str());
        let kept = (same && now != Isolation::None).then_some(now);
        Self {
            suite,
            metadata,
            kept,
        }
    }

    /// Rows that a start which died may not have written: those since the last end of a start, where agents can write them.
    pub(super) fn unwitnessed(&self, run_dir: &RunDir) -> Result<Vec<Row>, RecordError> {
        if self.kept.is_some() {
            return Ok(Vec::new());
        }
        let metadata = self.metadata.as_ref();
        let head = metadata.and_then(|metadata| metadata.journal_head.as_deref());
        let mut rows = rows_after(run_dir, head)?;
        let is_told = |row: &Row| {
            let integrity = row.integrity.as_deref().unwrap_or_default();
            integrity.contains(DIED_BESIDE)
        };
        let told = rows.iter().filter(|row| is_told(row));
        let told: HashSet<_> = told.map(Row::key).collect();
        // Rows of versions without a chain are those of other harnesses, too.
        rows.retain(|row| {
            let is_ours = metadata.is_some() || row.prev_sha256.is_some();
            is_ours && !is_told(row) && !told.contains(&row.key())
        });
        Ok(rows)
    }

    /// How far a trial had come, where its agent had ended.
    pub(super) fn mark(&self, trial: &TrialDir, planned: &PlannedTrial) -> Option<StageMark> {
        let ours = |mark: &StageMark| {
            let row = mark.row.as_ref();
            row.is_some_and(|row| row.schema == ROW_SCHEMA && row.key() == planned.key)
        };
        let last = trial.last_mark().filter(ours)?;
        let told = last.row.as_ref().and_then(|row| row.isolation.as_deref());
        if self.kept.is_some_and(|kept| told == Some(kept.as_str())) {
            return Some(last);
        }
        let ended = trial.mark_of(Stage::AgentEnded).filter(ours);
        let ended = ended.filter(|mark| mark.to_grade);
        let mut mark = ended.or_else(|| self.speaks_for_nobody(planned, &last).then_some(last))?;
        if let Some(row) = &mut mark.row {
            suspect(row, DIED_BESIDE);
            let note = "without a jail agents can end the harness and write marks of their trials: grades of the start that died are not taken";
            row.notes.get_or_insert_default().push(note.to_owned());
        }
        Some(mark)
    }

    /// Whether a mark tells of no grade where graders were to be asked: who wrote it gains nothing by it.
    fn speaks_for_nobody(&self, planned: &PlannedTrial, mark: &StageMark) -> bool {
        let task = planned.task.and_then(|place| self.suite.tasks.get(place));
        let asks = task.is_some_and(|task| !task.graders.is_empty());
        let ungraded = |row: &Row| {
            let grade = row.grade.as_deref();
            grade.is_none_or(|grade| grade == Grade::NotGraded.as_str())
        };
        let row = mark.row.as_ref();
        row.is_some_and(|row| !asks || (ungraded(row) && !row.success))
    }
}
