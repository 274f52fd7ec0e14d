//! A part of a suite: the tasks, agents and scenarios that a person names.

use crate::problem::did_you_mean;
use crate::{ScenarioSpec, Suite};

/// Ids to keep; an empty list keeps all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// `--task-ids`
    pub task_ids: Vec<String>,
    /// `--agents`
    pub agents: Vec<String>,
    /// `--scenarios`; these may also be scenarios that do not run by default.
    pub scenarios: Vec<String>,
}

/// An id that nothing has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {dimension} \"{id}\"{detail}; known: {known}")]
pub struct UnknownId {
    /// `task`, `agent` or `scenario`.
    pub dimension: &'static str,
    /// The id.
    pub id: String,
    /// The nearest known one, or why it cannot be had.
    pub detail: String,
    /// The known ones.
    pub known: String,
}

/// All ids of the command line that nothing has; displayed a line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(.0))]
pub struct UnknownIds(pub Vec<UnknownId>);

fn lines(unknown: &[UnknownId]) -> String {
    let lines: Vec<String> = unknown.iter().map(UnknownId::to_string).collect();
    lines.join("\n")
}

impl Suite {
    /// The suite with what `filter` names alone, in the suite's own order. Other agents stay known as
    /// `further_agents`.
    ///
    /// # Errors
    /// All ids that are unknown, with the known ones.
    pub fn filtered(&self, filter: &Filter) -> Result<Self, UnknownIds> {
        let unknown = self.unknown(filter);
        if !unknown.is_empty() {
            return Err(UnknownIds(unknown));
        }
        let mut part = self.clone();
        part.tasks
            .retain(|task| keeps(&filter.task_ids, task.id.as_str()));
        let (chosen, others): (Vec<_>, Vec<_>) = part
            .agents
            .into_iter()
            .partition(|agent| keeps(&filter.agents, agent.id.as_str()));
        part.agents = chosen;
        part.further_agents.extend(others);
        if !filter.scenarios.is_empty() {
            let chosen = self
                .all_scenarios()
                .filter(|scenario| keeps(&filter.scenarios, scenario.id.as_str()));
            part.scenarios = chosen.cloned().collect();
        }
        Ok(part)
    }

    fn all_scenarios(&self) -> impl Iterator<Item = &ScenarioSpec> {
        self.scenarios.iter().chain(&self.further_scenarios)
    }

    fn unknown(&self, filter: &Filter) -> Vec<UnknownId> {
        let tasks: Vec<&str> = self.tasks.iter().map(|task| task.id.as_str()).collect();
        let agents: Vec<&str> = self.agents.iter().map(|agent| agent.id.as_str()).collect();
        let scenarios: Vec<&str> = self
            .all_scenarios()
            .map(|scenario| scenario.id.as_str())
            .collect();
        let mut unknown = unknown("task", &filter.task_ids, &tasks);
        unknown.extend(self::unknown("agent", &filter.agents, &agents));
        let named = self::unknown("scenario", &filter.scenarios, &scenarios);
        unknown.extend(named.into_iter().map(|unknown| self.explained(unknown)));
        unknown
    }

    /// With the reason why a scenario that there is does not apply.
    fn explained(&self, mut unknown: UnknownId) -> UnknownId {
        let mut left_out = self.left_out.iter();
        if let Some(absent) = left_out.find(|absent| absent.id.as_str() == unknown.id) {
            unknown.detail = format!(", which is left out: {}", absent.reason);
        }
        unknown
    }
}

fn keeps(ids: &[String], id: &str) -> bool {
    ids.is_empty() || ids.iter().any(|wanted| wanted == id)
}

fn unknown(dimension: &'static str, ids: &[String], known: &[&str]) -> Vec<UnknownId> {
    let unknown = ids.iter().filter(|id| !known.contains(&id.as_str()));
    let told = unknown.map(|id| UnknownId {
        dimension,
        id: id.clone(),
        detail: did_you_mean(id, known.iter().copied()),
        known: known.join(", "),
    });
    told.collect()
}
