//! A part of a suite: the tasks, agents and scenarios that a person names.

use crate::config::problem::did_you_mean;
use crate::config::{ScenarioSpec, Suite};

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

impl Suite {
    /// The suite with what `filter` names alone, in the suite's own order. Other agents stay known as
    /// `further_agents`.
    ///
    /// # Errors
    /// The first id that is unknown, with the known ones.
    pub fn filtered(&self, filter: &Filter) -> Result<Self, UnknownId> {
        let known =
            |ids: Vec<&str>| -> Vec<String> { ids.into_iter().map(str::to_owned).collect() };
        let agents = known(self.agents.iter().map(|agent| agent.id.as_str()).collect());
        let tasks = known(self.tasks.iter().map(|task| task.id.as_str()).collect());
        check("task", &filter.task_ids, &tasks)?;
        check("agent", &filter.agents, &agents)?;
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
            part.scenarios = self.chosen_scenarios(&filter.scenarios)?;
        }
        Ok(part)
    }

    fn chosen_scenarios(&self, ids: &[String]) -> Result<Vec<ScenarioSpec>, UnknownId> {
        let all: Vec<_> = self
            .scenarios
            .iter()
            .chain(&self.further_scenarios)
            .collect();
        let known: Vec<String> = all
            .iter()
            .map(|scenario| scenario.id.as_str().to_owned())
            .collect();
        check("scenario", ids, &known).map_err(|mut unknown| {
            let absent = self
                .left_out
                .iter()
                .find(|absent| absent.id.as_str() == unknown.id);
            if let Some(absent) = absent {
                unknown.detail = format!(", which is left out: {}", absent.reason);
            }
            unknown
        })?;
        let chosen = all
            .into_iter()
            .filter(|scenario| keeps(ids, scenario.id.as_str()));
        Ok(chosen.cloned().collect())
    }
}

fn keeps(ids: &[String], id: &str) -> bool {
    ids.is_empty() || ids.iter().any(|wanted| wanted == id)
}

fn check(dimension: &'static str, ids: &[String], known: &[String]) -> Result<(), UnknownId> {
    match ids.iter().find(|id| !known.contains(id)) {
        None => Ok(()),
        Some(id) => Err(UnknownId {
            dimension,
            id: id.clone(),
            detail: did_you_mean(id, known.iter().map(String::as_str)),
            known: known.join(", "),
        }),
    }
}
