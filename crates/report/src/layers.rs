//! The three layers in a report: how trials came out by each, and what they did not hold to.

use std::collections::BTreeMap;

use crate::markdown::{escape, table};
use crate::summary::Summary;
use proctor_layers::LayerStatus;
use proctor_model::Cell;
use proctor_record::Row;

/// One of the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// What the agent said.
    Answer,
    /// What it did.
    Path,
    /// What it spent.
    Budget,
}

const LAYERS: [Layer; 3] = [Layer::Answer, Layer::Path, Layer::Budget];

/// How trials came out by each layer: one trial, or all of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LayerCounts {
    status: BTreeMap<(Layer, LayerStatus), usize>,
    /// Checks that do not hold: `path.max_loops warn`.
    broken: BTreeMap<String, usize>,
    /// Checks that a judge decided, with how far it is known.
    judged: BTreeMap<String, usize>,
    /// What trials were compared with.
    baselines: BTreeMap<String, usize>,
}

impl LayerCounts {
    /// What a row says of its layers.
    #[must_use]
    pub fn of(row: &Row) -> Self {
        let words = [&row.answer_layer, &row.path_layer, &row.budget_layer];
        let known = |word: &str| LayerStatus::ALL.into_iter().find(|(it, _)| *it == word);
        let status = LAYERS.into_iter().zip(words).filter_map(|(layer, word)| {
            let (_, status) = known(word.as_deref()?)?;
            Some((layer, status))
        });
        let findings = row.layer_findings.iter().flatten();
        let heads = findings.map(|finding| finding.split(':').next().unwrap_or_default());
        let broken = heads.filter(|head| {
            let word = head.rsplit(' ').next().unwrap_or_default();
            ["warn", "fail", "error"].contains(&word)
        });
        Self {
            status: counted(status),
            broken: counted(broken.map(str::to_owned)),
            judged: counted(row.judged.iter().flatten().cloned()),
            baselines: counted(row.layer_baseline.iter().cloned()),
        }
    }

    /// Takes in what others counted.
    pub fn add(&mut self, other: &Self) {
        add_up(&mut self.status, &other.status);
        add_up(&mut self.broken, &other.broken);
        add_up(&mut self.judged, &other.judged);
        add_up(&mut self.baselines, &other.baselines);
    }

    /// How many trials came out so.
    #[must_use]
    pub fn count(&self, layer: Layer, status: LayerStatus) -> usize {
        self.status.get(&(layer, status)).copied().unwrap_or(0)
    }

    /// Every check that judges decided, in how many trials, and how far these judges are known; empty where none did.
    #[must_use]
    pub fn judged(&self) -> String {
        let each = self.judged.iter();
        let each = each.map(|(check, count)| format!("{count} x {check}"));
        each.collect::<Vec<_>>().join("; ")
    }

    /// Each layer that was asked for: `path 1 PASS, 2 WARN`.
    pub(super) fn words(&self) -> Vec<String> {
        let names = LAYERS.into_iter().zip(["answer", "path", "budget"]);
        let each = names.map(|(layer, name)| (name, self.words_of(layer)));
        let asked = each.filter(|(_, words)| !words.is_empty());
        asked
            .map(|(name, words)| format!("{name} {words}"))
            .collect()
    }

    fn words_of(&self, layer: Layer) -> String {
        let each = LayerStatus::ALL.into_iter().filter_map(|(word, status)| {
            let count = self.count(layer, status);
            (count > 0).then(|| format!("{count} {}", word.to_uppercase()))
        });
        each.collect::<Vec<_>>().join(", ")
    }

    fn broken(&self) -> String {
        let each = self
            .broken
            .iter()
            .map(|(check, count)| format!("{count} x {check}"));
        each.collect::<Vec<_>>().join(", ")
    }
}

fn counted<Key: Ord>(keys: impl Iterator<Item = Key>) -> BTreeMap<Key, usize> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

fn add_up<Key: Ord + Clone>(sums: &mut BTreeMap<Key, usize>, counts: &BTreeMap<Key, usize>) {
    for (key, count) in counts {
        *sums.entry(key.clone()).or_default() += count;
    }
}

fn names(cell: &Cell) -> Vec<String> {
    [
        cell.agent.as_str(),
        cell.scenario.as_str(),
        cell.task.as_str(),
    ]
    .map(escape)
    .to_vec()
}

/// The section of `summary.md`; empty where no task asks for a layer.
pub(super) fn markdown(summary: &Summary) -> String {
    let cells = summary.cells.iter();
    let mut cells = cells
        .filter(|(_, stats)| !stats.layers.status.is_empty())
        .peekable();
    if cells.peek().is_none() {
        return String::new();
    }
    let header = [
        "agent",
        "scenario",
        "task",
        "answer",
        "path",
        "budget",
        "what did not hold",
    ];
    let rows = cells.map(|(cell, stats)| {
        let mut row = names(cell);
        row.extend(LAYERS.map(|layer| stats.layers.words_of(layer)));
        row.push(escape(&stats.layers.broken()));
        row
    });
    let table = table(&header, &[false; 7], rows);
    format!(
        "\n## Layers\n\n{ABOUT}\n{table}{}{}",
        baselines(summary),
        judged(summary)
    )
}

/// What trials were compared with.
fn baselines(summary: &Summary) -> String {
    let all = summary.cells.values().flat_map(|it| &it.layers.baselines);
    let lines: Vec<String> = all
        .map(|(baseline, count)| format!("- {count} with {}\n", escape(baseline)))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let lines = lines.concat();
    format!("\nTrials that were compared with a baseline:\n\n{lines}")
}

/// Who decided by a rubric, and how far to trust it: beside the figures that it made.
fn judged(summary: &Summary) -> String {
    let rows = summary.cells.iter().flat_map(|(cell, stats)| {
        let each = stats.layers.judged.iter();
        each.map(move |(judged, count)| {
            let (check, known) = judged.split_once(": ").unwrap_or((judged, ""));
            let mut row = names(cell);
            row.extend([escape(check), count.to_string(), escape(known)]);
            row
        })
    });
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    let header = [
        "agent",
        "scenario",
        "task",
        "check",
        "trials",
        "how far the judge is known",
    ];
    let table = table(&header, &[false; 6], rows);
    format!(
        "\nA judge errs. What people said of answers like these, and what it said of them:\n\n{table}"
    )
}

const ABOUT: &str = "\
Trials by what they said (answer), did (path) and spent (budget). A wrong answer and a forbidden call fail a trial; the rest \
warns.
";
