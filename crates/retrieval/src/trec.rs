//! Judgements and runs of TREC: what people already have.
//!
//! A line of judgements is `query iteration document relevance`, one of a run `query Q0 document rank score tag`, with any
//! blanks between. Order, rank and tag of a run say nothing, as for `trec_eval`: the score does.

use std::io::BufRead;

use super::best::{Best, Hit, Span, place_among};
use super::blocks::{Block, each_block};
use super::fields::{fields, number, wrong_fields};
use super::groups::{Found, Head, word};
use super::observation::{Observation, Rules, Words as _};
use super::problem::{InputProblems, shown};
use super::ranked::{Expected, Judged, Ties};
use super::table::{Draft, Reading, Table};

/// An input and its name.
pub type Named<'a> = (&'a mut dyn BufRead, &'a str);

impl Table {
    /// Reads judgements and a run. Relevance of 1 or more is relevant, with gain 1. A query that is judged and not in the run
    /// has found nothing, as `trec_eval -c` has it; one that is in the run alone is not scored.
    ///
    /// # Errors
    /// With every line that cannot be used, up to a number of them, of the first file that has such.
    pub fn read_trec(
        qrels: Named<'_>,
        run: Named<'_>,
        reading: &Reading,
    ) -> Result<Self, InputProblems> {
        let mut draft = Draft::default();
        let judgements = Judgements::read(qrels, &mut draft)?;
        let file = run.1;
        let results = read_run(run, reading.rules(), &mut draft)?;
        let mut without = 0_u64;
        for query in 0..draft.queries() {
            let expected = judgements.expected(query);
            let found = results.get(query).filter(|found| !found.is_empty());
            let ranking = found.into_iter().flat_map(Best::ids);
            let judged = Judged::new(ranking, &expected, reading.rules().depth);
            without += u64::from(found.is_none() && judged.is_scored());
            draft.observations.push(Observation {
                query: u32::try_from(query).unwrap_or(u32::MAX),
                judged,
                ..Observation::default()
            });
        }
        draft.frozen.see_unnamed(draft.observations.len() as u64);
        draft.without_results = Some(without);
        draft.notes = notes(without, judgements.graded);
        draft.into_table(InputProblems::of(file), reading)
    }
}

fn notes(without: u64, graded: u64) -> Vec<String> {
    let without = (without > 0).then(|| {
        format!("{without} judged queries are not in the run and count as having found nothing, as trec_eval -c has it")
    });
    let graded = (graded > 0).then(|| {
        format!("{graded} judgements are above 1: gain is 1 all the same, so that NDCG is not that of trec_eval")
    });
    without.into_iter().chain(graded).collect()
}

/// What was judged, by query.
#[derive(Debug, Default)]
struct Judgements {
    by_query: Vec<Vec<Judgement>>,
    /// The ids of all documents, one behind the other.
    text: String,
    /// How many are above 1.
    graded: u64,
}

#[derive(Debug, Clone, Copy)]
struct Judgement {
    id: Span,
    line: u64,
    relevance: i64,
}

impl Judgements {
    fn read((input, file): Named<'_>, draft: &mut Draft) -> Result<Self, InputProblems> {
        let mut problems = InputProblems::of(file);
        let mut judgements = Self::default();
        let mut last = Last::default();
        let read = each_block(input, judged_in, |block, found: Found<Judgement>| {
            problems.append(found.problems);
            for group in found.groups {
                let query = last.number(group.query(block), draft);
                let judged = place(&mut judgements.by_query, query);
                judged.reserve(group.range.len());
                for one in &found.all[group.range] {
                    let id = one.id.of_text(&block.text);
                    judged.push(Judgement {
                        id: Span::new(judgements.text.len(), id),
                        ..*one
                    });
                    judgements.text.push_str(word(id));
                    judgements.graded += u64::from(one.relevance > 1);
                }
            }
        });
        if let Err((line, message)) = read {
            problems.add(line, message);
        }
        judgements.put_in_order(&mut problems);
        if judgements.by_query.is_empty() && problems.is_empty() {
            problems.add(0, "holds no judgement");
        }
        problems.into_result().map(|()| judgements)
    }

    /// Sorts the judgements of each query; such as contradict each other are a problem.
    fn put_in_order(&mut self, problems: &mut InputProblems) {
        let text = &self.text;
        for judged in &mut self.by_query {
            judged.sort_unstable_by_key(|it| (it.id.of_text(text.as_bytes()), it.line));
            for pair in judged.windows(2) {
                let (first, second) = (&pair[0], &pair[1]);
                if first.is_relevant() != second.is_relevant() && first.id(text) == second.id(text)
                {
                    let id = shown(second.id(text));
                    let message = format!(
                        "judges {id} otherwise than line {}; keep one of the two",
                        first.line
                    );
                    problems.add(second.line, message);
                }
            }
        }
    }

    fn expected(&self, query: usize) -> Expected<'_> {
        let judged = self.by_query.get(query).map(Vec::as_slice);
        let relevant = judged
            .unwrap_or_default()
            .iter()
            .filter(|it| it.is_relevant());
        relevant.map(|it| it.id(&self.text)).collect()
    }
}

impl Judgement {
    const fn is_relevant(self) -> bool {
        self.relevance > 0
    }

    fn id(self, text: &str) -> &str {
        word(self.id.of_text(text.as_bytes()))
    }
}

/// The number of the last query. As a rule the lines of a query follow each other, and a run has its queries in the order of
/// the judgements.
#[derive(Debug, Default)]
struct Last(u32);

impl Last {
    /// The number of a query.
    fn number(&mut self, id: &str, draft: &mut Draft) -> u32 {
        let near = [self.0, self.0.saturating_add(1)];
        let mut near = near
            .into_iter()
            .filter(|number| draft.is_query(*number, id));
        let known = near.next();
        self.0 = known.unwrap_or_else(|| draft.query(id));
        self.0
    }
}

/// Takes the lines of a block of judgements apart.
fn judged_in(block: &Block) -> Found<Judgement> {
    let mut found = Found::default();
    let mut head = Head::default();
    found.each(block, |line, (number, found)| {
        let (id, relevance) = if let Some([id, relevance]) = head.tail(line).and_then(fields) {
            (id, relevance_of(relevance)?)
        } else {
            let [query, _, id, relevance] = fields(line).ok_or_else(|| {
                wrong_fields(line, "4 fields: query, iteration, document, relevance")
            })?;
            let is_new = head.query != query;
            head = Head::of(line, query, id, relevance);
            if is_new {
                found.begin(query, block);
            }
            (id, relevance_of(relevance)?)
        };
        let id = Span::of(id, &block.text);
        found.all.push(Judgement {
            id,
            line: number,
            relevance,
        });
        Ok(())
    });
    found.end();
    found
}

fn relevance_of(field: &[u8]) -> Result<i64, String> {
    word(field).parse().map_err(|_| {
        let field = shown(word(field));
        format!("relevance must be a whole number, and is {field}")
    })
}

/// The entry of a query, which may be new.
fn place<T: Default>(by_query: &mut Vec<T>, query: u32) -> &mut T {
    let query = query as usize;
    if by_query.len() <= query {
        by_query.resize_with(query + 1, T::default);
    }
    &mut by_query[query]
}

/// Takes the lines of a block of a run apart; keeps the best of each group, best first.
fn best_in(block: &Block, rules: Rules) -> Found<Hit> {
    let mut found = Found::default();
    let mut head = Head::default();
    found.each(block, |line, (_, found)| {
        let (id, score) = if let Some(known) = head.result(line) {
            known
        } else {
            let [query, _, id, _, field, _] = fields(line).ok_or_else(|| {
                wrong_fields(line, "6 fields: query, Q0, document, rank, score, tag")
            })?;
            let score = number(field).filter(|score| !score.is_nan());
            let score = score
                .ok_or_else(|| format!("score must be a number, and is {}", shown(word(field))))?;
            if head.query != query {
                found.begin(query, block);
            }
            head = Head::of(line, query, id, field);
            (id, score)
        };
        found.keep(block, score, id, rules);
        Ok(())
    });
    found.end();
    found
}

impl Found<Hit> {
    /// Puts a result in its place among those of the last group, if it is among the best of them.
    fn keep(&mut self, block: &Block, score: f64, id: &[u8], rules: Rules) {
        let start = self.groups.last().map_or(0, |group| group.range.start);
        let hits = &self.all[start..];
        let Some(place) = place_among(hits, &block.text, score, id, rules) else {
            return;
        };
        if hits.len() == rules.depth.get() as usize {
            self.all.pop();
        }
        let id = Span::of(id, &block.text);
        self.all.insert(start + place, Hit { score, id });
    }
}

/// The best results of each query, best first.
fn read_run(
    (input, file): Named<'_>,
    rules: Rules,
    draft: &mut Draft,
) -> Result<Vec<Best>, InputProblems> {
    let mut problems = InputProblems::of(file);
    let mut results: Vec<Best> = Vec::new();
    let mut last = Last::default();
    let take = |block: &Block| best_in(block, rules);
    let read = each_block(input, take, |block, found| {
        problems.append(found.problems);
        for group in found.groups {
            let query = last.number(group.query(block), draft);
            let hits = &found.all[group.range];
            let best = place(&mut results, query);
            best.expect(hits);
            for hit in hits {
                best.keep(hit.score, hit.id.of_text(&block.text), rules);
            }
        }
    });
    if let Err((line, message)) = read {
        problems.add(line, message);
    }
    if results.is_empty() && problems.is_empty() {
        problems.add(0, "holds no result");
    }
    problems.into_result().map(|()| results)
}

impl Reading {
    /// As `trec_eval` reads a run: equal scores are put in order by their ids.
    #[must_use]
    pub fn of_trec() -> Self {
        Self {
            ties: Ties::Trec,
            ..Self::default()
        }
    }
}
