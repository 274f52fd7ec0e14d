//! Trials that ran while somebody else wrote to the journal: what this process did not write is none of its rows, and any of
//! these trials may have done it.

use std::collections::HashSet;

use crate::model::{Progress, TrialKey};
use crate::record::{Foreign, Journal};
use crate::runner::sealed::Sealed;
use crate::trial::Teller;

/// Why a trial is suspect that ran meanwhile.
const JOURNAL_TOUCHED: &str = "journal_written_by_others";

/// What was seen of it.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// Trials whose rows are still to come, and tell of it.
    of: HashSet<TrialKey>,
    /// Whether the next rows tell of it.
    now: bool,
    told: Option<String>,
}

impl Doubts {
    /// Looks whether somebody else wrote to the journal before further rows are written; these trials run `beside`. A journal
    /// that cannot be mended is told of where its rows cannot be written.
    pub(super) fn look<'k>(
        &mut self,
        journal: &mut Journal,
        teller: &Teller,
        beside: impl Iterator<Item = &'k TrialKey>,
    ) {
        journal.look().ok();
        self.now = self.heed(journal, teller);
        if self.now {
            self.of.extend(beside.cloned());
        }
    }

    /// Tells a person of what somebody else wrote; whether it was anything.
    pub(super) fn heed(&mut self, journal: &mut Journal, teller: &Teller) -> bool {
        let Some(Foreign { kept_as }) = journal.take_foreign() else {
            return false;
        };
        let kept = kept_as.map_or_else(
            || "it was gone".to_owned(),
            |path| format!("what was found is kept as {}", path.display()),
        );
        let text = format!(
            "somebody else wrote to the journal while this run had it: {kept}, and runs.jsonl holds again what proctor wrote"
        );
        teller.tell(Progress::Warning { text: text.clone() });
        self.told = Some(text);
        true
    }

    /// Makes trials that have just ended suspect, where somebody wrote while they ran.
    pub(super) fn cast_on(&mut self, ended: &mut [Sealed]) {
        for sealed in ended {
            if self.of.remove(&sealed.outcome.key) || self.now {
                let note = "somebody else wrote to the journal while this trial ran: what it held beside the rows of proctor is none of this run (runs.jsonl.foreign)";
                sealed.doubt(JOURNAL_TOUCHED, note);
            }
        }
    }

    /// What a reader of the run must know.
    pub(super) fn told(&self) -> Option<String> {
        self.told.clone()
    }
}
