//! The tool errors of a run, by class, arm, tool and message.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::error_log::LoggedError;
use crate::markdown_text::{escape, table};
use crate::post_run::arms::{Arm, arm_of, arms_table};
use crate::post_run::{MANIFEST_VERSION, MOST_LINES, MOST_TRIALS};
use proctor_record::Row;

/// `tool_error_report_manifest.json`: all that a report on tool errors needs to know where to look.
#[derive(Debug, Clone, Serialize)]
pub struct ToolErrorManifest {
    /// Version of this shape.
    pub version: u32,
    /// The run directory; all other paths are relative to it.
    pub run_dir: String,
    /// The file that the report belongs in.
    pub report_path: String,
    /// What each class means.
    pub classes: BTreeMap<&'static str, &'static str>,
    /// Trials of the run that stand.
    pub trials: usize,
    /// Those with an error.
    pub trials_with_errors: usize,
    /// Errors that the rows count.
    pub errors: u64,
    /// Those of MCP tools.
    pub errors_mcp: u64,
    /// Errors found in the logs, by class.
    pub by_class: BTreeMap<String, u64>,
    /// The same by agent and scenario.
    pub by_arm: Vec<Arm>,
    /// Errors by tool.
    pub by_tool: BTreeMap<String, u64>,
    /// The trials with errors, in the order of the journal.
    pub trials_listed: Vec<TrialErrors>,
    /// Trials with errors that are not listed.
    pub trials_left_out: usize,
    #[serde(skip)]
    messages: BTreeMap<(String, String), u64>,
}

/// A trial with tool errors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrialErrors {
    /// Its name.
    pub run_id: String,
    /// The agent.
    pub agent_id: String,
    /// The scenario.
    pub scenario: String,
    /// The task.
    pub task_id: String,
    /// Whether it succeeded all the same.
    pub success: bool,
    /// Errors that the row counts.
    pub errors: u64,
    /// Errors found in the log, by class.
    pub by_class: BTreeMap<String, u64>,
    /// `tool_errors.jsonl`.
    pub tool_error_log_path: Option<String>,
    /// The calls that followed each.
    pub tool_error_context_log_path: Option<String>,
    /// The transcript.
    pub transcript_path: Option<String>,
}

/// Distinct tools and messages beyond this are not told apart.
const MOST_DISTINCT: usize = 2_000;
const OTHERS: &str = "(others)";

impl ToolErrorManifest {
    /// A manifest without trials.
    #[must_use]
    pub fn new(run_dir: String, report_path: String) -> Self {
        Self {
            version: MANIFEST_VERSION,
            run_dir,
            report_path,
            classes: crate::error_log::CLASSES.into_iter().collect(),
            trials: 0,
            trials_with_errors: 0,
            errors: 0,
            errors_mcp: 0,
            by_class: BTreeMap::new(),
            by_arm: Vec::new(),
            by_tool: BTreeMap::new(),
            trials_listed: Vec::new(),
            trials_left_out: 0,
            messages: BTreeMap::new(),
        }
    }

    /// Counts a trial and the errors of its log.
    pub fn add(&mut self, row: &Row, logged: &[LoggedError]) {
        self.trials += 1;
        self.errors += row.tool_error_total.unwrap_or(0);
        self.errors_mcp += row.tool_error_mcp.unwrap_or(0);
        let mut by_class = BTreeMap::new();
        for error in logged {
            *by_class.entry(error.class.clone()).or_default() += 1;
            count(&mut self.by_tool, error.tool.clone(), || OTHERS.to_owned());
            let message = (error.tool.clone(), first_line(&error.payload));
            count(&mut self.messages, message, || {
                (OTHERS.to_owned(), OTHERS.to_owned())
            });
        }
        let arm = arm_of(&mut self.by_arm, row);
        arm.trials += 1;
        for (class, errors) in &by_class {
            *self.by_class.entry(class.clone()).or_default() += errors;
            *arm.found.entry(class.clone()).or_default() += errors;
        }
        if row.tool_error_total.unwrap_or(0) > 0 || !logged.is_empty() {
            self.list(row, by_class);
        }
    }

    fn list(&mut self, row: &Row, by_class: BTreeMap<String, u64>) {
        self.trials_with_errors += 1;
        if self.trials_listed.len() >= MOST_TRIALS {
            self.trials_left_out += 1;
            return;
        }
        self.trials_listed.push(TrialErrors {
            run_id: row.run_id.clone(),
            agent_id: row.agent_id.clone(),
            scenario: row.scenario.clone(),
            task_id: row.task_id.clone(),
            success: row.success,
            errors: row.tool_error_total.unwrap_or(0),
            by_class,
            tool_error_log_path: row.tool_error_log_path.clone(),
            tool_error_context_log_path: row.tool_error_context_log_path.clone(),
            transcript_path: row.transcript_path.clone(),
        });
    }

    /// The report that needs no agent: tables, and no conclusions.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let Self {
            trials,
            trials_with_errors,
            errors,
            errors_mcp,
            ..
        } = self;
        let mut text = format!(
            "# Tool errors\n\n{errors} errors, {errors_mcp} of them of MCP tools, in {trials_with_errors} of {trials} trials. \
             The tables count what the trials' error logs hold.\n"
        );
        let class = |(class, count): (&String, &u64)| {
            vec![
                escape(class),
                count.to_string(),
                escape(self.classes.get(class.as_str()).unwrap_or(&"")),
            ]
        };
        section(
            &mut text,
            "By class",
            &counted(
                ["class", "errors", "meaning"],
                self.by_class.iter().map(class),
            ),
        );
        section(
            &mut text,
            "By agent and scenario",
            &arms_table(&self.by_arm, &self.by_class),
        );
        let tools = most(&self.by_tool).map(|(tool, count)| vec![escape(tool), count.to_string()]);
        section(&mut text, "By tool", &counted(["tool", "errors"], tools));
        let messages = most(&self.messages)
            .map(|((tool, line), count)| vec![escape(tool), count.to_string(), escape(line)]);
        section(
            &mut text,
            "Most frequent messages",
            &counted(["tool", "errors", "first line"], messages),
        );
        text
    }
}

/// Counts `key`, or `other` where too many distinct ones are there already.
fn count<Key: Ord>(counts: &mut BTreeMap<Key, u64>, key: Key, other: impl FnOnce() -> Key) {
    let known = counts.len() < MOST_DISTINCT || counts.contains_key(&key);
    *counts.entry(if known { key } else { other() }).or_default() += 1;
}

fn first_line(payload: &str) -> String {
    payload
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .chars()
        .take(160)
        .collect()
}

/// The most frequent first.
fn most<Key: Ord>(counts: &BTreeMap<Key, u64>) -> impl Iterator<Item = (&Key, &u64)> {
    let mut sorted: Vec<_> = counts.iter().collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    sorted.into_iter().take(MOST_LINES)
}

fn counted<const WIDTH: usize>(
    header: [&str; WIDTH],
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let numeric: Vec<_> = (0..WIDTH).map(|place| place == 1).collect();
    table(&header, &numeric, rows)
}

pub(super) fn section(text: &mut String, title: &str, table: &str) {
    let _infallible = write!(text, "\n## {title}\n\n{table}");
}
