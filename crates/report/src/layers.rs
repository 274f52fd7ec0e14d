//! The three layers in a report: how trials came out by each, and what they did not hold to.

use std::collections::BTreeMap;

use proctor_layers::LayerStatus;
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

pub(super) const LAYERS: [Layer; 3] = [Layer::Answer, Layer::Path, Layer::Budget];

/// What a row says of its layers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LayerFacts {
    status: Vec<(Layer, LayerStatus)>,
    /// Checks that do not hold: `path.max_loops warn`.
    broken: Vec<String>,
    /// Checks that a judge decided, with how far it is known.
    judged: Vec<String>,
    /// What it was compared with.
    baseline: Option<String>,
}

impl LayerFacts {
    /// What stands in a row.
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
            status: status.collect(),
            broken: broken.map(str::to_owned).collect(),
            judged: row.judged.clone().unwrap_or_default(),
            baseline: row.layer_baseline.clone(),
        }
    }
}

/// How the trials of a cell came out by each layer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LayerCounts {
    pub(super) status: BTreeMap<(Layer, LayerStatus), usize>,
    broken: BTreeMap<String, usize>,
    pub(super) judged: BTreeMap<String, usize>,
    pub(super) baselines: BTreeMap<String, usize>,
}

impl LayerCounts {
    /// Counts a trial.
    pub fn add(&mut self, facts: &LayerFacts) {
        for key in &facts.status {
            *self.status.entry(*key).or_default() += 1;
        }
        for check in &facts.broken {
            *self.broken.entry(check.clone()).or_default() += 1;
        }
        for check in &facts.judged {
            *self.judged.entry(check.clone()).or_default() += 1;
        }
        if let Some(baseline) = &facts.baseline {
            *self.baselines.entry(baseline.clone()).or_default() += 1;
        }
    }

    /// Takes in what another cell counted.
    pub fn merge(&mut self, other: &Self) {
        for (key, count) in &other.status {
            *self.status.entry(*key).or_default() += count;
        }
        for (check, count) in &other.broken {
            *self.broken.entry(check.clone()).or_default() += count;
        }
        for (check, count) in &other.judged {
            *self.judged.entry(check.clone()).or_default() += count;
        }
        for (baseline, count) in &other.baselines {
            *self.baselines.entry(baseline.clone()).or_default() += count;
        }
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
    pub(super) fn told(&self) -> Vec<String> {
        let names = LAYERS.into_iter().zip(["answer", "path", "budget"]);
        let each = names.map(|(layer, name)| (name, self.words(layer)));
        let asked = each.filter(|(_, words)| !words.is_empty());
        asked
            .map(|(name, words)| format!("{name} {words}"))
            .collect()
    }

    pub(super) fn words(&self, layer: Layer) -> String {
        let each = LayerStatus::ALL.into_iter().filter_map(|(word, status)| {
            let count = self.count(layer, status);
            (count > 0).then(|| format!("{count} {}", word.to_uppercase()))
        });
        each.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn broken(&self) -> String {
        let each = self
            .broken
            .iter()
            .map(|(check, count)| format!("{count} x {check}"));
        each.collect::<Vec<_>>().join(", ")
    }
}
