//! `proctor run --dry-run`: the plan by cell and the commands that would run; nothing is run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::args::ShowArgs;
use crate::cli::columns::columns;
use crate::cli::commands::engine;
use crate::cli::console::say;
use crate::cli::failure::Outcome;
use crate::cli::out::{Colour, Out};
use crate::cli::starts::{judged_by, starts};
use crate::plan::{Plan, PlannedTrial};
use crate::runner::{Preview, RunRequest, preview};
use proctor_config::{Suite, TaskSpec};
use proctor_model::Cell;
use proctor_report::{sanitize_line, table};

/// How far one cell is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Progress {
    have: usize,
    need: usize,
}

/// The cells of a plan, baselines after the trials of their agent and scenario.
type Cells = BTreeMap<(Cell, bool), Progress>;

/// Prints the plan.
pub(super) fn print(request: &RunRequest, show: &ShowArgs) -> Outcome {
    let Preview {
        plan,
        missing,
        drift,
        project,
    } = preview(request).map_err(|error| engine::run_failure(&error))?;
    if let Some(problem) = project {
        let colour = Colour::unless(show.no_color);
        say(colour, format_args!("warning: {}", sanitize_line(&problem)));
    }
    let cells = cells(&plan, &missing.plan);
    let longest = longest(request, &missing.plan);
    let mut out = Out::new(Colour::unless(show.no_color));
    if show.json {
        let mut document = document(request, &cells, longest);
        if request.resume.is_some() {
            document["changed_inputs"] = json!(drift);
        }
        return out.json(&document);
    }
    out.text(matrix(&cells))?;
    out.text(commands(&request.suite))?;
    out.line(summary(
        request,
        missing.plan.len(),
        missing.already_done,
        longest,
    ))?;
    match drifted(&drift, request.accept_drift) {
        Some(text) => out.text(text),
        None => Ok(()),
    }
}

/// What a resume would say of inputs that are not those that the run was started with.
fn drifted(changes: &[String], accepted: bool) -> Option<String> {
    let first = match (changes.is_empty(), accepted) {
        (true, _) => return None,
        (false, true) => "the run would go on with other inputs than it was started with:",
        (false, false) => {
            "this resume would be refused, since the inputs are not those that the run was started with (--accept-drift goes on):"
        }
    };
    let lines = changes
        .iter()
        .map(|line| format!("  {}\n", sanitize_line(line)));
    Some(format!("\n{first}\n{}", lines.collect::<String>()))
}

fn cells(plan: &Plan, to_do: &Plan) -> Cells {
    let mut cells = Cells::new();
    for trial in plan.trials() {
        let key = (trial.key.cell.clone(), trial.key.baseline);
        let progress = cells.entry(key).or_default();
        progress.need += 1;
        progress.have += 1;
    }
    for trial in to_do.trials() {
        let key = (trial.key.cell.clone(), trial.key.baseline);
        if let Some(progress) = cells.get_mut(&key) {
            progress.have -= 1;
        }
    }
    cells
}

fn matrix(cells: &Cells) -> String {
    let header = ["agent", "scenario", "task", "have -> need"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for ((cell, _), Progress { have, need }) in cells {
        let step = match need - have {
            0 => format!("{have} -> {need}"),
            more => format!("{have} -> {need} (+{more})"),
        };
        rows.push(vec![
            cell.agent.to_string(),
            cell.scenario.to_string(),
            cell.task.to_string(),
            step,
        ]);
    }
    columns(&rows)
}

/// What each agent, server, judge, setup command and grader is called with.
fn commands(suite: &Suite) -> String {
    let rows: Vec<Vec<String>> = starts(suite).into_iter().map(Vec::from).collect();
    format!("\n{}", columns(&rows))
}

/// If every trial took as long as it may: blocks, and the baselines and trials of each, one after the other.
fn longest(request: &RunRequest, to_do: &Plan) -> Duration {
    let suite = &request.suite;
    let limit = |trial: &PlannedTrial| {
        let scenario = suite.scenarios.get(trial.scenario)?;
        Some(suite.settings.hard_limit(&scenario.id))
    };
    let groups = to_do
        .blocks
        .iter()
        .flat_map(|block| [&block.baselines, &block.trials]);
    groups
        .map(|group| took(group.iter().filter_map(limit), request.jobs))
        .sum()
}

/// How long `jobs` workers need for tasks of these lengths, each taking the next one when it is free.
fn took(lengths: impl Iterator<Item = Duration>, jobs: u32) -> Duration {
    let mut ends = BinaryHeap::new();
    for length in lengths {
        let free = if ends.len() < jobs.max(1) as usize {
            Duration::ZERO
        } else {
            ends.pop().map_or(Duration::ZERO, |Reverse(end)| end)
        };
        ends.push(Reverse(free + length));
    }
    let last = ends.into_iter().map(|Reverse(end)| end).max();
    last.unwrap_or_default()
}

fn summary(request: &RunRequest, to_do: usize, done: usize, longest: Duration) -> String {
    let at_once = match request.jobs {
        0 | 1 => "one at a time".to_owned(),
        jobs => format!("{jobs} at once"),
    };
    let done = if done > 0 {
        format!(" ({done} are done)")
    } else {
        String::new()
    };
    let longest = table::seconds(longest.as_secs_f64());
    format!(
        "\n{to_do} trials to run{done}, {at_once}: at most {longest} of agents' time; nothing was run"
    )
}

fn document(request: &RunRequest, cells: &Cells, longest: Duration) -> Value {
    let suite = &request.suite;
    let each = cells.iter().map(|((cell, baseline), progress)| {
        json!({"agent_id": cell.agent.as_str(), "scenario": cell.scenario.as_str(), "task_id": cell.task.as_str(),
            "baseline": baseline, "have": progress.have, "need": progress.need})
    });
    let agents = suite.agents.iter().map(|agent| {
        json!({"id": agent.id.as_str(), "kind": agent.kind.as_str(), "program": agent.command.first(), "command": agent.command})
    });
    json!({
        "schema": 1,
        "cells": each.collect::<Vec<_>>(),
        "agents": agents.collect::<Vec<_>>(),
        "commands": starts(suite),
        "tasks": suite.tasks.iter().map(task_document).collect::<Vec<_>>(),
        "jobs": request.jobs,
        "longest_sec": longest.as_secs_f64(),
    })
}

fn task_document(task: &TaskSpec) -> Value {
    let graders = task
        .graders
        .iter()
        .map(|grader| json!({"type": grader.type_name(), "with": judged_by(grader)}));
    json!({"id": task.id.as_str(), "setup_commands": task.setup_commands, "graders": graders.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_share_the_work_but_no_trial_is_split() {
        let seconds = |all: &'static [u64]| all.iter().copied().map(Duration::from_secs);
        for (lengths, jobs, expected) in [
            (&[7, 7, 7][..], 1, 21),
            (&[7, 7, 7], 2, 14),
            (&[7, 7, 7], 1000, 7),
            (&[1, 1, 5], 2, 6),
            (&[], 4, 0),
        ] {
            assert_eq!(
                took(seconds(lengths), jobs),
                Duration::from_secs(expected),
                "{lengths:?} by {jobs}"
            );
        }
    }
}
