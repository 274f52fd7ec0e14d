//! Judgements and runs of TREC: what people already have.
//!
//! A line of judgements is `query iteration document relevance`, one of a run `query Q0 document rank score tag`, with any
//! blanks between. Order, rank and tag of a run say nothing, as for `trec_eval`: the score does.

use std::io::BufRead;

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
    let end_of = |start: usize, blank: bool| {
        let rest = bytes[start..].iter();
        let run = rest.take_while(|byte| byte.is_ascii_whitespace() == blank);
        start + run.count()
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

/// The best results of each query, best first.
fn read_run(
    (input, file): Named<'_>,
    rules: Rules,
    draft: &mut Draft,
) -> Result<Vec<Vec<Hit>>, InputProblems> {
    let mut problems = InputProblems::of(file);
    let mut results: Vec<Vec<Hit>> = Vec::new();
    let (mut last, mut number) = (String::new(), 0);
    let mut any = false;
    let read = each_line(input, |line, text| match result(text) {
        Ok((query, id, score)) => {
            if !any || last != query {
                query.clone_into(&mut last);
                number = draft.query(query);
                any = true;
            }
            keep((id, score), place(&mut results, number), rules);
        }
        Err(message) => problems.add(line, message),
    });
    if let Err((line, message)) = read {
        problems.add(line, message);
    }
    if !any && problems.is_empty() {
        problems.add(0, "holds no result");
    }
    problems.into_result().map(|()| results)
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
