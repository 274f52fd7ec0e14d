//! A text inside a line, borrowed from it as far as it can be, and made where it is wanted.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

use crate::scan::Raw;
use crate::wire::border;
use proctor_model::Spelled;

/// A text.
#[derive(Debug)]
pub(super) enum Words<'a> {
    /// As it stands in its line.
    Raw(Raw<'a>),
    /// By itself.
    Owned(String),
}

impl Default for Words<'_> {
    fn default() -> Self {
        Self::Owned(String::new())
    }
}

impl<'a> Words<'a> {
    /// Of a string, or nothing.
    pub(super) fn of(raw: Option<Raw<'a>>) -> Self {
        raw.map_or_else(Self::default, Self::Raw)
    }

    /// The text as it is spelled in its line, where that is to be had.
    pub(super) fn spelled(&self, limit: usize) -> Option<Spelled<'a>> {
        match self {
            Self::Raw(raw) => raw.spelled(limit),
            Self::Owned(_) => None,
        }
    }

    /// The same of the text cut to `limit` bytes.
    pub(super) fn spelled_cut(&self, limit: usize) -> Option<Spelled<'a>> {
        match self {
            Self::Raw(raw) => raw.spelled_cut(limit),
            Self::Owned(_) => None,
        }
    }

    /// The text, cut to `limit` bytes on a character border.
    pub(super) fn text(&self, limit: usize) -> String {
        match self {
            Self::Raw(raw) => raw.text(limit),
            Self::Owned(text) => text[..border(text, limit)].to_owned(),
        }
    }

    /// Adds the text, cut likewise.
    pub(super) fn push_to(&self, text: &mut String, limit: usize) {
        match self {
            Self::Raw(raw) => raw.push_to(text, limit),
            Self::Owned(owned) => text.push_str(&owned[..border(owned, limit)]),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Words<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> Visitor<'de> for WordsVisitor {
    type Value = Words<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Words<'de>, E> {
        Ok(Words::Raw(Raw::without_escapes(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Words<'de>, E> {
        Ok(Words::Owned(text.to_owned()))
    }
}
