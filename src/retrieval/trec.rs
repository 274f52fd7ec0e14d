//! Judgements and runs of TREC: what people already have.
//!
//! A line of judgements is `query iteration document relevance`, one of a run `query Q0 document rank score tag`, with any
//! blanks between. Order, rank and tag of a run say nothing, as for `trec_eval`: the score does.

use std::io::BufRead;

use super::blocks::{Block, each_block};
use super::lines::each_line;
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
            let ranking = found.into_iter().flatten().map(|hit| &*hit.id);
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
    /// How many are above 1.
    graded: u64,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Judgement {
    id: Box<str>,
    line: u64,
    relevant: bool,
}

impl Judgements {
    fn read((input, file): Named<'_>, draft: &mut Draft) -> Result<Self, InputProblems> {
        let mut problems = InputProblems::of(file);
        let mut judgements = Self::default();
        let read = each_line(input, |line, text| match judgement(text) {
            Ok((query, id, relevance)) => {
                judgements.graded += u64::from(relevance > 1);
                let judged = place(&mut judgements.by_query, draft.query(query));
                judged.push(Judgement {
                    id: id.into(),
                    line,
                    relevant: relevance > 0,
                });
            }
            Err(message) => problems.add(line, message),
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
        for judged in &mut self.by_query {
            judged.sort_unstable();
            for pair in judged.windows(2) {
                let (first, second) = (&pair[0], &pair[1]);
                if first.id == second.id && first.relevant != second.relevant {
                    let id = shown(&second.id);
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
        let relevant = judged.unwrap_or_default().iter().filter(|it| it.relevant);
        relevant.map(|it| &*it.id).collect()
    }
}

/// Query, document and relevance of a line of judgements.
fn judgement(line: &[u8]) -> Result<(&str, &str, i64), String> {
    let line = text(line)?;
    let [query, _, id, relevance] = fields(line)
        .ok_or_else(|| wrong_fields(line, "4 fields: query, iteration, document, relevance"))?;
    let relevance = relevance.parse::<i64>().map_err(|_| {
        let relevance = shown(relevance);
        format!("relevance must be a whole number, and is {relevance}")
    })?;
    Ok((query, id, relevance))
}

fn text(line: &[u8]) -> Result<&str, String> {
    str::from_utf8(line).map_err(|error| format!("is no UTF-8 at byte {}", error.valid_up_to() + 1))
}

/// Exactly so many fields of a line.
fn fields<const COUNT: usize>(line: &str) -> Option<[&str; COUNT]> {
    // By hand: runs have many millions of lines.
    let bytes = line.as_bytes();
    let end_of = |mut at: usize, blank: bool| {
        while bytes
            .get(at)
            .is_some_and(|byte| BLANK[usize::from(*byte)] == blank)
        {
            at += 1;
        }
        at
    };
    let mut fields = [""; COUNT];
    let mut start = end_of(0, true);
    for field in &mut fields {
        let end = end_of(start, false);
        *field = line.get(start..end).filter(|field| !field.is_empty())?;
        start = end_of(end, true);
    }
    (start == bytes.len()).then_some(fields)
}

/// Which bytes part fields: those that are white space in ASCII.
static BLANK: [bool; 256] = {
    let mut blank = [false; 256];
    let mut byte = 0;
    while byte < blank.len() {
        #[expect(clippy::cast_possible_truncation, reason = "it is below 256")]
        let told = (byte as u8).is_ascii_whitespace();
        blank[byte] = told;
        byte += 1;
    }
    blank
};

fn wrong_fields(line: &str, wanted: &str) -> String {
    let found = line.split_ascii_whitespace().count();
    format!("has {found} fields, and must have {wanted}")
}

/// The entry of a query, which may be new.
fn place<T: Default>(by_query: &mut Vec<T>, query: u32) -> &mut T {
    let query = query as usize;
    if by_query.len() <= query {
        by_query.resize_with(query + 1, T::default);
    }
    &mut by_query[query]
}

/// A result that is among the best of its query.
#[derive(Debug)]
struct Hit {
    score: f64,
    id: Box<str>,
}

/// A line of a run, as places in its block.
#[derive(Debug)]
struct Found {
    query: Span,
    id: Span,
    score: f64,
}

/// Where a text begins and ends; no line is as long as 4 GiB.
type Span = (u32, u32);

/// What the lines of a block of a run say, and what is wrong with them.
fn found_in(block: &Block) -> (Vec<Found>, InputProblems) {
    let mut problems = InputProblems::default();
    let mut found = Vec::with_capacity(block.text.len() / 32);
    let start = block.text.as_ptr().addr();
    let span = |text: &str| {
        let at = text.as_ptr().addr() - start;
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        (place(at), place(at + text.len()))
    };
    for (number, line) in block.lines() {
        match result(line) {
            Ok((query, id, score)) => found.push(Found {
                query: span(query),
                id: span(id),
                score,
            }),
            Err(message) => problems.add(number, message),
        }
    }
    (found, problems)
}

/// The best results of each query, best first.
fn read_run(
    (input, file): Named<'_>,
    rules: Rules,
    draft: &mut Draft,
) -> Result<Vec<Vec<Hit>>, InputProblems> {
    let mut problems = InputProblems::of(file);
    let mut results: Vec<Vec<Hit>> = Vec::new();
    let (mut last, mut number) = (Vec::new(), 0);
    let mut any = false;
    let read = each_block(input, found_in, |block, (found, wrong)| {
        problems.append(wrong);
        let bytes = |span: Span| &block.text[span.0 as usize..span.1 as usize];
        // It was found to be text when it was taken apart.
        let word = |span: Span| str::from_utf8(bytes(span)).unwrap_or_default();
        for one in found {
            if !any || last != bytes(one.query) {
                last.clear();
                last.extend_from_slice(bytes(one.query));
                number = draft.query(word(one.query));
                any = true;
            }
            let best = place(&mut results, number);
            if !is_below_all(best, one.score, rules) {
                keep((word(one.id), one.score), best, rules);
            }
        }
    });
    if let Err((line, message)) = read {
        problems.add(line, message);
    }
    if !any && problems.is_empty() {
        problems.add(0, "holds no result");
    }
    problems.into_result().map(|()| results)
}

/// Whether a result comes too late by its score alone.
fn is_below_all(best: &[Hit], score: f64, rules: Rules) -> bool {
    let is_full = best.len() == rules.depth.get() as usize;
    let worst = best.last().filter(|_| is_full);
    worst.is_some_and(|worst| rules.ties.is_above(worst.score, score))
}

/// Query, document and score of a line of a run.
fn result(line: &[u8]) -> Result<(&str, &str, f64), String> {
    let line = text(line)?;
    let [query, _, id, _, score, _] = fields(line)
        .ok_or_else(|| wrong_fields(line, "6 fields: query, Q0, document, rank, score, tag"))?;
    match score.parse::<f64>() {
        Ok(number) if !number.is_nan() => Ok((query, id, number)),
        _ => Err(format!("score must be a number, and is {}", shown(score))),
    }
}

/// Puts a result in its place, if it is among the best.
fn keep((id, score): (&str, f64), best: &mut Vec<Hit>, rules: Rules) {
    let not_after = |hit: &Hit| rules.ties.order((hit.score, &hit.id), (score, id)).is_le();
    let depth = rules.depth.get() as usize;
    if best.len() == depth {
        if best.last().is_some_and(not_after) {
            return;
        }
        best.pop();
    }
    let place = best.partition_point(not_after);
    let id = id.into();
    best.insert(place, Hit { score, id });
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
