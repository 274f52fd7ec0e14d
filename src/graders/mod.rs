//! Judging what a trial left.
//!
//! [`grade`] is total: a grader that fails, cannot judge, runs too long or panics is a verdict like any other. Graders look
//! at files by [`crate::workspace::survey`], never by git, and start programs by `supervise` only.

mod apple;
mod baseline;
mod command;
mod dependency_lines;
mod forbidden;
mod globs;
mod go_code;
mod grade;
mod heard;
mod held;
mod inside;
mod judged;
mod junit;
mod layered;
mod locks;
mod make_changes;
mod make_lines;
mod make_paths;
mod make_words;
mod makefiles;
mod pixels;
mod privacy;
mod python;
mod ranking;
mod readers;
mod readings;
mod recording;
mod requirements;
mod screenshot;
mod test_config;
mod test_run;
mod test_words;
#[cfg(test)]
mod tests;
mod tools;
mod traced;
mod unittest;
mod watched_files;

pub use apple::AppleDesk;
pub use baseline::{ForbiddenBaseline, capture_baseline};
pub use globs::Globs;
pub use grade::{
    GradeContext, Judged, Round, compromised, grade, lacked_by_machine, no_panic, of_simulator,
};
pub use heard::{Heard, told_by_tools};
pub use held::{Held, LayersFound, hold};
pub use judged::{Asked, Shown};
pub use layered::is_unjudged;
pub use make_changes::{MakeAround, changed_make, first_make_target, new_make};
pub use make_paths::{pattern_list, put_on_path, searched_by_compilers, searched_by_make};
pub use make_words::{UNKNOWN, Variables, fits, stem};
pub use makefiles::{
    included_makefiles, is_makefile, make_rules, pattern_rules, phony_targets, read_by_name,
    runs_first_target, speaks_of_tests,
};
pub use python::{python_of, python_version, runs_unittest};
pub use readers::tools_that_read;
pub use recording::{Recording, said_failed};
pub use test_config::{Beside, ReadBy, changed_test_config, read_by, says_how_tests_run};
pub use test_run::tests_told_by;
pub use tools::{Tool, Tools, system_path};
pub use traced::trace_of;
