//! The best results of a query, best first.

use super::observation::Rules;

/// A result, whose id stands elsewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    pub(super) score: f64,
    pub(super) id: Span,
}

/// Where a text begins in another one, and how long it is; no line is as long as 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: usize,
    length: u32,
}

impl Span {
    /// A part of `text`.
    pub(super) fn of(part: &[u8], text: &[u8]) -> Self {
        let start = part.as_ptr().addr() - text.as_ptr().addr();
        Self::new(start, part)
    }

    pub(super) fn new(start: usize, part: &[u8]) -> Self {
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        Self { start, length }
    }

    /// What stands there.
    pub(super) fn of_text(self, text: &[u8]) -> &[u8] {
        &text[self.start..self.start + self.length as usize]
    }
}

/// The place of a result among those of its query in `hits`, whose ids stand in `text`, if it is one of the best.
pub(super) fn place_among(
    hits: &[Hit],
    text: &[u8],
    score: f64,
    id: &[u8],
    rules: Rules,
) -> Option<usize> {
    let is_full = hits.len() == rules.depth.get() as usize;
    if let Some(worst) = hits.last() {
        let not_before = |hit: &Hit| {
            rules
                .ties
                .order((hit.score, hit.id.of_text(text)), (score, id))
                .is_le()
        };
        // Runs are in order as a rule.
        if not_before(worst) {
            return (!is_full).then_some(hits.len());
        }
        return Some(hits.partition_point(not_before));
    }
    Some(0)
}

/// The best results of a query so far.
#[derive(Debug, Default)]
pub(super) struct Best {
    hits: Vec<Hit>,
    /// Their ids, and such as are not among the best any more.
    text: Vec<u8>,
    /// How long the ids of the best are.
    live: usize,
}

impl Best {
    /// Makes room for these, where they are the first.
    pub(super) fn expect(&mut self, hits: &[Hit]) {
        if self.hits.is_empty() {
            self.hits.reserve_exact(hits.len());
            let lengths = hits.iter().map(|hit| hit.id.length as usize);
            self.text.reserve_exact(lengths.sum());
        }
    }

    /// Puts a result in its place, if it is among the best.
    pub(super) fn keep(&mut self, score: f64, id: &[u8], rules: Rules) {
        let Some(place) = place_among(&self.hits, &self.text, score, id, rules) else {
            return;
        };
        if self.hits.len() == rules.depth.get() as usize
            && let Some(last) = self.hits.pop()
        {
            self.live -= last.id.length as usize;
        }
        let start = self.text.len();
        self.text.extend_from_slice(id);
        self.live += id.len();
        let id = Span::new(start, id);
        self.hits.insert(place, Hit { score, id });
        self.tidy();
    }

    /// Takes out ids that are not needed, once most are not.
    fn tidy(&mut self) {
        const FEW: usize = 1 << 12;
        if self.text.len() < FEW.max(2 * self.live) {
            return;
        }
        let mut text = Vec::with_capacity(self.live);
        for hit in &mut self.hits {
            let id = hit.id.of_text(&self.text);
            hit.id = Span::new(text.len(), id);
            text.extend_from_slice(id);
        }
        self.text = text;
    }

    /// Their ids, best first.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        let ids = self.hits.iter().map(|hit| hit.id.of_text(&self.text));
        // They were found to be text when their lines were taken apart.
        ids.map(|id| str::from_utf8(id).unwrap_or_default())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reading;

    #[test]
    fn ids_that_are_not_among_the_best_any_more_take_no_memory() {
        let (mut best, rules) = (Best::default(), Reading::of_trec().rules());
        for score in 0..50_000_u32 {
            let id = format!("document {score}");
            best.keep(f64::from(score), id.as_bytes(), rules);
            assert!(best.text.len() <= 1 << 13, "{score}: {}", best.text.len());
        }
        let wanted: Vec<String> = (0..10)
            .map(|it| format!("document {}", 49_999 - it))
            .collect();
        assert_eq!(best.ids().collect::<Vec<_>>(), wanted);
    }
}
