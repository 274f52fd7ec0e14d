//! What is wrong with keys and words: unknown, missing, misspelt, or of earlier versions.

use serde_json::Value as Json;

use crate::config::forms::wanted;
use crate::config::node::{Entry, Node, quoted};
use crate::config::problem::did_you_mean;
use crate::config::scalars;
use crate::config::schemas::resolved;
use crate::config::walk::Walker;

/// `outer.key`, the key in quotes where it would read like something else.
pub(super) fn join(outer: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c));
    let shown = if plain { key.to_owned() } else { quoted(key) };
    if outer.is_empty() {
        shown
    } else {
        format!("{outer}.{shown}")
    }
}

/// The words that may stand somewhere.
pub(super) struct Words<'a> {
    /// What they name.
    pub(super) noun: &'a str,
    pub(super) known: Vec<&'static str>,
}

/// Keys of earlier versions, and what to do in their place.
const REMOVED: [(&str, &str); 2] = [
    (
        "sentinel",
        "give the hidden tests a `twin`: `proctor validate --make-twins` proposes one",
    ),
    (
        "grader_env",
        "graders always work in a tree that proctor builds: `carry` names ignored paths that they need",
    ),
];

impl Walker<'_> {
    pub(super) fn missing_keys(&mut self, node: &Node, schema: &'static Json, path: &str) {
        for key in required(schema).filter(|key| node.get(key).is_none()) {
            let wanted = wanted(&schema["properties"][key]);
            self.report
                .error(node.place, &join(path, key), "is missing")
                .hint(format!("it must be {wanted}"));
        }
    }

    /// Says that a word is none of those known.
    pub(super) fn unknown_word(&mut self, node: &Node, words: &Words<'_>, path: &str) {
        let Words { noun, known } = words;
        let word = node.text().unwrap_or_default();
        let meant = did_you_mean(word, known.iter().copied());
        let message = format!("unknown {noun} {}{meant}", quoted(word));
        self.report
            .error(node.place, path, message)
            .hint(format!("known: {}", known.join(", ")));
    }

    pub(super) fn unknown_key(&mut self, entry: &Entry, known: &[&str], path: &str) {
        if self.report.is_full() {
            self.report.error(entry.key_place, path, "unknown key");
            return;
        }
        if let Some((_, hint)) = REMOVED.iter().find(|(key, _)| *key == entry.key) {
            let problem = self
                .report
                .error(entry.key_place, path, "is no longer a key");
            return problem.hint(*hint);
        }
        let meant = did_you_mean(&entry.key, known.iter().copied());
        let is_near = !meant.is_empty();
        let problem = self
            .report
            .error(entry.key_place, path, format!("unknown key{meant}"));
        match known {
            _ if is_near => {}
            [] => problem.hint("no keys are known here"),
            known => problem.hint(format!("known keys: {}", known.join(", "))),
        }
    }

    /// Where free keys are allowed beside known ones, a key next to a known one is worth a word.
    pub(super) fn maybe_misspelt(&mut self, entry: &Entry, schema: &'static Json, path: &str) {
        let written = entry.key.to_lowercase();
        let mut known = keys(schema).into_iter();
        let near = known.find(|name| strsim::osa_distance(name, &written) <= 2);
        if let Some(name) = near.filter(|_| !self.report.is_full()) {
            let message = format!("is kept as a key of its own (did you mean \"{name}\"?)");
            self.report.warning(entry.key_place, path, message);
        }
    }

    /// Whether a free key is what the schema of the names wants; says why not.
    pub(super) fn free_key(&mut self, entry: &Entry, names: &'static Json, path: &str) -> bool {
        let names = resolved(names);
        let name = entry.key.as_str();
        if let Some(words) = scalars::words(names) {
            let is_known = words.contains(&name);
            if !is_known {
                self.unknown_key(entry, &words, path);
            }
            return is_known;
        }
        let Some((message, hint)) = scalars::key_problem(name, names["x-is"].as_str()) else {
            return true;
        };
        self.report.error(entry.key_place, path, message).hint(hint);
        false
    }
}

pub(super) fn keys(schema: &'static Json) -> Vec<&'static str> {
    let known = schema["properties"].as_object();
    known
        .into_iter()
        .flatten()
        .map(|(key, _)| key.as_str())
        .collect()
}

pub(super) fn required(schema: &'static Json) -> impl Iterator<Item = &'static str> {
    let all = schema["required"].as_array().into_iter().flatten();
    all.filter_map(Json::as_str)
}

pub(super) fn is_required(schema: &'static Json, key: &str) -> bool {
    required(schema).any(|it| it == key)
}
