//! Programs that setup commands and graders call: those that are not here, and toolchains that are not behind them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::runner::{RunError, RunRequest};
use crate::trial::{ProgressSink, base_environment, program_path};
use proctor_config::{AgentKind, AgentSpec, GraderSpec, ProjectSource, Suite, TaskSpec};
use proctor_model::Progress;
use proctor_supervise::{Cancel, ChildSpec, capture, find_program};

/// How long a toolchain may take to say that it is there.
const LIMIT: Duration = Duration::from_secs(10);

/// A program that would not run, in any trial of some tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// Its name.
    pub program: String,
    /// The tasks that call it.
    pub tasks: Vec<String>,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub advice: String,
    /// Whether those tasks can only fail; otherwise an earlier setup command may bring it.
    pub is_certain: bool,
}

impl Lack {
    /// All of it as one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        format!(
            "task {}: {}; {}",
            self.tasks.join(", "),
            self.what,
            self.advice
        )
    }
}

/// Looks for the agents' programs: each that is missing is a sentence that names it and what to do.
///
/// # Errors
/// Some are not on PATH.
pub(super) fn find_agents(request: &RunRequest) -> Result<(), RunError> {
    let operator_env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let base_env = base_environment(&operator_env, &request.suite.settings.env_pass);
    let path = program_path(&base_env);
    let real = request
        .suite
        .agents
        .iter()
        .filter(|agent| agent.kind != AgentKind::Replay);
    let missing: Vec<String> = real
        .filter_map(|agent| missing_program(agent, &path, &request.suite.config_dir))
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(RunError::Missing(missing))
    }
}

/// Looks for the programs of setup commands and graders. Those that an earlier setup command may bring are reported.
///
/// # Errors
/// Some tasks could only fail here.
pub(super) async fn find_programs(
    request: &RunRequest,
    progress: &ProgressSink,
) -> Result<(), RunError> {
    let (certain, possible): (Vec<Lack>, Vec<Lack>) = lacking(&request.suite)
        .await
        .into_iter()
        .partition(|lack| lack.is_certain);
    if !certain.is_empty() {
        return Err(RunError::Missing(
            certain.iter().map(Lack::sentence).collect(),
        ));
    }
    for lack in possible {
        let text = format!(
            "unless an earlier setup command brings it: {}",
            lack.sentence()
        );
        progress.report(Progress::Notice { text });
    }
    Ok(())
}

fn missing_program(agent: &AgentSpec, path: &OsStr, config_dir: &Path) -> Option<String> {
    let program = agent
        .command
        .first()
        .filter(|program| !program.contains('{'))?;
    if find_program(OsStr::new(program), path, config_dir).is_some() {
        return None;
    }
    let advice = "install it, or leave the agent out with --agents";
    Some(format!(
        "agent {}: {program} is not on PATH; {advice}",
        agent.id
    ))
}

/// Who calls a program.
#[derive(Debug, Default)]
struct Callers {
    tasks: Vec<String>,
    /// Whether one of them can only fail without it. What only a setup command calls may have been brought by the one before
    /// it; graders get programs of this machine.
    is_needed: bool,
}

/// What the setup commands and graders of a suite would lack on this machine, in the environment that they get.
pub async fn lacking(suite: &Suite) -> Vec<Lack> {
    let operator_env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let mut env = base_environment(&operator_env, &suite.settings.env_pass);
    for (name, value) in &suite.settings.env {
        env.retain(|(known, _)| known != name);
        env.push((name.clone(), value.into()));
    }
    let path = program_path(&env);
    let mut lacks = Vec::new();
    for (program, callers) in called(suite) {
        let found = find_program(OsStr::new(program), &path, Path::new("/"));
        let lack = match found {
            None => Some(absent(program, callers)),
            Some(found) => without_toolchain(program, &found, suite, &env)
                .await
                .map(|what| Lack {
                    program: program.to_owned(),
                    tasks: callers.tasks,
                    what,
                    advice: "run `rustup default stable`, or set RUSTUP_HOME to where the toolchains are".to_owned(),
                    is_certain: true,
                }),
        };
        lacks.extend(lack);
    }
    lacks
}

fn absent(program: &str, callers: Callers) -> Lack {
    Lack {
        program: program.to_owned(),
        what: format!("{program} is not on PATH"),
        advice: "install it, or leave the task out with --task-ids".to_owned(),
        is_certain: callers.is_needed,
        tasks: callers.tasks,
    }
}

/// Programs by name; those with a relative path lie in the workspace, which is not there yet.
fn called(suite: &Suite) -> BTreeMap<&str, Callers> {
    let mut called: BTreeMap<&str, Callers> = BTreeMap::new();
    for task in &suite.tasks {
        for (program, is_needed) in of_task(task) {
            if program.contains('/') && !program.starts_with('/') {
                continue;
            }
            let callers = called.entry(program).or_default();
            callers.is_needed |= is_needed;
            let id = task.id.to_string();
            if !callers.tasks.contains(&id) {
                callers.tasks.push(id);
            }
        }
    }
    called
}

fn of_task(task: &TaskSpec) -> Vec<(&str, bool)> {
    let setup = task.setup_commands.iter().enumerate();
    let setup = setup.filter_map(|(place, argv)| Some((argv.first()?.as_str(), place == 0)));
    let graders = task.graders.iter().filter_map(|grader| match grader {
        GraderSpec::Command { argv, env, .. } if env.iter().all(|(name, _)| name != "PATH") => {
            Some((argv.first()?.as_str(), true))
        }
        _ => None,
    });
    setup.chain(graders).collect()
}

/// What a program of rustup says when there is no toolchain behind it; `None` for all other programs.
async fn without_toolchain(
    program: &str,
    found: &Path,
    suite: &Suite,
    env: &[(String, OsString)],
) -> Option<String> {
    if !is_rustup(found) {
        return None;
    }
    let folder = match &suite.project.source {
        ProjectSource::Repository(path) | ProjectSource::Template(path) => path,
    };
    let mut env: Vec<(OsString, OsString)> = env
        .iter()
        .map(|(name, value)| (name.into(), value.clone()))
        .collect();
    // A toolchain that the project names is fetched by the trial that needs it, not here.
    env.push(("RUSTUP_AUTO_INSTALL".into(), "0".into()));
    let argv = vec![found.as_os_str().to_owned(), "--version".into()];
    let spec = ChildSpec::helper(argv, folder, env, LIMIT);
    let (ending, output) = capture(&spec, 64 * 1024, &Cancel::new()).await;
    let said = String::from_utf8_lossy(&output.stderr);
    let none = ["no default is configured", "rustup could not choose"];
    let is_without = !ending.succeeded() && none.iter().any(|words| said.contains(words));
    is_without.then(|| {
        format!(
            "{program} at {} is rustup's, and rustup has no toolchain here",
            found.display()
        )
    })
}

/// Whether a program is a link to the `rustup` beside it.
fn is_rustup(found: &Path) -> bool {
    let real = |path: &Path| -> Option<(PathBuf, u64)> {
        let path = fs::canonicalize(path).ok()?;
        let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(&path).ok()?);
        Some((path, inode))
    };
    let beside = found.with_file_name("rustup");
    match (real(found), real(&beside)) {
        (Some((found, one)), Some((rustup, other))) => {
            found == rustup || one == other && found.parent() == rustup.parent()
        }
        _ => false,
    }
}
