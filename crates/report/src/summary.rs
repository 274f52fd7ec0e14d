//! The summary of a run: its cells in order, and what they amount to.

use std::collections::BTreeMap;

use crate::cell_stats::CellStats;
use crate::columns::{Value, columns};
use crate::facts::Facts;
use proctor_model::Cell;

/// All cells of a run in the order of {agent, scenario, task}, baselines left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Summary {
    /// The cells.
    pub cells: BTreeMap<Cell, CellStats>,
}

impl Summary {
    /// Counts the row that stands for a trial; a baseline is not counted.
    pub fn add(&mut self, facts: &Facts) {
        if !facts.baseline {
            self.cell(&facts.cell).add(facts);
        }
    }

    /// Counts an attempt that a later one superseded.
    pub fn add_superseded(&mut self, facts: &Facts) {
        if !facts.baseline {
            self.cell(&facts.cell).add_superseded(facts);
        }
    }

    fn cell(&mut self, cell: &Cell) -> &mut CellStats {
        if !self.cells.contains_key(cell) {
            self.cells.insert(cell.clone(), CellStats::default());
        }
        self.cells
            .get_mut(cell)
            .expect("the cell was just put there")
    }

    /// Sorts the samples, once all rows are counted.
    pub fn finish(&mut self) {
        self.cells.values_mut().for_each(CellStats::finish);
    }

    /// The rows of the table: a value for each of [`columns`].
    pub fn rows(&self) -> impl Iterator<Item = Vec<Value>> {
        self.cells.iter().map(|(cell, stats)| {
            columns()
                .iter()
                .map(|column| (column.value)(cell, stats))
                .collect()
        })
    }

    /// A list of objects with the columns' names as keys.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        let object = |row: Vec<Value>| -> serde_json::Value {
            let named = columns().iter().zip(row);
            named
                .map(|(column, value)| (column.name.to_owned(), value.to_json()))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        self.rows().map(object).collect()
    }
}
