//! `proctor doctor`: what this machine has, what is missing, for what, and what to do.

mod agents;
mod apple;
mod check;
mod isolation;
mod machine;
mod programs;
mod shims;

use std::ffi::OsString;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use serde_json::json;

use crate::cli::args::DoctorArgs;
use crate::cli::columns::columns;
use crate::cli::failure::{Failure, Kind, Outcome};
use crate::cli::interrupt;
use crate::cli::out::{Colour, Out};
use crate::cli::suite::{config_here, tasks_for};
use check::{Check, State};
use proctor_config::{LoadRequest, Suite, load};

/// What the checks look at.
pub(super) struct Patient {
    /// The suite whose needs count.
    suite: Option<Suite>,
    /// The operator's PATH.
    path: OsString,
    /// A temporary folder for what is tried.
    scratch: tempfile::TempDir,
}

/// Examines this machine; 2 when something is missing that the suite, or any run, needs.
pub(in crate::cli) fn run(args: &DoctorArgs) -> Outcome<ExitCode> {
    let scratch =
        tempfile::tempdir().map_err(|error| Failure::at("create a temporary folder", error))?;
    let (suite, config) = suite(args);
    let patient = Patient {
        suite,
        path: std::env::var_os("PATH").unwrap_or_default(),
        scratch,
    };
    let checks = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::at("start the runtime", error))?
        .block_on(async {
            let stopped = interrupt::first()?;
            tokio::select! {
                checks = examine(&patient, config) => Ok(checks),
                // Whatever it has started goes with it.
                () = stopped => Err(Failure::new(Kind::Cancelled, "the examination was stopped")),
            }
        })?;
    let mut out = Out::new(Colour::AUTO);
    if args.json {
        out.json(&document(&checks))?;
    } else {
        out.text(page(&checks))?;
    }
    match checks
        .iter()
        .filter(|check| check.state == State::Missing)
        .count()
    {
        0 => Ok(ExitCode::SUCCESS),
        1 => Err(Failure::new(Kind::Infrastructure, "one thing is missing")),
        missing => Err(Failure::new(
            Kind::Infrastructure,
            format!("{missing} things are missing"),
        )),
    }
}

/// The suite of this folder or the one that is named, and what there is to say of it.
fn suite(args: &DoctorArgs) -> (Option<Suite>, Check) {
    let check = |state, found: String| {
        Check::new("suite", state)
            .found(found)
            .needed_for("a run of your own")
    };
    let Some(config) = config_here(args.config.as_deref()) else {
        let check = check(State::Warn, "no config.yaml in this folder".to_owned());
        return (
            None,
            check.advice("`proctor init` writes one; without one, `proctor run` runs the demo"),
        );
    };
    let tasks = tasks_for(&config, args.tasks.as_deref());
    let request = LoadRequest {
        config: &config,
        tasks: &tasks,
        check_files: true,
    };
    match load(&request) {
        Ok(suite) => {
            let (agents, scenarios) = (suite.agents.len(), suite.scenarios.len());
            let found = format!(
                "{}: {agents} agents, {scenarios} scenarios, {} tasks",
                config.display(),
                suite.tasks.len()
            );
            (Some(suite), check(State::Ok, found))
        }
        Err(problems) => {
            let count = problems.errors().count() + problems.untold;
            let first = problems
                .errors()
                .next()
                .map(proctor_config::Problem::sentence)
                .unwrap_or_default();
            let check = check(
                State::Missing,
                format!("{count} problems, the first: {first}"),
            );
            (
                None,
                check.advice("`proctor run --dry-run` lists all of them"),
            )
        }
    }
}

async fn examine(patient: &Patient, suite: Check) -> Vec<Check> {
    let mut checks = vec![suite, machine::git()];
    checks.extend(machine::project(patient));
    checks.extend(machine::folders(patient).await);
    checks.push(isolation::check(patient));
    checks.extend(isolation::network(patient));
    checks.extend(shims::check(patient).await);
    checks.extend(agents::check(patient).await);
    checks.extend(programs::check(patient).await);
    checks.extend(apple::servers(patient));
    checks.extend(apple::checks(patient).await);
    checks
}

fn page(checks: &[Check]) -> String {
    let rows: Vec<Vec<String>> = checks
        .iter()
        .map(|check| {
            vec![
                painted(check.state),
                check.name.clone(),
                check.found.clone(),
            ]
        })
        .collect();
    let all = columns(&rows);
    let lines = all.lines().zip(checks).flat_map(|(line, check)| {
        let is_odd = check.state != State::Ok;
        let why = is_odd.then(|| format!("         needed for: {}", check.needed_for));
        let advice = check.advice.as_ref().filter(|_| is_odd);
        let advice = advice.map(|advice| format!("         to do: {advice}"));
        [Some(line.to_owned()), why, advice].into_iter().flatten()
    });
    lines.map(|line| line + "\n").collect()
}

fn painted(state: State) -> String {
    let style = match state {
        State::Ok => AnsiColor::Green.on_default(),
        State::Warn => AnsiColor::Yellow.on_default(),
        State::Missing => Style::new().bold().fg_color(Some(AnsiColor::Red.into())),
    };
    format!("{style}{:<7}{style:#}", state.word())
}

fn document(checks: &[Check]) -> serde_json::Value {
    let each = checks.iter().map(|check| {
        json!({"name": check.name, "state": check.state.word(), "found": check.found,
            "needed_for": check.needed_for, "to_do": check.advice})
    });
    json!({"schema": 1, "checks": each.collect::<Vec<_>>()})
}
