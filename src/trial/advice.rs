//! What a validation tells of graders that can be cheated, and what to do about it.

use crate::config::{GraderSpec, TaskSpec};
use crate::graders::tests_told_by;
use crate::trial::frame::Frame;
use crate::workspace::named;

/// Graders that go by what the process under test tells of its tests, and have nothing that must fail in it.
pub(super) fn believed(graders: &[GraderSpec]) -> Vec<String> {
    let told = graders.iter().enumerate().filter_map(|(index, grader)| {
        let GraderSpec::Command { argv, tests, .. } = grader else {
            return None;
        };
        tests_told_by(tests, argv)?;
        let missing = match (&tests.sentinel, tests.expect.is_empty()) {
            (Some(_), false) => return None,
            (Some(_), true) => "`expect_tests`",
            (None, false) => "a `sentinel`",
            (None, true) => "a `sentinel` and `expect_tests`",
        };
        let number = index + 1;
        Some(format!(
            "grader {number} believes what the code under test may print itself: give it {missing} (SETUP.md, Tests that really ran)"
        ))
    });
    told.collect()
}

/// Graders whose sentinel, where they have one, fails whatever the code under test says.
pub(super) fn unasked(graders: &[GraderSpec]) -> Vec<String> {
    let told = graders.iter().enumerate().filter_map(|(index, grader)| {
        let GraderSpec::Command { tests, .. } = grader else {
            return None;
        };
        let sentinel = tests.sentinel.as_ref()?;
        let number = index + 1;
        Some(format!(
            "an object that equals everything passes grader {number}: let its sentinel `{sentinel}` ask the code under test for an answer that is wrong (SETUP.md, Tests that really ran)"
        ))
    });
    told.collect()
}

/// Scripts that graders name and that agents may change, and what to do about it.
pub(super) fn open_scripts(frame: &Frame<'_>, task: &TaskSpec) -> Option<String> {
    let context = frame.context;
    let guard = context.guard(frame.planned)?;
    let base = context.template.base();
    let there = guard
        .open_scripts()
        .filter(|path| base.file(path).is_some());
    let (own, there): (Vec<_>, Vec<_>) = there.partition(|path| guard.is_worked_on(path));
    if let Some(own) = own.first() {
        return Some(format!(
            "graders run {}, which the work itself changes: let them run a script of the suite in its place (`grader_files`)",
            named(own)
        ));
    }
    let names = there.into_iter().map(named);
    let names = names.collect::<Vec<_>>().join(", ");
    let instead = match task.protected {
        Some(_) => "",
        None => ", which takes the place of the default list",
    };
    Some(format!(
        "agents may change what graders run: `protected: [{names}]` keeps it{instead} (SETUP.md, Protected files)"
    ))
}
