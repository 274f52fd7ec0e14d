//! `twin`: edits that make hidden tests wrong, held against the files that they edit.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::fields::Fields;
use crate::files::Files;
use crate::problem::Report;
use crate::tables::TWIN;
use crate::{Twin, TwinEdit};

/// The edits of one grader.
pub(super) fn twin(options: &Fields<'_>) -> Twin {
    let edits = options.sections("twin", &TWIN).into_iter();
    let edits = edits.filter_map(|edit| {
        Some(TwinEdit {
            test: edit.text("test")?,
            file: clean(Path::new(&edit.text("file")?)),
            from: edit.text("from")?,
            to: edit.text("to")?,
        })
    });
    Twin {
        edits: edits.collect(),
        runs: options.count("twin_runs"),
    }
}

/// Says what is wrong with the edits of one grader of a task that lays these files.
pub(super) fn check(
    options: &Fields<'_>,
    laid: &[(PathBuf, PathBuf)],
    files: &Files<'_>,
    report: &mut Report,
) {
    let tests = options.sections("twin", &TWIN).len();
    let runs = options.count("twin_runs");
    if let Some(least) = too_few(tests, runs) {
        let message = format!("{runs} runs leave a guess about {tests} tests more than 1 %");
        report
            .error(
                options.place_of("twin_runs"),
                &options.path("twin_runs"),
                message,
            )
            .hint(format!("use at least {least}"));
    }
    let mut seen = BTreeSet::new();
    for edit in options.sections("twin", &TWIN) {
        let (Some(test), Some(file)) = (edit.text("test"), edit.text("file")) else {
            continue;
        };
        if !seen.insert(test.clone()) {
            let message = format!("\"{test}\" has a twin already");
            report.error(edit.place_of("test"), &edit.path("test"), message);
        }
        let (from, to) = (edit.text_or_empty("from"), edit.text_or_empty("to"));
        if from == to {
            report.error(edit.place_of("to"), &edit.path("to"), "is the same as from");
        }
        let place = edit.place_of("file");
        let Some(source) = source(&clean(Path::new(&file)), laid) else {
            report
                .error(
                    place,
                    &edit.path("file"),
                    format!("{file} is not a hidden file"),
                )
                .hint("tests that agents can read have no twin: lay the file by grader_files");
            continue;
        };
        let Ok(content) = fs::read_to_string(&source) else {
            if files.checked && source.exists() {
                let message = format!("{} is not a text file", source.display());
                report.error(place, &edit.path("file"), message);
            } else if files.checked {
                let message = format!("{} does not exist", source.display());
                report.error(place, &edit.path("file"), message);
            }
            continue;
        };
        let count = content.matches(&from).count();
        if count != 1 {
            let message = format!("stands {count} times in {}", source.display());
            report
                .error(edit.place_of("from"), &edit.path("from"), message)
                .hint("give text that the file holds exactly once");
        }
    }
}

/// How many runs so many tests need, where these are too few: each test is wrong in one of `2^runs - 2` ways, and guessing
/// all of them must succeed in less than one of a hundred trials.
fn too_few(tests: usize, runs: u32) -> Option<u32> {
    let tests = u32::try_from(tests).unwrap_or(u32::MAX);
    let is_enough = |runs: &u32| (2_u64.pow(*runs) - 2).saturating_pow(tests) > 100;
    let least = (2..=7).find(is_enough).unwrap_or(7);
    (tests > 0 && runs < least).then_some(least)
}

/// The file that is laid at `path`.
fn source(path: &Path, laid: &[(PathBuf, PathBuf)]) -> Option<PathBuf> {
    let mut found = laid.iter().rev().filter_map(|(from, to)| {
        let inside = path.strip_prefix(clean(to)).ok()?;
        if inside.as_os_str().is_empty() {
            return Some(from.clone());
        }
        Some(from.join(inside))
    });
    found.next()
}

/// A path without `.`.
fn clean(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| *part != std::path::Component::CurDir)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tests_need_more_runs() {
        for (tests, runs, least) in [
            (1, 7, None),
            (1, 6, Some(7)),
            (2, 3, Some(4)),
            (3, 3, None),
            (6, 2, Some(3)),
            (7, 2, None),
            (0, 2, None),
        ] {
            assert_eq!(too_few(tests, runs), least, "{tests} tests");
        }
    }
}
