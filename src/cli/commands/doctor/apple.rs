//! Xcode's tools: watched in every suite, needed by Apple graders.

use std::ffi::OsStr;
use std::path::Path;

use crate::cli::commands::doctor::Patient;
use crate::cli::commands::doctor::check::{Check, State};
use crate::config::GraderSpec;
use crate::supervise::find_program;

/// Whether `xcodebuild` and `xcrun` are here; a machine that needs neither is told nothing.
pub(super) fn check(patient: &Patient) -> Option<Check> {
    let is_needed = patient.suite.as_ref().is_some_and(|suite| {
        let mut graders = suite.tasks.iter().flat_map(|task| &task.graders);
        graders.any(|grader| {
            matches!(
                grader,
                GraderSpec::IosTestPass(_)
                    | GraderSpec::IosInstallCheck
                    | GraderSpec::IosLaunchCheck
            )
        })
    });
    let absent: Vec<&str> = ["xcodebuild", "xcrun"]
        .into_iter()
        .filter(|name| find_program(OsStr::new(name), &patient.path, Path::new("/")).is_none())
        .collect();
    let check = |state| {
        Check::new("Xcode", state)
            .needed_for("graders ios_test_pass, ios_install_check, ios_launch_check")
    };
    match absent.as_slice() {
        [] => Some(check(State::Ok).found("xcodebuild and xcrun are here")),
        _ if !is_needed && !cfg!(target_os = "macos") => None,
        absent => Some(
            check(State::absent(is_needed))
                .found(format!("not on PATH: {}", absent.join(", ")))
                .advice("install Xcode and run `xcode-select --install`, or leave those tasks out with --task-ids"),
        ),
    }
}
