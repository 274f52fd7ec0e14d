//! What a test runner says that it ran: read from its output or its report, and judged.

use std::collections::{BTreeMap, BTreeSet};

use super::grade::{Mixture, Opinion, PASS, error, fail, twin_passed};
use super::{go_tests, junit, tap, unittest};
use proctor_config::{TestFormat, TestsSpec, TwinEdit};
use proctor_model::Grade;

/// What became of a test, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    Passed,
    Skipped,
    /// It failed, and somebody told the runner that this is in order.
    Excused,
    Failed,
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
        *known = status.max(*known);
    }

    /// What became of the tests of this name: of several, the worst.
    fn status(&self, id: &str) -> Option<Status> {
        let tests = self.tests(id).into_iter();
        tests.map(|(_, status)| status).max()
    }

    /// The test of this name, as the runner tells it, or all of it with their class or file left out: agents have tests of their own,
    /// and a short name may be any's.
    fn tests(&self, id: &str) -> Vec<(&str, Status)> {
        if let Some((exact, status)) = self.ids.get_key_value(id) {
            return vec![(exact, *status)];
        }
        let endings = ["::", ".", "/", " > "].map(|between| format!("{between}{id}"));
        let ids = self.ids.iter();
        let alike = ids.filter(|(known, _)| endings.iter().any(|ending| known.ends_with(ending)));
        alike
            .map(|(known, status)| (known.as_str(), *status))
            .collect()
    }

    /// The whole names of tests.
    fn named(&self, ids: &[String]) -> BTreeSet<&str> {
        let tests = ids.iter().flat_map(|id| self.tests(id));
        tests.map(|(known, _)| known).collect()
    }

    /// The first test that failed, but for these, and for those that they are parts of.
    fn first_failed(&self, but: &BTreeSet<&str>) -> Option<&str> {
        let failed = self.ids.iter().find(|(id, status)| {
            let is_told = but.iter().any(|one| *one == *id || is_part(one, id));
            **status == Status::Failed && !is_told
        });
        failed.map(|(id, _)| id.as_str())
    }
}

/// Whether a test is a part of another, which fails with it: `TestAdd/zero` of `TestAdd`.
pub(super) fn is_part(one: &str, of: &str) -> bool {
    let rest = one.strip_prefix(of);
    rest.is_some_and(|rest| rest.starts_with('/') || rest.starts_with(" > "))
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
        "go" if plain == Some(&"test") && rest.contains(&"-v") => Some(TestFormat::Go),
        "node"
            if rest.contains(&"--test")
                && rest.iter().any(|word| word.ends_with("reporter=tap")) =>
        {
            Some(TestFormat::Tap)
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
        TestFormat::Go => go_tests::read(text),
        TestFormat::Tap => tap::read(text),
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
    let (first, rest) = line.split_once(' ')?;
    if let Some(status) = status(first).filter(|_| rest.contains("::")) {
        let id = rest.split_once(" - ").map_or(rest, |(id, _)| id);
        return Some((id.trim().to_owned(), status));
    }
    if let Some((id, _)) = line
        .split_once(" SUBFAIL")
        .filter(|(id, _)| id.contains("::"))
    {
        return Some((id.to_owned(), Status::Failed));
    }
    // Names of parametrized tests may hold blanks: the word stands last, but for how far the run is.
    let (said, _) = line
        .rsplit_once(" [")
        .filter(|(_, share)| share.ends_with("%]"))
        .unwrap_or((line, ""));
    let said = said.trim_end();
    let said = said.strip_suffix(')').map_or(said, |_| {
        // `SKIPPED (why)`, `XFAIL (why)`.
        said.rsplit_once(" (").map_or(said, |(before, _)| before)
    });
    let (id, word) = said.rsplit_once(' ')?;
    let status = status(word).filter(|_| id.contains("::"))?;
    Some((id.trim().to_owned(), status))
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
    let named = asked.names_tests();
    let none_ran = run.complete && run.ran == 0;
    // Where tests are named, that none ran, or all were skipped, is what the code under test made of them.
    if none_ran && !named {
        return Some(error("no_tests_ran"));
    }
    if named && !run.ids_known && run.complete && !none_ran {
        return Some(error("test_ids_unknown"));
    }
    if let Some(objection) = not_passed(asked.expected(), run) {
        return Some(objection);
    }
    if exit == 0
        && let Some(id) = run.first_failed(&BTreeSet::new())
    {
        return Some(fail(format!("tests_failed:{id}")));
    }
    // A runner that is known and ended well without its last words did not end by itself.
    let cut_short = !run.complete && (named || run.ids_known || run.ran > 0 || exit == 0);
    cut_short.then(|| fail("tests_cut_short"))
}

/// The first of the tests with a twin that did not pass, as an opinion.
pub(super) fn missing(twin: &[TwinEdit], run: &TestRun) -> Option<Opinion> {
    not_passed(twin.iter().map(|edit| &edit.test), run)
}

fn not_passed<'a>(mut ids: impl Iterator<Item = &'a String>, run: &TestRun) -> Option<Opinion> {
    ids.find_map(|id| match run.status(id) {
        Some(Status::Passed) => None,
        Some(Status::Failed) => Some(fail(format!("tests_failed:{id}"))),
        Some(Status::Skipped | Status::Excused) | None => Some(fail(format!("tests_missing:{id}"))),
    })
}

/// What a run says in which some tests were made wrong: it passes where exactly these failed.
pub(super) fn mixed(mixture: &Mixture, expect: &[String], run: &TestRun) -> Opinion {
    for id in &mixture.wrong {
        match run.status(id) {
            Some(Status::Failed) => {}
            Some(Status::Passed | Status::Skipped | Status::Excused) => {
                return twin_passed(id);
            }
            None => return twin_unclear(&fail(format!("tests_missing:{id}"))),
        }
    }
    let wrong = run.named(&mixture.wrong);
    let right = expect.iter().chain(&mixture.right);
    let is_wrong = |id: &String| {
        let mut tests = run.tests(id).into_iter();
        tests.any(|(known, _)| wrong.iter().any(|one| *one == known || is_part(one, known)))
    };
    let right = right.filter(|id| !is_wrong(id));
    // Tests that nobody named are not looked at: the agent's own may run the wrong ones.
    not_passed(right, run).map_or(PASS, |failed| twin_unclear(&failed))
}

/// Tests that passed do not, where others were made wrong: nobody knows what their pass was worth.
pub(super) fn twin_unclear(why: &Opinion) -> Opinion {
    let why = why.reason.as_deref().unwrap_or_default();
    Opinion::new(Grade::Flaky, format!("twin_unclear:{why}"))
}

#[cfg(test)]
#[path = "test_run_tests.rs"]
mod tests;
