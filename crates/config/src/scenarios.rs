//! Scenarios: the built-in ones, those of `scenarios:`, and which of them run.

use std::collections::BTreeMap;
use std::path::Path;

use crate::built_in::{BUILT_IN, BuiltIn, built_in_ids, plain, reason_against};
use crate::fields::Fields;
use crate::files::Files;
use crate::mcp_paths;
use crate::node::{Node, Value};
use crate::problem::{Report, did_you_mean};
use crate::settings::{hosts, network};
use crate::tables::FILE;
use crate::{AgentKind, LeftOut, ScenarioSpec};
use proctor_model::ScenarioId;

/// What `scenarios:` and the built-in ones amount to.
#[derive(Debug, Default)]
pub(super) struct Scenarios {
    pub(super) run: Vec<ScenarioSpec>,
    pub(super) further: Vec<ScenarioSpec>,
    pub(super) left_out: Vec<LeftOut>,
}

/// What decides about scenarios, beside their own entries.
pub(super) struct Choice<'a, 'b> {
    /// `suite:`, for its `scenarios`.
    pub(super) suite: &'b Fields<'a>,
    /// `mcp:`, for its `enabled`.
    pub(super) mcp: &'b Fields<'a>,
    /// The project's folder.
    pub(super) project: Option<&'b Path>,
}

/// All scenarios, and which of them run.
pub(super) fn scenarios(
    entries: &[Fields<'_>],
    choice: &Choice<'_, '_>,
    files: &Files<'_>,
    report: &mut Report,
) -> Scenarios {
    let mcp_enabled = choice.mcp.boolean("enabled");
    let mut known = Vec::new();
    let mut left_out = Vec::new();
    let id_of = |entry: &Fields<'_>| entry.text_or_empty("id");
    for built_in in &BUILT_IN {
        let entry = entries.iter().find(|entry| id_of(entry) == built_in.id);
        match (entry, reason_against(built_in, mcp_enabled, files)) {
            (Some(entry), _) => {
                known.extend(scenario(Some(built_in), entry, files, report));
            }
            (None, None) => known.push(plain(built_in, files)),
            (None, Some(reason)) => left_out.extend(leave_out(built_in, reason)),
        }
    }
    for entry in entries {
        if built_in_ids().all(|id| id != id_of(entry)) {
            known.extend(scenario(None, entry, files, report));
        }
    }
    for scenario in &mut known {
        let entry = entries
            .iter()
            .find(|entry| id_of(entry) == scenario.id.as_str());
        let (fields, key) = entry.map_or((choice.mcp, "enabled"), |entry| (entry, "mcp_config"));
        let places = (files.base.folder(), choice.project);
        let (found, absent) = mcp_paths::of_servers(scenario, places);
        scenario.mcp_paths = found;
        for (server, word) in absent.into_iter().filter(|_| files.checked) {
            let message = format!(
                "the MCP server {server} names {word}, which is neither beside the config nor in the project"
            );
            report
                .error(fields.place_of(key), &fields.path(key), message)
                .hint("paths start from the config's folder; `\"cwd\": \".\"` lets those of a server start from the workspace");
        }
    }
    let scenarios = choose(known, left_out, choice.suite, report);
    let asked = !choice.suite.items("scenarios").is_empty();
    if mcp_enabled && !asked {
        warn_of_absence(&scenarios.left_out, choice.mcp, report);
    }
    scenarios
}

fn leave_out(built_in: &BuiltIn, reason: String) -> Option<LeftOut> {
    let id = ScenarioId::new(built_in.id).ok()?;
    Some(LeftOut { id, reason })
}

fn warn_of_absence(left_out: &[LeftOut], mcp: &Fields<'_>, report: &mut Report) {
    for absent in left_out {
        let expected = |built_in: &&BuiltIn| built_in.id == absent.id.as_str();
        if BUILT_IN
            .iter()
            .find(expected)
            .is_some_and(|found| found.is_expected)
        {
            let message = format!("the scenario {} is left out: {}", absent.id, absent.reason);
            report
                .warning(mcp.place_of("enabled"), &mcp.path("enabled"), message)
                .hint("add the file, or a scenarios: entry with that id and its own mcp_config");
        }
    }
}

/// One entry of `scenarios:`; what it leaves out is as in the built-in scenario that it changes.
fn scenario(
    built_in: Option<&BuiltIn>,
    fields: &Fields<'_>,
    files: &Files<'_>,
    report: &mut Report,
) -> Option<ScenarioSpec> {
    let start = built_in.map(|built_in| plain(built_in, files));
    let written = |name: &str| fields.is_written(name) || start.is_none();
    let inherited = |name: &str, value: fn(&ScenarioSpec) -> bool| match &start {
        Some(start) if !fields.is_written(name) => value(start),
        _ => fields.boolean(name),
    };
    let mcp_config = if written("mcp_config") {
        fields.path_value("mcp_config", files.base)
    } else {
        start.as_ref().and_then(|start| start.mcp_config.clone())
    };
    if let Some(path) = &mcp_config {
        check_mcp_config(path, fields, files, report);
    }
    Some(ScenarioSpec {
        id: ScenarioId::new(fields.text("id")?).ok()?,
        description: fields.text("description"),
        prompt_prefix: fields.text("prompt_prefix"),
        prompt_suffix: fields.text("prompt_suffix"),
        primed: inherited("primed", |start| start.primed),
        prefer_mcp: inherited("prefer_mcp", |start| start.prefer_mcp),
        mcp_config,
        mcp_paths: BTreeMap::new(),
        files: laid_files(&(fields, "files"), files, report),
        agent_args: agent_args(fields),
        env: fields.environment("env"),
        network: fields.text("network").map(|word| network(&word)),
        hosts: hosts(fields),
    })
}

fn check_mcp_config(path: &Path, fields: &Fields<'_>, files: &Files<'_>, report: &mut Report) {
    if !files.checked {
        return;
    }
    let place = fields.place_of("mcp_config");
    let key = fields.path("mcp_config");
    if !path.is_file() {
        report.error(place, &key, format!("{} is no file", path.display()));
        return;
    }
    let json = std::fs::read(path)
        .map_err(|error| error.to_string())
        .and_then(|bytes| {
            serde_json::from_slice::<serde_json::Value>(&bytes).map_err(|error| error.to_string())
        });
    let problem = match json {
        Ok(json)
            if json
                .get("mcpServers")
                .is_some_and(serde_json::Value::is_object) =>
        {
            return;
        }
        Ok(_) => "holds no mcpServers object".to_owned(),
        Err(error) => format!("is not JSON: {error}"),
    };
    report.error(place, &key, format!("{} {problem}", path.display()));
}

/// A list of files or folders with their places in the workspace.
pub(super) fn laid_files(
    (fields, key): &(&Fields<'_>, &str),
    files: &Files<'_>,
    report: &mut Report,
) -> Vec<(std::path::PathBuf, std::path::PathBuf)> {
    let mut laid = Vec::new();
    for file in fields.sections(key, &FILE) {
        let (Some(from), Some(to)) = (file.path_value("from", files.base), file.text("to")) else {
            continue;
        };
        files.expect(&from, &(&file, "from"), report);
        laid.push((from, to.into()));
    }
    laid
}

fn agent_args(fields: &Fields<'_>) -> Vec<(Option<AgentKind>, Vec<String>)> {
    let words = |items: &[Node]| -> Vec<String> {
        let words = items.iter().filter_map(Node::word);
        words.map(str::to_owned).collect()
    };
    match fields.get("agent_args").map(|node| &node.value) {
        Some(Value::List(items)) if !items.is_empty() => vec![(None, words(items))],
        Some(Value::Map(entries)) => entries
            .iter()
            .filter_map(|entry| {
                let kind = AgentKind::from_word(&entry.key)?;
                Some((Some(kind), words(entry.value.list()?)))
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Splits the known scenarios by `suite.scenarios`.
fn choose(
    mut known: Vec<ScenarioSpec>,
    left_out: Vec<LeftOut>,
    suite: &Fields<'_>,
    report: &mut Report,
) -> Scenarios {
    let asked = suite.items("scenarios");
    if asked.is_empty() {
        return Scenarios {
            run: known,
            further: Vec::new(),
            left_out,
        };
    }
    let mut run: Vec<ScenarioSpec> = Vec::new();
    for (index, node) in asked.iter().enumerate() {
        let id = node.text().unwrap_or_default();
        let key = format!("{}[{index}]", suite.path("scenarios"));
        if let Some(found) = known.iter().position(|scenario| scenario.id.as_str() == id) {
            run.push(known.remove(found));
        } else if let Some(absent) = left_out.iter().find(|absent| absent.id.as_str() == id) {
            let message = format!("the scenario {id} cannot run: {}", absent.reason);
            report.error(node.place, &key, message);
        } else if run.iter().any(|scenario| scenario.id.as_str() == id) {
            report.error(
                node.place,
                &key,
                format!("the scenario {id} is named twice"),
            );
        } else {
            let ids: Vec<&str> = run
                .iter()
                .chain(&known)
                .map(|scenario| scenario.id.as_str())
                .collect();
            let meant = did_you_mean(id, ids.iter().copied());
            report
                .error(
                    node.place,
                    &key,
                    format!("unknown scenario \"{id}\"{meant}"),
                )
                .hint(format!("known: {}", ids.join(", ")));
        }
    }
    Scenarios {
        run,
        further: known,
        left_out,
    }
}
