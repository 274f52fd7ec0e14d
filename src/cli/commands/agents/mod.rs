//! `proctor agents`: the kinds of agents, what this machine has of them, and what holds with the real one.

mod held;
mod probe;
mod stage;

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::args::{AgentsArgs, AgentsCommand};
use crate::cli::columns::columns;
use crate::cli::failure::{Failure, Outcome};
use crate::cli::out::{Colour, Out};
use proctor_agents::{
    Login, OperatorHome, VersionSurroundings, find_on_path, login, profile, version,
};
use proctor_config::AgentKind;
use proctor_supervise::{self, Cancel};

/// Lists the kinds, or probes one.
pub(in crate::cli) fn run(args: &AgentsArgs) -> Outcome<ExitCode> {
    if let Some(AgentsCommand::Probe(args)) = &args.what {
        return probe::run(args);
    }
    let scratch =
        tempfile::tempdir().map_err(|error| Failure::at("create a temporary folder", error))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::at("start the runtime", error))?
        .block_on(all(&path, scratch.path()));
    let mut out = Out::new(Colour::AUTO);
    if args.json {
        let kinds: Vec<Value> = found.iter().map(Found::document).collect();
        out.json(&json!({"schema": 1, "kinds": kinds}))?;
    } else {
        let rows: Vec<Vec<String>> = found.iter().map(Found::cells).collect();
        out.text(columns(&rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What this machine has of one kind.
struct Found {
    kind: AgentKind,
    program: Option<&'static str>,
    path: Option<std::path::PathBuf>,
    version: Option<String>,
    login: Login,
}

async fn all(path: &OsStr, scratch: &Path) -> Vec<Found> {
    let operator = OperatorHome::from_env();
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let mut all = Vec::new();
    for kind in AgentKind::ALL {
        let found = find_on_path(kind, path);
        let version = match &found {
            Some(program) => {
                let surroundings = VersionSurroundings {
                    path,
                    home: scratch,
                    isolation: proctor_supervise::probe().level,
                    cancel: &Cancel::new(),
                };
                version(program, surroundings).await
            }
            None => None,
        };
        all.push(Found {
            kind,
            program: profile(kind).command.first().copied(),
            path: found,
            version,
            login: login(kind, &operator, is_set),
        });
    }
    all
}

impl Found {
    /// What is missing, as a fragment.
    fn missing(&self) -> Option<String> {
        let program = self.program?;
        match (&self.path, &self.version, &self.login) {
            (None, _, _) => Some(format!("{program} is not on PATH")),
            (_, None, _) => Some(format!("{program} --version says nothing: is it whole?")),
            (_, _, Login::Unknown) => Some("neither a key nor a login file was found".to_owned()),
            _ => None,
        }
    }

    fn cells(&self) -> Vec<String> {
        let told = match (self.program, &self.path) {
            (None, _) => vec!["built in".to_owned()],
            (Some(_), None) => Vec::new(),
            (Some(_), Some(path)) => {
                let version = self.version.as_deref().unwrap_or("says no version");
                vec![
                    format!("{version} at {}", path.display()),
                    self.login.told().unwrap_or_default(),
                ]
            }
        };
        let told: Vec<String> = told.into_iter().filter(|part| !part.is_empty()).collect();
        let missing = self.missing().map(|missing| format!("missing: {missing}"));
        let told: Vec<String> = told.into_iter().chain(missing).collect();
        vec![self.kind.as_str().to_owned(), told.join("; ")]
    }

    fn document(&self) -> Value {
        json!({
            "kind": self.kind.as_str(), "program": self.program, "path": self.path, "version": self.version,
            "login": self.login.told(), "missing": self.missing(),
        })
    }
}
