//! What is odd about the things that an agent left, in the words of `integrity`.

use std::collections::BTreeMap;
use std::path::Path;

use crate::model::path_text::to_text;

/// So many paths of a kind are named.
const NAMED: usize = 10;
/// Longer names are cut.
const LONGEST: usize = 120;

/// Reasons, and how often each kind was met beyond those that are named.
#[derive(Debug, Default)]
pub(super) struct Oddities {
    reasons: Vec<String>,
    kinds: BTreeMap<&'static str, usize>,
}

impl Oddities {
    /// `kind:path`.
    pub(super) fn name(&mut self, kind: &'static str, path: &Path) {
        let count = self.kinds.entry(kind).or_default();
        *count += 1;
        if *count <= NAMED {
            self.reasons.push(format!("{kind}:{}", named(path)));
        }
    }

    /// All reasons.
    pub(super) fn finish(mut self) -> Vec<String> {
        for (kind, count) in self.kinds {
            if let Some(more @ 1..) = count.checked_sub(NAMED) {
                self.reasons.push(format!("{kind}:and {more} more"));
            }
        }
        self.reasons
    }
}

/// A path as a reason may hold it: whatever its name is, it ends no reason and begins none.
#[must_use]
pub fn named(path: &Path) -> String {
    let text: String = to_text(path)
        .chars()
        .map(|character| match character {
            ';' | '[' | ']' => '?',
            plain => plain,
        })
        .collect();
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text,
    }
}
