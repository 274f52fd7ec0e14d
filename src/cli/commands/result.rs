//! How a run ends for the person: the tables, the counts, the path, the exit code.

use std::process::ExitCode;

use serde_json::json;

use crate::cli::args::ShowArgs;
use crate::cli::commands::engine::ROWS_ARE_SAFE;
use crate::cli::commands::verify::edited;
use crate::cli::console::say;
use crate::cli::failure::{Failure, Kind, Outcome};
use crate::cli::out::{Colour, Out};
use crate::runner::RunEnd;
use proctor_config::Settings;
use proctor_record::RunDir;
use proctor_report::{CellStats, RebuildOptions, Rebuilt, counted, rebuild, sanitize_line, table};

/// What is told.
pub(super) struct Told<'a> {
    pub(super) end: &'a RunEnd,
    pub(super) settings: &'a Settings,
    /// Whether failing trials are a failure of the command.
    pub(super) strict: bool,
    /// Whether the agents only play recordings.
    pub(super) recorded: bool,
    pub(super) show: &'a ShowArgs,
    /// The command that goes on from here, with `USD` for the run's limit where that has to be higher.
    pub(super) again: String,
}

/// Said below the tables of a demo.
const RECORDED: &str = "the agents are recorded: these numbers show what a report looks like, not what an agent can do";

/// How all trials of the run came out, earlier starts included; each is counted once.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Totals {
    trials: usize,
    passed: usize,
    infra: usize,
    interrupted: usize,
    /// Trials that no grader could judge, and those on which graders disagreed with themselves.
    errors: usize,
    flaky: usize,
    /// Trials whose integrity is not clean, however they came out.
    flagged: usize,
    /// Trials of another agent than the first of their arm, or one without what the scenario asks for.
    another_agent: usize,
    spent_usd: Option<f64>,
    spent_is_lower_bound: bool,
    max_cost_usd: Option<f64>,
}

/// Tells the results on standard output and decides the exit code.
pub(super) fn tell(told: &Told<'_>) -> Outcome<ExitCode> {
    let colour = Colour::unless(told.show.no_color);
    for problem in &told.end.problems {
        say(colour, format_args!("warning: {}", sanitize_line(problem)));
    }
    let rebuilt = read(told)?;
    let totals = Totals::of(&rebuilt);
    let mut out = Out::new(colour);
    if told.show.json {
        out.json(&document(told, &rebuilt, totals))?;
    } else {
        out.text(page(told, &rebuilt, totals, out.look()))?;
    }
    verdict(told, totals)
}

/// Reads the numbers back from the journal: what is told is what is kept.
fn read(told: &Told<'_>) -> Outcome<Rebuilt> {
    let options = RebuildOptions {
        in_place: false,
        summary_cache_strata: told.settings.summary_cache_strata,
        backfill_errors: false,
    };
    let run_dir = RunDir::open(&told.end.run_dir)
        .map_err(|error| Failure::at("open the run", error).hint(ROWS_ARE_SAFE))?;
    rebuild(&run_dir, options).map_err(|error| Failure::new(Kind::Infrastructure, error))
}

impl Totals {
    fn of(rebuilt: &Rebuilt) -> Self {
        let cells = || rebuilt.summary.cells.values();
        Self {
            trials: cells().map(|cell| cell.runs).sum(),
            passed: cells().map(|cell| cell.sound_successes).sum(),
            infra: cells().map(|cell| cell.infra).sum(),
            interrupted: cells().map(|cell| cell.interrupted).sum(),
            errors: cells().map(CellStats::grader_errors).sum(),
            flaky: cells().map(CellStats::flaky).sum(),
            flagged: cells().map(|cell| cell.flagged).sum(),
            another_agent: cells().map(|cell| cell.another_agent).sum(),
            spent_usd: rebuilt.spending.usd(),
            spent_is_lower_bound: rebuilt.spending.is_lower_bound(),
            max_cost_usd: rebuilt.spending.budget,
        }
    }

    fn failed(self) -> usize {
        let others = self.passed + self.errors + self.flaky + self.infra + self.interrupted;
        self.trials.saturating_sub(others)
    }

    /// `54 trials: 31 pass, 18 fail, 5 infra; 2 of them not clean (integrity); $1.23 spent`
    fn line(self) -> String {
        let parts = [
            (self.passed, "pass"),
            (self.failed(), "fail"),
            (self.errors, "error"),
            (self.flaky, "flaky"),
            (self.infra, "infra"),
            (self.interrupted, "interrupted"),
        ];
        let told: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        let flagged = match self.flagged {
            0 => String::new(),
            flagged => format!("; {flagged} of them not clean (integrity)"),
        };
        let at_least = if self.spent_is_lower_bound {
            "at least "
        } else {
            ""
        };
        let most = self.max_cost_usd.map(table::dollars);
        let of = most.map_or_else(String::new, |most| format!(" of {most}"));
        let spent = self.spent_usd.filter(|usd| *usd > 0.0);
        let spent = spent.map_or_else(String::new, |usd| {
            format!("; {at_least}{}{of} spent", table::dollars(usd))
        });
        let trials = counted(self.trials, "trial");
        match told.as_slice() {
            [] => trials,
            told => format!("{trials}: {}{flagged}{spent}", told.join(", ")),
        }
    }
}

fn page(told: &Told<'_>, rebuilt: &Rebuilt, totals: Totals, look: proctor_report::Look) -> String {
    let tables = if totals.trials == 0 {
        String::new()
    } else {
        let cells = table::cells(&rebuilt.summary, look);
        let scenarios = table::scenarios(&rebuilt.summary, &rebuilt.warnings, look);
        format!("{cells}\n{scenarios}\n")
    };
    let recorded = if told.recorded { RECORDED } else { "" };
    let run = told.end.run_dir.display();
    let mut counts = look.lines(&totals.line()).join("\n");
    for remark in rebuilt.spending.remarks() {
        counts = format!("{counts}\n{}", look.lines(&remark).join("\n"));
    }
    let recorded = match recorded {
        "" => String::new(),
        text => look.lines(text).join("\n") + "\n",
    };
    // The path stays whole: it is there to be copied.
    format!("{tables}{counts}\n{recorded}run: {run}\n")
}

/// The shape that programs read; keys are only ever added.
fn document(told: &Told<'_>, rebuilt: &Rebuilt, totals: Totals) -> serde_json::Value {
    let end = told.end;
    json!({
        "schema": 1,
        "run": end.run_dir,
        "complete": end.missing == 0,
        "cancelled": end.cancelled,
        "disk_full": end.disk_full,
        "unwritten": end.unwritten,
        "uncontained": end.uncontained,
        "recorded": told.recorded,
        "counts": {
            "trials": totals.trials, "passed": totals.passed, "failed": totals.failed(), "errors": totals.errors, "flaky": totals.flaky, "infra": totals.infra,
            "interrupted": totals.interrupted, "integrity_flagged": totals.flagged, "another_agent": totals.another_agent,
            "missing": end.missing, "finished_now": end.finished,
        },
        "spent_usd": totals.spent_usd,
        "max_cost_usd": end.max_cost_usd,
        "money": rebuilt.spending.to_json(),
        "left": end.left,
        "cells": rebuilt.summary.to_json(),
        "scenarios": rebuilt.summary.scenarios_to_json(),
        "warnings": rebuilt.warnings,
        "problems": end.problems,
    })
}

fn verdict(told: &Told<'_>, totals: Totals) -> Outcome<ExitCode> {
    let end = told.end;
    let missing = counted(end.missing, "trial");
    if let Some(why) = &end.disk_full {
        let text = format!("{why}; {missing} still to run; what ended is kept");
        let hint = format!("make room, then {} goes on from here", told.again);
        return Err(Failure::new(Kind::DiskFull, text).hint(hint));
    }
    if let Some(why) = &end.unwritten {
        let text = format!("{why}; {missing} still to run; all rows are written now");
        let hint = format!("look at the disk, then {} goes on from here", told.again);
        return Err(Failure::new(Kind::Infrastructure, text).hint(hint));
    }
    if let Some(why) = &end.uncontained {
        let text = format!("{why}; {missing} still to run; what ended is kept");
        let hint = format!(
            "end them (the row lists those that were seen), then {} goes on from here; suite.isolation: jail lets none get away",
            told.again
        );
        return Err(Failure::new(Kind::Infrastructure, text).hint(hint));
    }
    if end.cancelled {
        let text = format!("{missing} still to run; what ended is kept");
        let hint = onward(told, "goes on from here");
        return Err(Failure::new(Kind::Cancelled, text).hint(hint));
    }
    if end.missing > 0 && !end.left.is_empty() {
        let text = format!("{missing} without a result: {}", end.left.join("; "));
        let hint = onward(told, "goes on from here");
        return Err(Failure::new(Kind::TrialsFailed, text).hint(hint));
    }
    // A recording plays the same again: trying once more cannot help.
    if end.missing > 0 && (told.strict || !told.recorded) {
        let text = format!("{missing} without a result: something else than the agent decided");
        let hint = onward(told, "tries again");
        return Err(Failure::new(Kind::TrialsFailed, text).hint(hint));
    }
    if told.strict {
        strictly(totals)?;
    }
    let run_dir = RunDir::open(&end.run_dir);
    let edited = run_dir.ok().and_then(|run_dir| edited(&run_dir));
    edited.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// What the person can do: the same again, or more money where there is none left.
fn onward(told: &Told<'_>, again: &str) -> String {
    if told.end.out_of_budget {
        format!(
            "the same limits would start nothing; resume with a higher one ({}), or with one for each trial (--max-trial-cost-usd), which a trial of unknown cost then counts as",
            told.again
        )
    } else {
        format!("{} {again}", told.again)
    }
}

/// What `--strict` asks for: every trial passed, and with the agent that was asked for.
fn strictly(totals: Totals) -> Outcome<()> {
    let trials = counted(totals.trials, "trial");
    let failed = totals.trials - totals.passed;
    if failed > 0 {
        let text = format!("{failed} of {trials} did not pass (--strict)");
        return Err(Failure::new(Kind::TrialsFailed, text));
    }
    if totals.another_agent > 0 {
        let text = format!(
            "{} of {trials} did not run the agent that was asked for (--strict): see `attestation_flags` and `notes` of the rows",
            totals.another_agent
        );
        return Err(Failure::new(Kind::TrialsFailed, text));
    }
    Ok(())
}
