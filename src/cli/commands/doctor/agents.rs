//! Agents: which are on PATH, in which version, and what Codex's costs are asked of.

use std::ffi::OsStr;
use std::path::Path;

use crate::cli::commands::doctor::Patient;
use crate::cli::commands::doctor::check::{Check, State};
use proctor_agents::{
    KNOWN_AGENTS, OperatorHome, VersionSurroundings, find_on_path, login, profile, version,
};
use proctor_config::{AgentKind, AgentSpec};
use proctor_supervise::{Cancel, find_program, probe};

/// The agents of the suite, else those that are known.
pub(super) async fn check(patient: &Patient) -> Vec<Check> {
    let mut checks = Vec::new();
    match &patient.suite {
        Some(suite) => {
            for agent in &suite.agents {
                checks.push(of_suite(patient, agent).await);
            }
        }
        None => {
            for (place, (kind, name)) in KNOWN_AGENTS.into_iter().enumerate() {
                // Of the usual two it is told that they are not here, too.
                if place < 2 || find_on_path(kind, &patient.path).is_some() {
                    checks.push(known(patient, kind, name).await);
                }
            }
        }
    }
    checks.extend(ccusage(patient));
    checks
}

async fn of_suite(patient: &Patient, agent: &AgentSpec) -> Check {
    let check = |state, found: String| {
        Check::new(format!("agent {}", agent.id), state)
            .found(found)
            .needed_for("this suite")
    };
    if agent.kind == AgentKind::Replay {
        return check(State::Ok, "plays recordings: nothing is needed".to_owned());
    }
    let program = agent
        .command
        .first()
        .map(String::as_str)
        .unwrap_or_default();
    if program.contains('{') {
        return check(
            State::Warn,
            format!("{program} is known only when a trial starts"),
        );
    }
    let folder = patient
        .suite
        .as_ref()
        .map_or(Path::new("/"), |suite| suite.config_dir.as_path());
    match find_program(OsStr::new(program), &patient.path, folder) {
        Some(found) => {
            let check = check(State::Ok, told(patient, &found).await);
            let set = patient.suite.as_ref().map(|suite| &suite.settings.env);
            let is_set = |name: &str| {
                let by_config = agent.env.get(name).or_else(|| set?.get(name));
                by_config.is_some_and(|value| !value.is_empty()) || is_in_environment(name)
            };
            with_login(check, agent.kind, is_set)
        }
        None => check(State::Missing, format!("{program} is not on PATH"))
            .advice("install it, or leave the agent out with --agents"),
    }
}

async fn known(patient: &Patient, kind: AgentKind, name: &str) -> Check {
    let check = |state, found: String| {
        Check::new(format!("agent {name}"), state)
            .found(found)
            .needed_for("a suite that measures it")
    };
    match find_on_path(kind, &patient.path) {
        Some(found) => {
            let check = check(State::Ok, told(patient, &found).await);
            with_login(check, kind, is_in_environment)
        }
        None => check(State::Warn, "not on PATH".to_owned())
            .advice("install it, where you want to measure it"),
    }
}

fn is_in_environment(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// Adds how the agent is logged in. Without a key or a login file it may still be, by other means: that is told, and no fault.
fn with_login(check: Check, kind: AgentKind, is_set: impl Fn(&str) -> bool) -> Check {
    let keys = profile(kind).keys;
    if keys.is_empty() {
        return check;
    }
    let found = &check.found;
    if let Some(login) = login(kind, &OperatorHome::from_env(), is_set).told() {
        let found = format!("{found}; {login}");
        return check.found(found);
    }
    let found = format!("{found}; no login found: neither a key nor a login file");
    let advice = format!(
        "log in with it once, or set {}; not needed where it is logged in by other means",
        keys.join(" or ")
    );
    Check {
        state: State::Warn,
        ..check.found(found).advice(advice)
    }
}

async fn told(patient: &Patient, program: &Path) -> String {
    let surroundings = VersionSurroundings {
        path: &patient.path,
        home: patient.scratch.path(),
        isolation: probe().level,
        cancel: &Cancel::new(),
    };
    match version(program, surroundings).await {
        Some(version) => format!("{version} at {}", program.display()),
        None => format!("{} (says no version)", program.display()),
    }
}

/// `npx` runs ccusage, which is asked for the costs of Codex trials; without it they are computed.
fn ccusage(patient: &Patient) -> Option<Check> {
    let suite = patient.suite.as_ref()?;
    let asked = suite.settings.use_ccusage_for_codex
        && suite
            .agents
            .iter()
            .any(|agent| agent.kind == AgentKind::Codex);
    if !asked {
        return None;
    }
    let check = |state| Check::new("npx", state).needed_for("costs of Codex trials by ccusage");
    Some(
        match find_program(OsStr::new("npx"), &patient.path, Path::new("/")) {
            Some(found) => check(State::Ok).found(found.display().to_string()),
            None => check(State::Warn)
                .found("not on PATH: costs are computed from `pricing`")
                .advice("install Node, or set suite.use_ccusage_for_codex: false"),
        },
    )
}
