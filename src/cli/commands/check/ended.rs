//! Whether the agent of a recorded trial came to its end, which is known beside what it said.

use crate::graders;
use crate::model::{AgentEvent, Grade};
use crate::record::Row;

/// Why nothing is judged of a trial without a row.
pub(super) const NO_ROW: &str = "the trial has no row: it did not end";

/// That the agent's own last word was that it failed.
pub(super) fn said_failed(events: &[AgentEvent]) -> Option<String> {
    graders::said_failed(events).then(|| "the agent said that it failed".to_owned())
}

/// Why the agent of a trial did not come to its end, by its row, which is missing where the trial did not end.
pub(super) fn of_row(row: Option<&Row>) -> Option<String> {
    row.map_or_else(|| Some(NO_ROW.to_owned()), failed)
}

/// Why an agent did not come to its end by what its row tells.
pub(super) fn failed(row: &Row) -> Option<String> {
    let infra = row.infra.as_deref().filter(|infra| *infra != "none");
    if let Some(infra) = infra {
        return Some(format!("the agent did not get to its work: {infra}"));
    }
    let ending = row.termination.as_deref();
    if let Some(ending) = ending.filter(|ending| *ending != "completed") {
        let why = match ending {
            "hard_timeout" | "stall" | "budget" => "the agent was stopped by a limit: ",
            _ => "the agent was ",
        };
        return Some(format!("{why}{ending}"));
    }
    if let Some(code) = row.exit_code {
        return (code != 0).then(|| format!("the agent ended with exit code {code}"));
    }
    // Older exports leave out the exit code, and why a trial was none.
    let is_graded_down = row.grade.as_deref() == Some(Grade::Fail.as_str());
    let is_told = row.success || is_graded_down || row.failure_reason.is_some();
    (!is_told).then(|| "the trial was no success, and why is not told".to_owned())
}
