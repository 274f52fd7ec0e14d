//! The trials of a run that did not succeed, and where to look for why.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::facts::Facts;
use crate::markdown_text::{escape, table};
use crate::post_run::arms::{Arm, arm_of, arms_table};
use crate::post_run::tool_errors::section;
use crate::post_run::{MANIFEST_VERSION, MOST_LINES, MOST_TRIALS};
use proctor_record::{GraderResult, Row};

/// `failure_analysis_manifest.json`: all that a failure analysis needs to know where to look.
#[derive(Debug, Clone, Serialize)]
pub struct FailureManifest {
    /// Version of this shape.
    pub version: u32,
    /// The run directory; all other paths are relative to it.
    pub run_dir: String,
    /// The file that the report belongs in.
    pub report_path: String,
    /// Trials of the run that stand.
    pub trials: usize,
    /// Those that did not succeed.
    pub failures: usize,
    /// The failures by outcome; `infra:…` is no failure of the agent.
    pub by_outcome: BTreeMap<String, u64>,
    /// The same by agent and scenario.
    pub by_arm: Vec<Arm>,
    /// The trials that did not succeed, in the order of the journal.
    pub trials_listed: Vec<FailedTrial>,
    /// Failures that are not listed.
    pub trials_left_out: usize,
    /// A success of the same cell to compare with: `agent/scenario/task` to the name of a trial.
    pub successes_to_compare: BTreeMap<String, String>,
}

/// A trial that did not succeed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FailedTrial {
    /// Its name.
    pub run_id: String,
    /// The agent.
    pub agent_id: String,
    /// The scenario.
    pub scenario: String,
    /// The task.
    pub task_id: String,
    /// How it came out, in one word.
    pub outcome: String,
    /// The reason in the row.
    pub failure_reason: Option<String>,
    /// How the agent's process ended.
    pub termination: Option<String>,
    /// What the graders said.
    pub grade: Option<String>,
    /// What else decided it.
    pub infra: Option<String>,
    /// Whether it can be trusted.
    pub integrity: Option<String>,
    /// Exit code of the agent.
    pub exit_code: Option<i64>,
    /// Agent-only seconds.
    pub wall_time_sec: Option<f64>,
    /// What each grader said.
    pub grader_results: Option<Vec<GraderResult>>,
    /// What was odd.
    pub notes: Option<Vec<String>>,
    /// The transcript; the trial's other files lie beside it.
    pub transcript_path: Option<String>,
    /// `tool_errors.jsonl`.
    pub tool_error_log_path: Option<String>,
    /// `cmd_log.jsonl`.
    pub command_log_path: Option<String>,
}

impl FailureManifest {
    /// A manifest without trials.
    #[must_use]
    pub fn new(run_dir: String, report_path: String) -> Self {
        Self {
            version: MANIFEST_VERSION,
            run_dir,
            report_path,
            trials: 0,
            failures: 0,
            by_outcome: BTreeMap::new(),
            by_arm: Vec::new(),
            trials_listed: Vec::new(),
            trials_left_out: 0,
            successes_to_compare: BTreeMap::new(),
        }
    }

    /// Counts a trial.
    pub fn add(&mut self, row: &Row) {
        self.trials += 1;
        let arm = arm_of(&mut self.by_arm, row);
        arm.trials += 1;
        if row.success {
            self.successes_to_compare
                .entry(cell(row))
                .or_insert_with(|| row.run_id.clone());
            return;
        }
        let outcome = Facts::of(row).outcome;
        *arm.found.entry(outcome.clone()).or_default() += 1;
        *self.by_outcome.entry(outcome.clone()).or_default() += 1;
        self.failures += 1;
        if self.trials_listed.len() < MOST_TRIALS {
            self.trials_listed.push(failed(row, outcome));
        } else {
            self.trials_left_out += 1;
        }
    }

    /// Leaves out the successes of cells without a failure.
    pub(super) fn finish(&mut self) {
        let failed: std::collections::BTreeSet<_> = self
            .trials_listed
            .iter()
            .map(|trial| name(&trial.agent_id, &trial.scenario, &trial.task_id))
            .collect();
        self.successes_to_compare
            .retain(|cell, _| failed.contains(cell));
    }

    /// The report that needs no agent: tables, and no conclusions.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let mut text = format!(
            "# Failures\n\n{} of {} trials did not succeed.\n",
            self.failures, self.trials
        );
        section(
            &mut text,
            "By agent and scenario",
            &arms_table(&self.by_arm, &self.by_outcome),
        );
        let header = ["trial", "outcome", "reason", "agent", "scenario", "task"];
        let rows = self.trials_listed.iter().take(MOST_LINES).map(|trial| {
            let reason = trial.failure_reason.as_deref().unwrap_or_default();
            [
                &trial.run_id,
                &trial.outcome,
                reason,
                &trial.agent_id,
                &trial.scenario,
                &trial.task_id,
            ]
            .map(escape)
            .to_vec()
        });
        section(&mut text, "Trials", &table(&header, &[false; 6], rows));
        let unlisted = self.failures.saturating_sub(MOST_LINES);
        if unlisted > 0 {
            let _infallible = write!(text, "\n{unlisted} more are in `runs.csv`.\n");
        }
        text
    }
}

fn cell(row: &Row) -> String {
    name(&row.agent_id, &row.scenario, &row.task_id)
}

fn name(agent: &str, scenario: &str, task: &str) -> String {
    format!("{agent}/{scenario}/{task}")
}

fn failed(row: &Row, outcome: String) -> FailedTrial {
    let row = row.clone();
    FailedTrial {
        run_id: row.run_id,
        agent_id: row.agent_id,
        scenario: row.scenario,
        task_id: row.task_id,
        outcome,
        failure_reason: row.failure_reason,
        termination: row.termination,
        grade: row.grade,
        infra: row.infra,
        integrity: row.integrity,
        exit_code: row.exit_code,
        wall_time_sec: row.wall_time_sec,
        grader_results: row.grader_results,
        notes: row.notes,
        transcript_path: row.transcript_path,
        tool_error_log_path: row.tool_error_log_path,
        command_log_path: row.command_log_path,
    }
}
