//! Programs that setup commands and graders of the suite call by name.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use crate::cli::commands::doctor::Patient;
use crate::cli::commands::doctor::check::{Check, State};
use crate::runner::lacking;
use proctor_config::{GraderSpec, Suite};
use proctor_supervise::find_program;

/// One check for each program, with the tasks that call it.
pub(super) async fn check(patient: &Patient) -> Vec<Check> {
    let Some(suite) = &patient.suite else {
        return Vec::new();
    };
    let lacks = lacking(suite).await;
    let named = named(suite);
    let checks = named.iter().map(|(program, tasks)| {
        let found = find_program(OsStr::new(program), &patient.path, Path::new("/"));
        let check = |state| {
            Check::new(format!("program {program}"), state)
                .needed_for(format!("task {}", tasks.join(", ")))
        };
        let lack = lacks.iter().find(|lack| lack.program == *program);
        match (lack, found) {
            (Some(lack), _) => check(State::absent(lack.is_certain))
                .found(lack.what.clone())
                .advice(lack.advice.clone()),
            (None, Some(found)) => check(State::Ok).found(found.display().to_string()),
            (None, None) => check(State::Warn).found("found only on a PATH of the suite's own"),
        }
    });
    checks.collect()
}

/// Programs without a slash: others lie in the workspace, which is not there yet.
fn named(suite: &Suite) -> BTreeMap<&str, Vec<&str>> {
    let mut named: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for task in &suite.tasks {
        let graders = task.graders.iter().filter_map(|grader| match grader {
            GraderSpec::Command { argv, .. } => argv.first(),
            _ => None,
        });
        let setups = task.setup_commands.iter().filter_map(|argv| argv.first());
        for program in graders
            .chain(setups)
            .filter(|program| !program.contains('/'))
        {
            let tasks = named.entry(program).or_default();
            if tasks.last() != Some(&task.id.as_str()) {
                tasks.push(task.id.as_str());
            }
        }
    }
    named
}
