//! One line of the book.

use std::fmt;
use std::str::FromStr;

use crate::{Amount, Date};

/// One line: when, which account, how much, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When.
    pub date: Date,
    /// Which account.
    pub account: String,
    /// How much.
    pub amount: Amount,
    /// Why; may be empty.
    pub note: String,
}

/// Why a line could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1; 0 where there is only one.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

impl FromStr for Entry {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |message: String| ParseError { line: 0, message };
        let mut words = text.split_whitespace();
        let mut word = |name: &str| {
            words
                .next()
                .ok_or_else(|| error(format!("the {name} is missing")))
        };
        let date = word("date")?.parse().map_err(error)?;
        let account = word("account")?.to_owned();
        let amount = word("amount")?.parse().map_err(error)?;
        let note = words.collect::<Vec<_>>().join(" ");
        Ok(Self {
            date,
            account,
            amount,
            note,
        })
    }
}
