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
