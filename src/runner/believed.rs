//! What the marks of a start that died are worth. Without a jail an agent can end the harness, and write as well what its own
//! trial has come to: nothing that speaks for it is taken from there.

use std::collections::HashMap;

use crate::config::Suite;
use crate::model::{Grade, Isolation, TrialKey};
use crate::plan::PlannedTrial;
use crate::record::{
    JournalBreak, ROW_SCHEMA, RecordError, Row, RowRange, RunDir, RunMetadata, SealedMark, Stage,
    StageMark, TrialDir, each_row, extent,
};
use crate::runner::unwitnessed::{DIED_BESIDE, ROWS_GONE, Unwitnessed, is_told};
use crate::supervise;
use crate::trial::suspect;

const OPEN: &str = "without a jail agents can end the harness and write marks of their trials: grades of an earlier start are not taken";

/// Why a trial is suspect whose marks are not those that were summed up with its files.
const MARKS_CHANGED: &str = "marks_changed_since_sealed";
const CHANGED: &str =
    "stages.jsonl is not what SHA256SUMS of the trial stands for: no grade is taken from there";

/// What a person is told where noted rows are not there, at the start and for good.
pub(super) const BROKEN: &str = "rows that this run had noted were gone or changed when it was resumed: `journal_breaks` of run_metadata.json has what was noted and what was found, and `proctor verify` fails from here on";

/// Why a trial is suspect whose marks agents could have written, where the start before ended in order, as its metadata says.
const MARKS_OPEN: &str = "marks_open_to_agents";

/// Which rows a start finds in a journal.
#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    /// Rows that earlier starts found and nobody had witnessed.
    known: Vec<RowRange>,
    /// The same that this start found: it notes them before it writes any row.
    pub(super) fresh: Option<RowRange>,
    /// What was noted and what is there, where rows that were noted are gone or changed.
    pub(super) broken: Option<JournalBreak>,
    /// Why nobody knows who wrote `fresh`.
    why: Unwitnessed,
    /// Whether of these the last one alone is gone.
    lacks_the_last: bool,
    /// All rows.
    pub(super) rows: u64,
    /// Digest of the last one.
    pub(super) head: Option<String>,
}

impl Found {
    /// The last row was torn, and what is left of it was put aside: that explains why it is gone.
    pub(super) fn is_torn(&mut self) {
        self.broken.take_if(|_| self.lacks_the_last);
    }

    /// A row as it is told again; `is_unwitnessed` where nobody knows who wrote it, and not only one behind it of the same trial.
    fn told_again(&self, mut row: Row, is_unwitnessed: bool) -> Row {
        if is_unwitnessed && self.why == Unwitnessed::BehindEnd {
            row.success = false;
            row.grade = Some(Grade::NotGraded.as_str().to_owned());
            row.failure_reason = Some(self.why.word().to_owned());
        }
        if !is_told(&row) {
            suspect(&mut row, self.why.word());
        }
        let note = self.why.note().to_owned();
        row.notes.get_or_insert_default().push(note);
        row
    }

    /// Why nobody knows who wrote the rows that are told again.
    pub(super) const fn why(&self) -> Unwitnessed {
        self.why
    }

    /// Makes a trial suspect whose row is made from its marks, where rows that had been noted were gone or changed.
    pub(super) fn doubt(&self, mut mark: StageMark) -> StageMark {
        if let (Some(row), Some(_)) = (&mut mark.row, &self.broken) {
            suspect(row, ROWS_GONE);
            let note = "this row was made from the trial's marks, in a run of which rows that had been noted were gone or changed";
            row.notes.get_or_insert_default().push(note.to_owned());
        }
        mark
    }

    /// The rows that nobody witnessed and no later start has told again, as they are to be told: of each trial what the journal
    /// said of it first.
    pub(super) fn untold(&self, run_dir: &RunDir) -> Result<Vec<Row>, RecordError> {
        let zones: Vec<RowRange> = self.known.iter().copied().chain(self.fresh).collect();
        if zones.is_empty() {
            return Ok(Vec::new());
        }
        let in_zone = |place| zones.iter().any(|zone| zone.holds(place));
        // Whether what stands last of a trial is a row that nobody witnessed.
        let mut untold: HashMap<TrialKey, bool> = HashMap::new();
        each_row(run_dir, |place, row| {
            if in_zone(place) {
                untold.insert(row.key(), true);
            } else if is_told(&row) {
                untold.entry(row.key()).and_modify(|untold| *untold = false);
            }
        })?;
        let mut rows = Vec::new();
        each_row(run_dir, |place, row| {
            if untold.remove(&row.key()) == Some(true) {
                rows.push(self.told_again(row, in_zone(place)));
            }
        })?;
        Ok(rows)
    }
}

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
        let last_start = metadata.as_ref().and_then(|it| it.starts.last());
        let before = last_start.and_then(|start| start.isolation.as_deref());
        let before = before.or(metadata.as_ref().and_then(|it| it.isolation.as_deref()));
        let same = before == Some(now.as_str());
        let kept = (same && now != Isolation::None).then_some(now);
        Self {
            suite,
            metadata,
            kept,
        }
    }

    /// What stands in the journal behind the rows that were noted: nothing of it was witnessed where agents can write it.
    pub(super) fn found(&self, run_dir: &RunDir) -> Result<Found, RecordError> {
        let blank = RunMetadata::default();
        let noted = self.metadata.as_ref().unwrap_or(&blank);
        let head = noted.journal_head.as_deref();
        let extent = extent(run_dir, (noted.journal_rows, head), &noted.unwitnessed)?;
        let has_ended = noted.finished.is_some();
        let from = match (&self.metadata, extent.noted) {
            // Rows of versions without a chain are those of other harnesses, too.
            (None, _) => extent.first_chained.unwrap_or(extent.rows),
            (Some(_), Some(noted)) if extent.holds => noted,
            (Some(_), _) => 0,
        };
        let why = match (has_ended, extent.holds) {
            _ if self.metadata.is_none() => Unwitnessed::EndLost,
            // What came after an end was written by no start at all.
            (true, true) if extent.noted.is_some() => Unwitnessed::BehindEnd,
            (true, false) => Unwitnessed::RowsGone,
            _ => Unwitnessed::Died,
        };
        let is_witnessed = self.kept.is_some() && why != Unwitnessed::BehindEnd;
        let fresh = RowRange {
            from,
            to: extent.rows,
        };
        let is_empty = is_witnessed || from >= extent.rows;
        Ok(Found {
            known: noted.unwitnessed.clone(),
            fresh: (!is_empty).then_some(fresh),
            broken: (!extent.holds).then(|| JournalBreak {
                at: String::new(),
                noted_rows: noted.journal_rows,
                noted_head: noted.journal_head.clone(),
                found_rows: extent.rows,
                found_head: extent.head.clone(),
            }),
            why,
            lacks_the_last: extent.lacks_the_last,
            rows: extent.rows,
            head: extent.head,
        })
    }

    /// How far a trial had come, where its agent had ended.
    pub(super) fn mark(&self, trial: &TrialDir, planned: &PlannedTrial) -> Option<StageMark> {
        let ours = |mark: &StageMark| {
            let row = mark.row.as_ref();
            row.is_some_and(|row| row.schema == ROW_SCHEMA && row.key() == planned.key)
        };
        let ended = self.metadata.as_ref().and_then(|it| it.finished.as_ref());
        let open = ended.map_or(DIED_BESIDE, |_| MARKS_OPEN);
        let sealed = trial.sealed_mark();
        let is_changed = sealed == SealedMark::Changed;
        let last = match sealed {
            SealedMark::Is(mark) => Some(*mark),
            SealedMark::NotSealed | SealedMark::Changed => trial.last_mark(),
        };
        let last = last.filter(ours)?;
        let told = last.row.as_ref().and_then(|row| row.isolation.as_deref());
        let is_kept = self.kept.is_some_and(|kept| told == Some(kept.as_str()));
        if is_kept && !is_changed {
            return Some(last);
        }
        let ended = trial.mark_of(Stage::AgentEnded).filter(ours);
        let ended = ended.filter(|mark| mark.to_grade);
        let mut mark = ended.or_else(|| self.speaks_for_nobody(planned, &last).then_some(last))?;
        if let Some(row) = &mut mark.row {
            let (why, note) = if is_changed {
                (MARKS_CHANGED, CHANGED)
            } else {
                (open, OPEN)
            };
            suspect(row, why);
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
