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
        self.ran += u64::from(status != Status::Skipped);
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
                || bare.contains(" deselected"))
        {
            summary = Some(bare);
        } else if let Some((id, status)) = pytest_line(line) {
            run.ids_known = true;
            if !run.ids.contains_key(&id) || status == Status::Failed {
                run.add(id, status);
            }
        }
    }
    run.complete = summary.is_some();
    run.ran = summary.map_or(0, |bare| {
        let words = [" passed", " failed", " error", " xfailed", " xpassed"];
        words.iter().map(|word| count_before(bare, word)).sum()
    });
    run
}

/// `file::test PASSED [ 50%]`, or `PASSED file::test` of the short summary.
fn pytest_line(line: &str) -> Option<(String, Status)> {
    let status = |word: &str| match word {
        "PASSED" | "XFAIL" => Some(Status::Passed),
        "FAILED" | "ERROR" | "XPASS" => Some(Status::Failed),
        "SKIPPED" => Some(Status::Skipped),
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
            Some(Status::Passed) => return Some(fail(format!("sentinel_passed:{sentinel}"))),
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
            Some(Status::Skipped) | None => return Some(fail(format!("tests_missing:{id}"))),
        }
    }
    // A runner that is known and ended well without its last words did not end by itself.
    let cut_short = !run.complete && (named || run.ids_known || run.ran > 0 || exit == 0);
    cut_short.then(|| fail("tests_cut_short"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CARGO: &str = "\nrunning 3 tests\ntest a::one ... ok\ntest a::two - should panic ... ok\ntest slow ... ignored, too slow\n\ntest result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n";
    const PYTEST: &str = "tests/t.py::one PASSED   [ 50%]\ntests/t.py::two FAILED [100%]\n=== FAILURES ===\nFAILED tests/t.py::two - assert 1\n==== 1 failed, 1 passed in 0.02s ====\n";

    fn asked(expect: &[&str], sentinel: Option<&str>) -> TestsSpec {
        TestsSpec {
            expect: expect.iter().map(|id| (*id).to_owned()).collect(),
            sentinel: sentinel.map(str::to_owned),
            ..TestsSpec::default()
        }
    }

    #[test]
    fn what_ran_is_read_from_what_runners_print() {
        let run = cargo(CARGO);
        assert_eq!((run.ran, run.complete, run.ids_known), (2, true, true));
        assert_eq!(run.status("a::two"), Some(Status::Passed));
        assert_eq!(run.status("one"), Some(Status::Passed));
        assert_eq!(run.status("slow"), Some(Status::Skipped));
        let run = pytest(PYTEST);
        assert_eq!((run.ran, run.complete), (2, true));
        assert_eq!(run.status("tests/t.py::two"), Some(Status::Failed));
        let none = pytest("collected 0 items\n\n=== no tests ran in 0.01s ===\n");
        assert_eq!((none.ran, none.complete), (0, true));
        let quiet = pytest("...\n3 passed in 0.01s\n");
        assert_eq!(
            (quiet.ran, quiet.complete, quiet.ids_known),
            (3, true, false)
        );
        let cut = cargo("running 2 tests\ntest a ... ok\n");
        assert_eq!((cut.complete, cut.ids_known), (false, true));
    }

    #[test]
    fn only_the_expected_tests_that_ran_and_passed_are_no_objection() {
        let none = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out; finished in 0.00s\n";
        let skipped = "running 1 test\ntest a::one ... ignored\n\ntest result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let quiet = "running 2 tests\n..\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let failing = CARGO.replace("test a::one ... ok", "test a::one ... FAILED");
        for (text, spec, exit, reason) in [
            (CARGO, asked(&["a::one", "a::two"], None), 0, ""),
            (
                CARGO,
                asked(&["a::three"], None),
                0,
                "tests_missing:a::three",
            ),
            (CARGO, asked(&["slow"], None), 0, "tests_missing:slow"),
            (
                CARGO,
                asked(&[], Some("a::one")),
                0,
                "sentinel_passed:a::one",
            ),
            (&failing, asked(&["a::two"], Some("a::one")), 101, ""),
            (
                &failing,
                asked(&[], Some("a::one")),
                0,
                "sentinel_passed:a::one (exit code 0)",
            ),
            (
                &failing,
                asked(&[], Some("gone")),
                101,
                "sentinel_missing:gone",
            ),
            (&failing, asked(&["a::one"], None), 0, "tests_failed:a::one"),
            (none, asked(&[], None), 0, "no_tests_ran"),
            (none, asked(&["a::one"], None), 0, "tests_missing:a::one"),
            (
                none,
                asked(&[], Some("a::one")),
                0,
                "sentinel_missing:a::one",
            ),
            (skipped, asked(&["a::one"], None), 0, "tests_missing:a::one"),
            (skipped, asked(&[], None), 0, "no_tests_ran"),
            (
                "",
                asked(&[], Some("a::one")),
                101,
                "command_failed:exit=101",
            ),
            ("", asked(&[], Some("a::one")), 0, "sentinel_missing:a::one"),
            (quiet, asked(&["a::one"], None), 0, "test_ids_unknown"),
            (quiet, asked(&[], None), 0, ""),
            (
                "running 2 tests\ntest a::one ... ok\n",
                asked(&[], None),
                0,
                "tests_cut_short",
            ),
            ("", asked(&["a::one"], None), 0, "tests_missing:a::one"),
            ("Compiling\n", asked(&[], None), 0, "tests_cut_short"),
            ("Compiling\n", asked(&[], None), 101, ""),
        ] {
            let said = objection(&spec, &cargo(text), exit);
            let said = said.and_then(|opinion| opinion.1).unwrap_or_default();
            assert_eq!(said, reason, "{text}");
        }
    }

    #[test]
    fn a_sentinel_may_be_named_by_its_last_part_in_every_format() {
        let python = "test_add (hid.test_s.S.test_add) ... ok\ntest_sentinel (hid.test_s.S.test_sentinel) ... FAIL\n\n----------------------------------------------------------------------\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n";
        let other = python.replace(
            "(hid.test_s.S.test_add) ... ok",
            "(hid.test_s.S.test_add) ... FAIL",
        );
        for (text, sentinel, reason) in [
            (python, "test_sentinel", ""),
            (python, "S.test_sentinel", ""),
            (python, "hid.test_s.S.test_sentinel", ""),
            (
                &other,
                "test_sentinel",
                "tests_failed:hid.test_s.S.test_add",
            ),
        ] {
            let run = read(TestFormat::Unittest, text);
            let said = objection(&asked(&[], Some(sentinel)), &run, 1);
            let said = said.and_then(|opinion| opinion.1).unwrap_or_default();
            assert_eq!(said, reason, "{sentinel}: {run:?}");
        }
    }

    #[test]
    fn a_runner_is_known_by_its_command() {
        for (argv, known) in [
            ("cargo test --quiet", Some(TestFormat::Cargo)),
            ("/x/cargo +nightly --offline test", Some(TestFormat::Cargo)),
            ("cargo test --no-run", None),
            ("cargo build", None),
            ("pytest -q", Some(TestFormat::Pytest)),
            ("pytest -q -q", None),
            ("pytest -qq", None),
            ("python3 -m pytest", Some(TestFormat::Pytest)),
            ("python3 -B -m unittest -v", Some(TestFormat::Unittest)),
            ("python3 -m http.server", None),
            ("cargo test -- --list", None),
            ("sh -c true", None),
        ] {
            let words: Vec<String> = argv.split(' ').map(str::to_owned).collect();
            assert_eq!(
                tests_told_by(&TestsSpec::default(), &words),
                known,
                "{argv}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_output_panics(text in "(running [0-9]{0,30} tests|test [a:]* [.]{3} (ok|FAILED)|test result: [a-z]* [0-9]{0,40} passed|[a:]* PASSED|= [0-9]{0,30} passed in 1s|\n){0,12}") {
            for format in [TestFormat::Cargo, TestFormat::Pytest, TestFormat::Junit] {
                let run = read(format, &text);
                objection(&asked(&["a"], Some("b")), &run, 0);
            }
        }
    }
}
