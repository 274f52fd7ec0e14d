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
    let told = graders.iter().zip(1..);
    let told = told.filter_map(|(grader, number)| unasked_by(number, grader));
    told.collect()
}

/// The same of one grader.
pub(super) fn unasked_by(number: usize, grader: &GraderSpec) -> Option<String> {
    let GraderSpec::Command { tests, .. } = grader else {
        return None;
    };
    let sentinel = tests.sentinel.as_ref()?;
    Some(format!(
        "an object that equals everything passes grader {number}: let its sentinel `{sentinel}` ask the code under test for an answer that is wrong (SETUP.md, Tests that really ran)"
    ))
}

/// What a person calls a grader: its command, cut where it is long, or its type.
pub(super) fn called(grader: &GraderSpec) -> String {
    const SHOWN: usize = 60;
    let GraderSpec::Command { argv, .. } = grader else {
        return grader.type_name().to_owned();
    };
    let command = shell_words::join(argv);
    let cut = if command.chars().count() > SHOWN {
        "..."
    } else {
        ""
    };
    let shown: String = command.chars().take(SHOWN).collect();
    format!("`{shown}{cut}`")
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
