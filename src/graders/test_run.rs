//! What a test runner says that it ran: read from its output or its report, and judged.

use std::collections::BTreeMap;

use super::grade::{Opinion, error, fail};
use super::{junit, unittest};
use crate::config::{TestFormat, TestsSpec};

/// What became of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    Passed,
    Failed,
    Skipped,
    /// It failed, and somebody told the runner that this is in order.
    Excused,
}

impl Status {
    /// Whether a test came to an end of its own.
    const fn ran(self) -> bool {
        matches!(self, Self::Passed | Self::Failed)
    }
}

/// What a test runner says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TestRun {
    /// Each test; of two of one name, the worse.
    pub(super) ids: BTreeMap<String, Status>,
    /// Whether tests are told by name.
    pub(super) ids_known: bool,
    /// How many passed or failed.
    pub(super) ran: u64,
    /// Whether it came to its end, as far as it says.
    pub(super) complete: bool,
}

impl TestRun {
    /// Takes in a test.
    pub(super) fn add(&mut self, id: String, status: Status) {
        self.ran += u64::from(status.ran());
        let known = self.ids.entry(id).or_insert(status);
        if status == Status::Failed || *known == Status::Passed {
            *known = status;
        }
    }

    /// The test of this name, as the runner tells it or with its class or file left out.
    fn status(&self, id: &str) -> Option<Status> {
        let (_, status) = self.test(id)?;
        Some(status)
    }

    /// The same with the whole name.
    fn test(&self, id: &str) -> Option<(&str, Status)> {
        if let Some((exact, status)) = self.ids.get_key_value(id) {
            return Some((exact, *status));
        }
        let endings = [format!("::{id}"), format!(".{id}")];
        let mut alike = self
            .ids
            .iter()
            .filter(|(known, _)| endings.iter().any(|ending| known.ends_with(ending)));
        let first = alike.next();
        // A name that several have means none of them.
        let (known, status) = first.filter(|_| alike.next().is_none())?;
        Some((known, *status))
    }

    /// The first test that failed, but for the one of this name.
    fn first_failed(&self, but: &str) -> Option<&str> {
        let but = self.test(but).map(|(known, _)| known);
        let mut failed = self
            .ids
            .iter()
            .filter(|(id, status)| **status == Status::Failed && Some(id.as_str()) != but);
        failed.next().map(|(id, _)| id.as_str())
    }
}

/// The format of a grader's output: as it says, or as its command tells. `None` when nothing is known of it.
#[must_use]
pub fn tests_told_by(asked: &TestsSpec, argv: &[String]) -> Option<TestFormat> {
    match asked.format {
        TestFormat::Off => None,
        TestFormat::Auto => guessed(argv),
        told => Some(told),
    }
}

pub(super) fn guessed(argv: &[String]) -> Option<TestFormat> {
    let mut words = argv.iter().map(String::as_str);
    let program = words.next()?.rsplit('/').next()?;
    let rest: Vec<&str> = words.collect();
    let plain = rest.iter().find(|word| !word.starts_with(['-', '+']));
    match program {
        "cargo" if plain == Some(&"test") && !rest.iter().any(|word| NO_TESTS.contains(word)) => {
            Some(TestFormat::Cargo)
        }
        "pytest" | "py.test" => pytest_with(&rest),
        python if python.starts_with("python") => {
            let module = rest.iter().position(|word| *word == "-m")?;
            match *rest.get(module + 1)? {
                "pytest" => pytest_with(&rest[module + 2..]),
                "unittest" => Some(TestFormat::Unittest),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Asked so, `cargo test` runs nothing.
const NO_TESTS: [&str; 3] = ["--no-run", "--list", "--help"];

/// Quieter than quiet, pytest does not say that it came to its end.
fn pytest_with(words: &[&str]) -> Option<TestFormat> {
    let quiet = words.iter().map(|word| match *word {
        "--quiet" => 1,
        word if word.starts_with("-q") => word.len() - 1,
        _ => 0,
    });
    (quiet.sum::<usize>() < 2).then_some(TestFormat::Pytest)
}

/// Reads what was said.
pub(super) fn read(format: TestFormat, text: &str) -> TestRun {
    match format {
        TestFormat::Cargo => cargo(text),
        TestFormat::Pytest => pytest(text),
        TestFormat::Unittest => unittest::read(text),
        TestFormat::Junit => junit::read(text),
        TestFormat::Auto | TestFormat::Off => TestRun::default(),
    }
}

fn cargo(text: &str) -> TestRun {
    let mut run = TestRun::default();
    let (mut begun, mut ended, mut counted) = (0, 0, 0);
    for line in text.lines() {
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            begun += 1;
        } else if let Some(result) = line.strip_prefix("test result: ") {
            ended += 1;
            counted += count_before(result, " passed") + count_before(result, " failed");
        } else if let Some((id, status)) = cargo_line(line) {
            run.ids_known = true;
            run.add(id, status);
        }
    }
    run.complete = begun == ended && ended > 0;
    run.ran = counted;
    run
}

fn cargo_line(line: &str) -> Option<(String, Status)> {
    let (id, said) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    let status = match said.split([',', ' ']).next()? {
        "ok" => Status::Passed,
        "FAILED" => Status::Failed,
        "ignored" => Status::Skipped,
        _ => return None,
    };
    let id = id.strip_suffix(" - should panic").unwrap_or(id);
    Some((id.to_owned(), status))
}

fn pytest(text: &str) -> TestRun {
    let mut run = TestRun::default();
    let mut summary = None;
    for line in text.lines() {
        let line = line.trim_end();
        let bare = line.trim_matches(['=', ' ']);
        let is_summary = bare.contains(" in ") && bare.ends_with('s') || bare.contains("s (");
        if is_summary
            && (bare.contains(" passed")
                || bare.contains(" failed")
                || bare.starts_with("no tests ran")
                || bare.contains(" error")
                || bare.contains(" skipped")
                || bare.contains(" xfailed")
                || bare.contains(" xpassed")
                || bare.contains(" deselected"))
        {
            summary = Some(bare);
        } else if let Some((id, status)) = pytest_line(line) {
            run.ids_known = true;
            run.add(id, status);
        }
    }
    run.complete = summary.is_some();
    run.ran = summary.map_or(0, |bare| {
        let words = [" passed", " failed", " error", " xpassed"];
        words.iter().map(|word| count_before(bare, word)).sum()
    });
    run
}

/// `file::test PASSED [ 50%]`, or `PASSED file::test` of the short summary.
fn pytest_line(line: &str) -> Option<(String, Status)> {
    let status = |word: &str| match word {
        "PASSED" => Some(Status::Passed),
        "FAILED" | "ERROR" | "XPASS" => Some(Status::Failed),
        "SKIPPED" => Some(Status::Skipped),
        "XFAIL" => Some(Status::Excused),
        // A part of a test, with its name in brackets.
        word if word.starts_with("SUBFAIL") => Some(Status::Failed),
        _ => None,
    };
    let mut words = line.split_whitespace();
    let (first, second) = (words.next()?, words.next()?);
    if let Some(status) = status(first).filter(|_| second.contains("::")) {
        return Some((second.to_owned(), status));
    }
    let status = status(second).filter(|_| first.contains("::"))?;
    Some((first.to_owned(), status))
}

/// The number right before each `word` of a line, added up.
fn count_before(line: &str, word: &str) -> u64 {
    let places = line.match_indices(word);
    let counts = places.filter_map(|(place, _)| {
        let digits = line[..place].rsplit(|character: char| !character.is_ascii_digit());
        digits.into_iter().next()?.parse::<u64>().ok()
    });
    counts.fold(0, u64::saturating_add)
}

/// What speaks against a pass; `exit_ok` is whether the exit code was the expected one, where one was expected.
pub(super) fn objection(asked: &TestsSpec, run: &TestRun, exit: i32) -> Option<Opinion> {
    let named = !asked.expect.is_empty() || asked.sentinel.is_some();
    let none_ran = run.complete && run.ran == 0;
    // Where tests are named, that none ran, or all were skipped, is what the code under test made of them.
    if none_ran && !named {
        return Some(error("no_tests_ran"));
    }
    if named && !run.ids_known && run.complete && !none_ran {
        return Some(error("test_ids_unknown"));
    }
    if let Some(sentinel) = &asked.sentinel {
        match run.status(sentinel) {
            // Nobody who may says of a sentinel that its failure is in order.
            Some(Status::Passed | Status::Excused) => {
                return Some(fail(format!("sentinel_passed:{sentinel}")));
            }
            Some(Status::Failed) if exit == 0 => {
                return Some(fail(format!("sentinel_passed:{sentinel} (exit code 0)")));
            }
            Some(Status::Failed) => {}
            // Nothing was said of tests: what did not build, as a rule.
            None if exit != 0 && !run.complete && !run.ids_known => {
                return Some(fail(format!("command_failed:exit={exit}")));
            }
            Some(Status::Skipped) | None => {
                return Some(fail(format!("sentinel_missing:{sentinel}")));
            }
        }
        if let Some(failed) = run.first_failed(sentinel) {
            return Some(fail(format!("tests_failed:{failed}")));
        }
    }
    for id in &asked.expect {
        match run.status(id) {
            Some(Status::Passed) => {}
            Some(Status::Failed) => return Some(fail(format!("tests_failed:{id}"))),
            Some(Status::Skipped | Status::Excused) | None => {
                return Some(fail(format!("tests_missing:{id}")));
            }
        }
    }
    // A runner that is known and ended well without its last words did not end by itself.
    let cut_short = !run.complete && (named || run.ids_known || run.ran > 0 || exit == 0);
    cut_short.then(|| fail("tests_cut_short"))
}

#[cfg(test)]
#[path = "test_run_tests.rs"]
mod tests;
