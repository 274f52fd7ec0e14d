//! The paths that a task names, and where links lead.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::config::TaskSpec;
use crate::workspace::{ChangedPath, Now};

/// The files that `grader_files` lay, from the root, each with the one that it is a copy of.
pub(super) fn laid_files(task: &TaskSpec, subdir: &Path) -> BTreeMap<PathBuf, PathBuf> {
    let mut found = BTreeMap::new();
    let mut waiting: Vec<(PathBuf, PathBuf)> = task.grader_files.clone();
    while let Some((from, to)) = waiting.pop() {
        let Ok(inside) = fs::read_dir(&from) else {
            let to = to.components().filter(|part| *part != Component::CurDir);
            found.insert(subdir.join(to.collect::<PathBuf>()), from);
            continue;
        };
        let inside = inside.flatten();
        waiting.extend(inside.map(|entry| (entry.path(), to.join(entry.file_name()))));
    }
    found
}

/// Whether a link leads out of the tree: what it would bring in is nothing that was captured.
pub(super) fn leads_out(changed: &ChangedPath) -> bool {
    let Now::Link(target) = &changed.now else {
        return false;
    };
    let target = Path::new(OsStr::from_bytes(target));
    let mut depth = changed.path.components().count().saturating_sub(1);
    for component in target.components() {
        match component {
            Component::RootDir | Component::Prefix(_) => return true,
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return true,
            },
        }
    }
    false
}

/// A path as a pattern that means it alone.
pub(super) fn literal(path: &Path) -> String {
    let text = path.to_string_lossy();
    let escaped = text.chars().flat_map(|character| {
        let special = "*?[]{}\\".contains(character);
        special.then_some('\\').into_iter().chain([character])
    });
    escaped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_out_of_the_tree_is_known_by_its_words_alone() {
        let link = |path: &str, target: &str| ChangedPath {
            path: PathBuf::from(path),
            now: Now::Link(target.as_bytes().to_vec()),
        };
        for (path, target, out) in [
            ("a", "b", false),
            ("a", "../b", true),
            ("d/a", "../b", false),
            ("d/a", "../../b", true),
            ("a", "/etc/passwd", true),
            ("d/e/a", "../x/../../b", false),
            ("a", "x/../../b", true),
        ] {
            assert_eq!(leads_out(&link(path, target)), out, "{path} -> {target}");
        }
    }
}
