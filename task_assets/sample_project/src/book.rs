//! The book: entries in the order of their lines, and what they add up to.

use std::cell::Cell;
use std::collections::BTreeSet;

use crate::{Amount, Entry, ParseError};

/// An account book.
#[derive(Debug, Clone, Default)]
pub struct Book {
    entries: Vec<Entry>,
    visited: Cell<usize>,
}

impl Book {
    /// An empty book.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a book; empty lines and lines that start with `#` are left out.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let mut book = Self::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let entry = line.parse::<Entry>().map_err(|error| ParseError {
                line: index + 1,
                ..error
            })?;
            book.push(entry);
        }
        Ok(book)
    }

    /// Adds an entry at the end.
    pub fn push(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// All entries, in the order of their lines.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The names of all accounts, sorted.
    pub fn accounts(&self) -> Vec<&str> {
        let names: BTreeSet<&str> = self.visit().map(|entry| entry.account.as_str()).collect();
        names.into_iter().collect()
    }

    /// What the entries of `account` add up to; zero for an account that is not in the book.
    pub fn balance(&self, account: &str) -> Amount {
        self.visit()
            .filter(|entry| entry.account == account)
            .map(|entry| entry.amount)
            .sum()
    }

    /// What all entries add up to.
    pub fn total(&self) -> Amount {
        self.visit().map(|entry| entry.amount).sum()
    }

    /// How many entries were looked at to answer questions so far: for profiling and tests.
    pub fn entries_visited(&self) -> usize {
        self.visited.get()
    }

    fn visit(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().inspect(|_| {
            self.visited.set(self.visited.get() + 1);
        })
    }
}
