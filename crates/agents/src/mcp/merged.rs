//! Servers that opencode would make of two: the scenario's, and one of the same name in settings that it reads.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::InvocationError;
use crate::home::OperatorHome;
use crate::mcp::further::{
    OPENCODE_FILES, opencode_entry, opencode_files, opencode_mcp, opencode_settings_named,
    opencode_settings_of_homes,
};
use crate::mcp::on;
use crate::mcp::organisation::refuse_organisation;
use proctor_config::{AgentSpec, ScenarioSpec, Settings};

/// The operator's home without what opencode does not see of it: a jail shows neither `~/.opencode` nor what variables name, unless
/// it is lent. Settings of the usual folder are copied into it.
#[must_use]
pub fn seen_by_opencode(operator: OperatorHome, is_shown: impl Fn(&Path) -> bool) -> OperatorHome {
    let holds_any = |folder: &PathBuf| {
        let mut files = OPENCODE_FILES.iter().map(|name| folder.join(name));
        files.any(|file| is_shown(&file))
    };
    OperatorHome {
        opencode_in_home: operator.opencode_in_home.filter(holds_any),
        opencode_folder: operator.opencode_folder.filter(holds_any),
        opencode_file: operator.opencode_file.filter(|file| is_shown(file)),
        ..operator
    }
}

/// Files of settings to which the variables of opencode lead, those of the suite and the operator's, and those of a home that the suite names.
pub(crate) fn opencode_besides(
    (agent, scenario, settings): (&AgentSpec, &ScenarioSpec, &Settings),
    operator: &OperatorHome,
    workdir: &Path,
) -> Vec<PathBuf> {
    let set = [&agent.env, &scenario.env, &settings.env];
    let by_suite = set.iter().flat_map(|env| {
        let value = |name: &str| env.get(name).map(PathBuf::from);
        let named = opencode_settings_named(value, workdir).into_iter();
        let named = named.map(|(_, file)| file);
        named.chain(opencode_settings_of_homes(value))
    });
    by_suite
        .chain(named_by_operator(operator, workdir))
        .collect()
}

/// Those of the operator's variables. Whether such a file is lent is known where the environment is made: what is taken for seen in
/// vain harms nobody.
pub(super) fn named_by_operator(operator: &OperatorHome, workdir: &Path) -> Vec<PathBuf> {
    let by_operator = |name: &str| match name {
        "OPENCODE_CONFIG" => operator.opencode_file.clone(),
        _ => operator.opencode_folder.clone(),
    };
    let named = opencode_settings_named(by_operator, workdir).into_iter();
    named.map(|(_, file)| file).collect()
}

/// Refuses servers of a scenario that would not be what the scenario says: opencode merges settings key by key, so that keys of
/// a server of the same name that the scenario's has not, such as a variable or a time limit, would be in it. So is a login by
/// which opencode fetches further settings, whatever the scenario is.
///
/// # Errors
/// The file and the key, and what to do; or the scenario's file cannot be read.
pub fn opencode_merges(
    whose: (&AgentSpec, &ScenarioSpec, &Settings),
    operator: &OperatorHome,
    workdir: &Path,
) -> Result<(), InvocationError> {
    let (_, scenario, settings) = whose;
    refuse_organisation(whose, operator)?;
    let Some(config) = scenario.mcp_config.as_deref() else {
        return Ok(());
    };
    let besides = opencode_besides(whose, operator, workdir);
    let home = operator.shown_under(settings);
    let servers = on(config)?;
    for file in opencode_files(&home, workdir, besides) {
        let theirs = opencode_mcp(&file);
        for (name, server) in &servers {
            let ours = opencode_entry(server);
            let added = theirs.get(name).and_then(|theirs| added(theirs, &ours));
            if let Some(key) = added {
                let problem = format!(
                    "mcp.{name}{key} would be in the scenario's server {name}, since opencode makes one of two servers of the same name; take the key out while you measure, or call one of the servers otherwise"
                );
                return Err(InvocationError::Mcp {
                    path: file,
                    problem,
                });
            }
        }
    }
    Ok(())
}

/// The first key of `theirs` that stays where `ours` is merged over it, with a dot before each of its parts.
fn added(theirs: &Value, ours: &Value) -> Option<String> {
    let (theirs, ours) = (theirs.as_object()?, ours.as_object()?);
    theirs.iter().find_map(|(key, value)| match ours.get(key) {
        Some(known) => Some(format!(".{key}{}", added(value, known)?)),
        None => Some(format!(".{key}")),
    })
}
