//! Ids across a suite: given twice, unknown, or leading to the same folder.

use std::collections::HashMap;

use crate::Suite;
use crate::built_in::built_in_ids;
use crate::fields::Fields;
use crate::node::Node;
use crate::problem::{Place, Report, Severity, did_you_mean};

/// More cells than this are not compared: such a run would take years.
const MOST_CELLS: usize = 1_000_000;

/// Says which ids are given twice, letter case aside.
pub(super) fn duplicate_ids(noun: &str, entries: &[Fields<'_>], report: &mut Report) {
    let mut seen: HashMap<String, (String, Place)> = HashMap::new();
    for entry in entries {
        let Some(id) = entry.text("id") else { continue };
        let place = entry.place_of("id");
        let Some((first, at)) = seen.get(&id.to_lowercase()) else {
            seen.insert(id.to_lowercase(), (id, place));
            continue;
        };
        let aside = if *first == id {
            ""
        } else {
            ", letter case aside"
        };
        let message = format!(
            "the {noun} \"{id}\" is given twice{aside}, first at line {} column {}",
            at.line, at.column
        );
        report
            .error(place, &entry.path("id"), message)
            .hint("give it another id");
    }
}

/// Says which names in `suite:` mean nothing in the lists of (agents, scenarios).
pub(super) fn unknown_names(
    suite: &Fields<'_>,
    (agents, scenarios): (&[Fields<'_>], &[Fields<'_>]),
    report: &mut Report,
) {
    let ids = |entries: &[Fields<'_>]| -> Vec<String> {
        entries
            .iter()
            .filter_map(|entry| entry.text("id"))
            .collect()
    };
    let mut known: Vec<String> = built_in_ids().map(str::to_owned).collect();
    for id in ids(scenarios) {
        if !known.contains(&id) {
            known.push(id);
        }
    }
    for name in ["scenario_timeouts_sec", "scenario_stall_timeouts_sec"] {
        let entries = suite.get(name).and_then(Node::map).unwrap_or_default();
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key)) {
            let path = format!("{}.{}", suite.path(name), entry.key);
            let meant = did_you_mean(&entry.key, known.iter().map(String::as_str));
            report
                .error(
                    entry.key_place,
                    &path,
                    format!("no scenario has this id{meant}"),
                )
                .hint(format!("known: {}", known.join(", ")));
        }
    }
    report_agent(suite, &ids(agents), report);
}

/// The agent that writes reports must be there when a report is asked for.
fn report_agent(suite: &Fields<'_>, agents: &[String], report: &mut Report) {
    let name = "post_run_report_agent";
    let Some(id) = suite.text(name).filter(|id| !agents.contains(id)) else {
        return;
    };
    let meant = did_you_mean(&id, agents.iter().map(String::as_str));
    let message = format!("no agent has the id \"{id}\"{meant}");
    let is_needed = suite.boolean("post_run_report") || suite.boolean("failure_analysis");
    let severity = if is_needed {
        Severity::Error
    } else {
        Severity::Warning
    };
    let place = suite.place_of(name);
    let problem = match severity {
        Severity::Error => report.error(place, &suite.path(name), message),
        Severity::Warning => report.warning(place, &suite.path(name), message),
    };
    problem.hint(format!("known: {}", agents.join(", ")));
}

/// Two cells that would share a folder.
pub(super) struct Collision {
    /// The list that holds the second one's id: `agents` or `tasks`.
    pub(super) list: &'static str,
    /// Where in that list.
    pub(super) at: usize,
    /// What is told of it.
    pub(super) message: String,
}

/// The first two cells that would share a folder: ids are joined with '-', which they may also hold.
pub(super) fn colliding_names(suite: &Suite) -> Option<Collision> {
    let scenarios: Vec<_> = suite
        .scenarios
        .iter()
        .chain(&suite.further_scenarios)
        .collect();
    if suite.agents.len() * scenarios.len() * suite.tasks.len() > MOST_CELLS {
        return None;
    }
    let mut seen = HashMap::new();
    for (agent_at, agent) in suite.agents.iter().enumerate() {
        for scenario in &scenarios {
            for (task_at, task) in suite.tasks.iter().enumerate() {
                let name = format!("{}-{}-{}", agent.id, scenario.id, task.id).to_lowercase();
                let message = format!("two cells would share the folder name {name}");
                let Some(first) = seen.insert(name, task_at) else {
                    continue;
                };
                // Two ids differ at least: those of the tasks, or those of agent and scenario.
                let (list, at) = if first == task_at {
                    ("agents", agent_at)
                } else {
                    ("tasks", task_at)
                };
                return Some(Collision { list, at, message });
            }
        }
    }
    None
}
