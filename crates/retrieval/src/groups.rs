//! Lines of TREC by query: those of one follow each other as a rule, and begin and end alike.

use std::ops::Range;

use super::best::Span;
use super::blocks::Block;
use super::fields::{first_field, is_blank, leading_number};
use super::problem::InputProblems;

/// What the lines of a block say, by groups; ids are places in the block.
#[derive(Debug)]
pub(super) struct Found<T> {
    pub(super) groups: Vec<Group>,
    pub(super) all: Vec<T>,
    pub(super) problems: InputProblems,
}

/// Lines of one query that follow each other.
#[derive(Debug)]
pub(super) struct Group {
    query: Span,
    pub(super) range: Range<usize>,
}

impl Group {
    pub(super) fn query<'a>(&self, block: &'a Block) -> &'a str {
        word(self.query.of_text(&block.text))
    }
}

impl<T> Default for Found<T> {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            all: Vec::new(),
            problems: InputProblems::default(),
        }
    }
}

impl<T> Found<T> {
    /// Calls `take` with every line that is text, its number, and what was found before.
    pub(super) fn each<'a>(
        &mut self,
        block: &'a Block,
        mut take: impl FnMut(&'a [u8], (u64, &mut Self)) -> Result<(), String>,
    ) {
        // At once, since by itself each line would be looked at.
        let is_text = str::from_utf8(&block.text).is_ok();
        for (number, line) in block.lines() {
            let checked = if is_text { Ok(()) } else { check(line) };
            let taken = checked.and_then(|()| take(line, (number, &mut *self)));
            if let Err(message) = taken {
                self.problems.add(number, message);
            }
        }
    }

    /// A group begins.
    pub(super) fn begin(&mut self, query: &[u8], block: &Block) {
        self.end();
        self.groups.push(Group {
            query: Span::of(query, &block.text),
            range: self.all.len()..self.all.len(),
        });
    }

    /// The last group ends.
    pub(super) fn end(&mut self) {
        if let Some(group) = self.groups.last_mut() {
            group.range.end = self.all.len();
        }
    }
}

fn check(line: &[u8]) -> Result<(), String> {
    let checked = str::from_utf8(line);
    checked.map_or_else(
        |error| Err(format!("is no UTF-8 at byte {}", error.valid_up_to() + 1)),
        |_| Ok(()),
    )
}

/// What was found to be text when its line was taken apart.
pub(super) fn word(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap_or_default()
}

/// How the last line began, up to its document, and ended, from its score on: as a rule the next one does alike.
#[derive(Debug, Default)]
pub(super) struct Head<'a> {
    pub(super) query: &'a [u8],
    begin: &'a [u8],
    end: &'a [u8],
}

impl<'a> Head<'a> {
    /// That of a line, by the fields before and after which it may change.
    pub(super) fn of(line: &'a [u8], query: &'a [u8], id: &[u8], last: &[u8]) -> Self {
        let place = |field: &[u8]| field.as_ptr().addr() - line.as_ptr().addr();
        Self {
            query,
            begin: &line[..place(id)],
            end: &line[place(last) + last.len()..],
        }
    }

    /// What follows where the line begins as the last one did.
    pub(super) fn tail(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        let tail = line.strip_prefix(self.begin)?;
        let goes_on = tail.first().is_some_and(|byte| !is_blank(*byte));
        (goes_on && !self.begin.is_empty()).then_some(tail)
    }

    /// Document and score of a line that is as the last one was, with a score in plain digits.
    pub(super) fn result(&self, line: &'a [u8]) -> Option<(&'a [u8], f64)> {
        let (id, rest) = first_field(self.tail(line)?)?;
        let (_, rest) = first_field(rest)?;
        let (score, end) = leading_number(rest)?;
        (end == self.end).then_some((id, score))
    }
}
