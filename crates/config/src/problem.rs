//! Problems of a file: all at once, each with its place, its key, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// More than these are counted, not told.
const TOLD_PROBLEMS: usize = 100;

/// A place in a file, both numbers from 1; 0 where a problem belongs to the file as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// Whether the suite can run with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// It cannot.
    Error,
    /// It can, but a person should know.
    Warning,
}

/// One thing that is wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as it was named.
    pub file: PathBuf,
    /// Where in it.
    pub place: Place,
    /// Which key, like `agents[1].pricing.input_per_token`; empty when no key is meant.
    pub key: String,
    /// What is wrong, as a fragment.
    pub message: String,
    /// What to do about it, where that can be said.
    pub hint: Option<String>,
    /// How bad it is.
    pub severity: Severity,
}

impl Problem {
    /// Adds what to do about it.
    pub(super) fn hint(&mut self, hint: impl Into<String>) {
        self.hint = Some(visible(hint.into()));
    }

    /// The problem in one line without its severity, which whoever shows it adds.
    #[must_use]
    pub fn sentence(&self) -> String {
        let hint = self.hint.as_deref().map(|hint| format!(" ({hint})"));
        format!("{}{}", self.headline(""), hint.unwrap_or_default())
    }

    fn headline(&self, severity: &str) -> String {
        let file = self.file.display();
        let Place { line, column } = self.place;
        let place = match line {
            0 => format!("{file}: "),
            _ => format!("{file}:{line}:{column}: "),
        };
        let key = match self.key.as_str() {
            "" => String::new(),
            key => format!("{key}: "),
        };
        format!("{place}{severity}{key}{}", self.message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
        };
        formatter.write_str(&self.headline(severity))?;
        match &self.hint {
            Some(hint) => write!(formatter, "\n    hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// All problems of a suite, in the order of the files: the config first, then the tasks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    /// The problems, warnings among them.
    pub items: Vec<Problem>,
    /// How many further ones were only counted.
    pub untold: usize,
}

impl Problems {
    /// Those that stop the suite.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.items
            .iter()
            .filter(|problem| problem.severity == Severity::Error)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.items.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{problem}")?;
        }
        match self.untold {
            0 => Ok(()),
            untold => write!(formatter, "\n... and {untold} more"),
        }
    }
}

impl std::error::Error for Problems {}

/// Problems of one file while it is read.
#[derive(Debug)]
pub(super) struct Report {
    file: PathBuf,
    items: Vec<Problem>,
    untold: usize,
    failed: bool,
}

impl Report {
    pub(super) fn new(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            items: Vec::new(),
            untold: 0,
            failed: false,
        }
    }

    /// Whether something was found that stops the suite.
    pub(super) const fn failed(&self) -> bool {
        self.failed
    }

    /// Whether further problems are only counted, so that no effort need go into their words.
    pub(super) const fn is_full(&self) -> bool {
        self.items.len() >= TOLD_PROBLEMS
    }

    pub(super) fn error(
        &mut self,
        place: Place,
        key: &str,
        message: impl Into<String>,
    ) -> &mut Problem {
        self.failed = true;
        self.add(place, key, (Severity::Error, message.into()))
    }

    pub(super) fn warning(
        &mut self,
        place: Place,
        key: &str,
        message: impl Into<String>,
    ) -> &mut Problem {
        self.add(place, key, (Severity::Warning, message.into()))
    }

    /// Adds to the last problem what to do about it.
    pub(super) fn hint(&mut self, hint: impl Into<String>) {
        if let Some(last) = self.items.last_mut() {
            last.hint(hint);
        }
    }

    fn add(&mut self, place: Place, key: &str, what: (Severity, String)) -> &mut Problem {
        if self.is_full() {
            self.untold += 1;
            self.items.pop();
        }
        self.items.push(Problem {
            file: self.file.clone(),
            place,
            key: visible(shortened(key)),
            message: visible(what.1),
            hint: None,
            severity: what.0,
        });
        self.items.last_mut().expect("one was just added")
    }

    /// The problems in the file's order.
    pub(super) fn into_problems(mut self) -> Problems {
        self.items.sort_by_key(|problem| problem.place);
        Problems {
            items: self.items,
            untold: self.untold,
        }
    }
}

/// The text with its control characters (a tab inside a quoted key, say) spelled out, so that a problem is one line.
fn visible(text: String) -> String {
    if !text.contains(char::is_control) {
        return text;
    }
    text.chars()
        .map(|letter| {
            if letter.is_control() {
                letter.escape_default().to_string()
            } else {
                letter.to_string()
            }
        })
        .collect()
}

/// A key that fits in a message.
fn shortened(key: &str) -> String {
    const SHOWN: usize = 120;
    match key.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &key[..end]),
        None => key.to_owned(),
    }
}

/// The nearest of `known` to `word`, when one is near enough to be meant.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: String = word.chars().take(80).collect::<String>().to_lowercase();
    known
        .into_iter()
        .map(|candidate| (strsim::jaro(&word, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.79)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}

/// ` (did you mean "x"?)`, or nothing.
pub(super) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(word, known) {
        Some(candidate) => format!(" (did you mean \"{candidate}\"?)"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_tells_place_key_message_and_hint() {
        let mut report = Report::new(Path::new("config.yaml"));
        let place = Place {
            line: 12,
            column: 7,
        };
        report
            .error(place, "agents[1].kind", "unknown kind \"codex\"")
            .hint("known: codex_cli");
        let problems = report.into_problems();
        assert_eq!(
            problems.to_string(),
            "config.yaml:12:7: agents[1].kind: unknown kind \"codex\"\n    hint: known: codex_cli"
        );
    }

    #[test]
    fn what_a_file_says_cannot_break_or_steer_the_line_of_its_problem() {
        let mut report = Report::new(Path::new("f"));
        report
            .error(Place { line: 1, column: 1 }, "a\tb", "not \u{1b}[2J")
            .hint("known:\nnone");
        let told = report.into_problems().to_string();
        assert_eq!(
            told,
            "f:1:1: a\\tb: not \\u{1b}[2J\n    hint: known:\\nnone"
        );
    }

    #[test]
    fn problems_are_told_in_the_order_of_the_file_and_not_without_end() {
        let mut report = Report::new(Path::new("f"));
        for line in (1..=150).rev() {
            report.error(Place { line, column: 1 }, "", "bad");
        }
        let problems = report.into_problems();
        assert_eq!(problems.items.len(), TOLD_PROBLEMS);
        assert_eq!(problems.untold, 50);
        assert!(problems.items.is_sorted_by_key(|problem| problem.place));
        assert!(problems.to_string().ends_with("... and 50 more"));
    }

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not() {
        let kinds = ["codex_cli", "claude_code_cli", "command", "replay"];
        assert_eq!(nearest("codex", kinds), Some("codex_cli"));
        assert_eq!(nearest("Claude_code", kinds), Some("claude_code_cli"));
        assert_eq!(nearest("zzz", kinds), None);
    }
}
