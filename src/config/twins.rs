//! `twin`: edits that make hidden tests wrong, held against the files that they edit.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::config::TwinEdit;
use crate::config::at::At;

/// Says what is wrong with the edits of one grader of a task that lays these files.
pub(super) fn check(edits: &[TwinEdit], at: &At<'_>, laid: &[(PathBuf, PathBuf)]) {
    let mut seen = BTreeSet::new();
    for (edit, at) in edits.iter().zip(at.key("twin").items()) {
        if !seen.insert(&edit.test) {
            let message = format!("\"{}\" has a twin already", edit.test);
            at.key("test").error(message);
        }
        if edit.from == edit.to {
            at.key("to").error("is the same as from");
        }
        let Some(source) = source(&edit.file, laid) else {
            let message = format!("{} is not a hidden file", edit.file.display());
            at.key("file")
                .error(message)
                .hint("tests that agents can read have no twin: lay the file by grader_files");
            continue;
        };
        let Ok(content) = fs::read_to_string(&source) else {
            if at.reading.checked {
                let is_there = source.exists();
                let why = if is_there {
                    "is not a text file"
                } else {
                    "does not exist"
                };
                let message = format!("{} {why}", source.display());
                at.key("file").error(message);
            }
            continue;
        };
        let count = content.matches(&edit.from).count();
        if count != 1 {
            let message = format!("stands {count} times in {}", source.display());
            at.key("from")
                .error(message)
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
pub(super) fn clean(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| *part != std::path::Component::CurDir)
        .collect()
}
