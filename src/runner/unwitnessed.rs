//! Why nobody knows who wrote some rows of a journal, in the words of rows and of a person.

use crate::record::Row;

/// Why a trial is suspect that the harness died in.
pub(super) const DIED_BESIDE: &str = "harness_died_beside_agent";

/// Why a trial is suspect where noted rows of its run were gone or changed.
pub(super) const ROWS_GONE: &str = "noted_rows_gone";

/// Why a row is suspect that stood behind the end which a run had noted: no start wrote it.
pub(super) const BEHIND_END: &str = "row_behind_noted_end";

/// Why a row is suspect of a run that had noted how far it had come, where that is lost.
const END_LOST: &str = "noted_end_lost";

/// Why nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Unwitnessed {
    /// The start that would know has died.
    #[default]
    Died,
    /// They stand behind a noted end.
    BehindEnd,
    /// The run had ended, and rows that it had noted are gone or changed.
    RowsGone,
    /// What the run had noted is lost.
    EndLost,
}

impl Unwitnessed {
    /// The word in the row.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Died => DIED_BESIDE,
            Self::BehindEnd => BEHIND_END,
            Self::RowsGone => ROWS_GONE,
            Self::EndLost => END_LOST,
        }
    }

    /// The note in the row.
    pub(super) const fn note(self) -> &'static str {
        match self {
            Self::Died => {
                "told again: without a jail an agent could have written this row before it ended the harness"
            }
            Self::BehindEnd => {
                "told again: a row of this trial stood behind the end that the run had noted, so that no start wrote it"
            }
            Self::RowsGone => {
                "told again: rows that this run had noted at its end were gone or changed, and nobody knows which"
            }
            Self::EndLost => {
                "told again: what this run had noted of its rows is lost, and nobody knows who wrote this one"
            }
        }
    }

    /// What a person is told of such rows.
    pub(super) const fn told(self) -> &'static str {
        match self {
            Self::Died => "were told by a start that died where agents can write them",
            Self::BehindEnd => "stood behind the end that the run had noted",
            Self::RowsGone => {
                "stand in the journal of a run that had ended, of which noted rows are gone or changed"
            }
            Self::EndLost => {
                "stand in the journal of a run of which nobody knows what it had noted"
            }
        }
    }
}

/// Whether a row says of itself that it tells another one again, or that the harness died in its trial.
pub(super) fn is_told(row: &Row) -> bool {
    let integrity = row.integrity.as_deref().unwrap_or_default();
    [DIED_BESIDE, BEHIND_END, ROWS_GONE, END_LOST]
        .iter()
        .any(|why| integrity.contains(why))
}
