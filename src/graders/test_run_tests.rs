//! What runners say is read as they mean it, and only what passed is a pass.

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
fn a_failure_that_the_runner_was_told_to_expect_is_no_pass() {
    use TestFormat::{Junit, Pytest, Unittest};
    let pytest = "t.py::a PASSED [ 50%]\nt.py::b XFAIL (todo) [100%]\n==== 1 passed, 1 xfailed in 0.02s ====\n";
    let none = "t.py::b XFAIL\n==== 1 xfailed in 0.02s ====\n";
    let twice = "t.py::b PASSED\nt.py::b XFAIL\n==== 1 passed, 1 xfailed in 0.02s ====\n";
    let part =
        "t.py::b SUBFAILED[x] (i=1)\nt.py::b PASSED\n==== 1 failed, 1 passed in 0.02s ====\n";
    let plain = "t.py::b PASSED\n==== 1 passed, 3 xfailed in 0.02s ====\n";
    let unit = |said: &str, end: &str| {
        format!("b (t.T.b) ... {said}\n\n----\nRan 1 test in 0.001s\n\n{end}\n")
    };
    let expected = unit("expected failure", "OK (expected failures=1)");
    let unexpected = unit("unexpected success", "FAILED (unexpected successes=1)");
    let passed = unit("ok", "OK");
    let junit = |word: &str| format!("<testsuite><testcase name=\"b\" {word}/></testsuite>");
    let (skipped, disabled, ran) = (
        junit("result=\"skipped\" status=\"run\""),
        junit("status=\"notrun\""),
        junit("status=\"run\" result=\"completed\""),
    );
    for (format, text, as_expected, as_sentinel) in [
        (Pytest, pytest, "tests_missing:b", "sentinel_passed:b"),
        (Pytest, none, "tests_missing:b", "sentinel_passed:b"),
        (Pytest, twice, "tests_missing:b", "sentinel_passed:b"),
        (Pytest, part, "tests_failed:b", ""),
        (Pytest, plain, "", "sentinel_passed:b"),
        (Unittest, &expected, "tests_missing:b", "sentinel_passed:b"),
        (Unittest, &unexpected, "tests_failed:b", ""),
        (Unittest, &passed, "", "sentinel_passed:b"),
        (Junit, &skipped, "tests_missing:b", "sentinel_missing:b"),
        (Junit, &disabled, "tests_missing:b", "sentinel_missing:b"),
        (Junit, &ran, "", "sentinel_passed:b"),
    ] {
        let run = read(format, text);
        for (spec, told) in [
            (asked(&["b"], None), as_expected),
            (asked(&[], Some("b")), as_sentinel),
        ] {
            let said = objection(&spec, &run, 1);
            let said = said.and_then(|opinion| opinion.1).unwrap_or_default();
            assert_eq!(said, told, "{text}: {run:?}");
        }
    }
    // Where all are excused, and nobody names one, none ran.
    let none = objection(&asked(&[], None), &read(Pytest, none), 0);
    assert_eq!(none.and_then(|it| it.1).as_deref(), Some("no_tests_ran"));
    let none = objection(&asked(&[], None), &read(Unittest, &expected), 0);
    assert_eq!(none.and_then(|it| it.1).as_deref(), Some("no_tests_ran"));
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
