//! What earlier starts left in a run directory: results, and trials that were cut off.

use std::collections::HashSet;

use crate::model::{Infra, Termination, TrialKey, TrialOutcome};
use crate::plan::{Done, Plan, PlannedTrial};
use crate::record::{Row, RunDir, rows};
use crate::runner::RunError;
use crate::runner::dispatch::is_result;
use crate::trial::{RunContext, crashed_outcome, scrub_folder};

/// How far a run had come.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// One entry per readable row, and per trial that was cut off.
    pub(super) done: Vec<Done>,
    /// Trials whose folder is there but whose row is not: the harness died while they ran.
    cut_off: Vec<PlannedTrial>,
    /// What a person should know of the journal.
    pub(super) notices: Vec<String>,
}

/// Reads the journal and looks for trials that have a folder but no row.
///
/// # Errors
/// The journal is there but cannot be read, or a newer proctor wrote to it: what is done cannot be known then.
pub(super) fn read_standing(run_dir: &RunDir, plan: &Plan) -> Result<Standing, RunError> {
    let mut standing = Standing::default();
    let journal = run_dir.runs_jsonl();
    if journal.exists() {
        let rows = rows(&journal).map_err(|error| RunError::at("read the journal", &error))?;
        for row in rows {
            match row {
                Ok(row) => standing.done.push(Done {
                    key: row.key(),
                    is_result: settles(&row),
                }),
                Err(problem) if problem.newer => {
                    let what = format!("read {}", journal.display());
                    return Err(RunError::at(what, &problem));
                }
                Err(problem) => standing.notices.push(problem.to_string()),
            }
        }
    }
    let known: HashSet<TrialKey> = standing.done.iter().map(|done| done.key.clone()).collect();
    for planned in plan.trials() {
        let mut planned = planned.clone();
        while known.contains(&planned.key) || run_dir.trial(&planned.key).root().exists() {
            if !known.contains(&planned.key) {
                standing.cut_off.push(planned.clone());
            }
            planned.key.attempt += 1;
        }
    }
    standing
        .done
        .extend(standing.cut_off.iter().map(|planned| Done {
            key: planned.key.clone(),
            is_result: false,
        }));
    if !standing.cut_off.is_empty() {
        standing.notices.push(format!(
            "{} trial(s) were cut off when the run ended last time; they are recorded as interrupted and run again",
            standing.cut_off.len()
        ));
    }
    Ok(standing)
}

/// Whether a row settles its trial. Rows of the old harness always do.
fn settles(row: &Row) -> bool {
    let infra = row.infra.as_deref().unwrap_or(Infra::None.as_str());
    let termination = row.termination.as_deref().unwrap_or_default();
    let cut_short = [Termination::Cancelled, Termination::Interrupted];
    infra == Infra::None.as_str() && cut_short.iter().all(|end| end.as_str() != termination)
}

impl Standing {
    /// The rows of the trials that were cut off.
    pub(super) fn interrupted(&self, context: &RunContext) -> Vec<TrialOutcome> {
        let cut_off = self.cut_off.iter();
        cut_off
            .map(|planned| {
                let mut outcome = crashed_outcome(context, planned, "");
                outcome.termination = Termination::Interrupted;
                outcome.infra = Infra::None;
                outcome.failure_reason = Some("interrupted".to_owned());
                outcome.notes = vec!["the harness died while this trial ran".to_owned()];
                let trial = context.run_dir.trial(&planned.key);
                let problems = scrub_folder(&trial, &context.redactor);
                outcome.notes.extend(problems);
                debug_assert!(!is_result(outcome.infra, outcome.termination));
                outcome
            })
            .collect()
    }
}
