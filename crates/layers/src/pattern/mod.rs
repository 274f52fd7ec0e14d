//! Patterns as Python's `re` has them, run by the crate `fancy-regex`.

mod class;
mod escape;
mod group;
mod translate;
mod width;

use std::fmt;

use fancy_regex::{Regex, RegexBuilder};

/// Steps back that a search may take, some tenths of a second.
const MOST_STEPS: usize = 10_000_000;

/// A pattern of Python's `re` for texts, as `re.search` would use it.
#[derive(Clone)]
pub struct Pattern {
    written: String,
    regex: Regex,
}

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn new(written: &str) -> Result<Self, String> {
        let translated = translate::translated(written)?;
        let mut builder = RegexBuilder::new(&translated);
        let built = builder.backtrack_limit(MOST_STEPS).build();
        let regex = built.map_err(|error| reason(&error))?;
        Ok(Self {
            written: written.to_owned(),
            regex,
        })
    }

    /// As it was written.
    #[must_use]
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Whether it matches anywhere in `text`.
    ///
    /// # Errors
    /// When that took too many steps to be known.
    pub fn found_in(&self, text: &str) -> Result<bool, String> {
        let found = self.regex.is_match(text);
        found.map_err(|error| error.to_string())
    }
}

/// The last line of what the crate says, which tells why.
fn reason(error: &fancy_regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or_default().trim();
    line.trim_start_matches("error: ").to_owned()
}

impl fmt::Debug for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Pattern")
            .field(&self.written)
            .finish()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

#[cfg(test)]
mod tests;
