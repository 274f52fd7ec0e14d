//! Counts by {agent, scenario}.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::markdown_text::{escape, table};
use proctor_record::Row;

/// What was counted of one agent in one scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Arm {
    /// The agent.
    pub agent_id: String,
    /// The scenario.
    pub scenario: String,
    /// Trials that were looked at.
    pub trials: usize,
    /// What was found, by kind.
    pub found: BTreeMap<String, u64>,
}

/// The arm of a row, made where it is new.
pub(super) fn arm_of<'a>(arms: &'a mut Vec<Arm>, row: &Row) -> &'a mut Arm {
    let key = (row.agent_id.as_str(), row.scenario.as_str());
    let place = match arms
        .binary_search_by(|arm| (arm.agent_id.as_str(), arm.scenario.as_str()).cmp(&key))
    {
        Ok(place) => place,
        Err(place) => {
            let (agent_id, scenario) = (row.agent_id.clone(), row.scenario.clone());
            arms.insert(
                place,
                Arm {
                    agent_id,
                    scenario,
                    trials: 0,
                    found: BTreeMap::new(),
                },
            );
            place
        }
    };
    &mut arms[place]
}

/// The arms as a table with a column for each of the kinds that were found at all.
pub(super) fn arms_table(arms: &[Arm], kinds: &BTreeMap<String, u64>) -> String {
    let kinds_escaped: Vec<_> = kinds.keys().map(|kind| escape(kind)).collect();
    let mut header = vec!["agent", "scenario", "trials"];
    header.extend(kinds_escaped.iter().map(String::as_str));
    let numeric: Vec<_> = (0..header.len()).map(|place| place > 1).collect();
    let rows = arms.iter().map(|arm| {
        let names = [
            escape(&arm.agent_id),
            escape(&arm.scenario),
            arm.trials.to_string(),
        ];
        let found = kinds
            .keys()
            .map(|kind| arm.found.get(kind).copied().unwrap_or(0).to_string());
        names.into_iter().chain(found).collect()
    });
    table(&header, &numeric, rows)
}
