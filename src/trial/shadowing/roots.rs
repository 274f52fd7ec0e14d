//! The folders that Python may import from while a task's graders run.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::config::GraderSpec;
use crate::trial::shadowing::{Doubt, Layout};

/// Folders that many projects import from.
const BY_CUSTOM: [&str; 5] = ["src", "lib", "python", "test", "tests"];

/// Words after which a command names the folder that importing begins in.
const BEFORE_FOLDERS: [&str; 6] = [
    "-s",
    "--start-directory",
    "-t",
    "--top-level-directory",
    "cd",
    "-C",
];

/// Where importing begins.
#[derive(Debug, Default)]
pub(super) struct ImportRoots {
    /// Here in any case.
    sure: BTreeSet<PathBuf>,
    /// Here unless they are packages.
    likely: BTreeSet<PathBuf>,
    /// What graders' `PYTHONPATH` or the base commit's own settings name.
    on_path: BTreeSet<PathBuf>,
    /// Where commands work.
    starts: BTreeSet<PathBuf>,
}

impl ImportRoots {
    /// Those of the graders of a task whose project lies in `subdir`, where the base commit's settings name `on_path`.
    pub(super) fn of(graders: &[GraderSpec], subdir: &Path, on_path: &BTreeSet<PathBuf>) -> Self {
        let starts = BTreeSet::from([PathBuf::new(), subdir.to_owned()]);
        let mut roots = Self {
            sure: starts.clone(),
            likely: BY_CUSTOM.map(|name| subdir.join(name)).into(),
            on_path: on_path.clone(),
            starts,
        };
        for grader in graders {
            let GraderSpec::Command { argv, cwd, env, .. } = grader else {
                continue;
            };
            let start = subdir.join(cwd.as_deref().unwrap_or(Path::new("")));
            let path = env.iter().filter(|(name, _)| name == "PYTHONPATH");
            let path = path.flat_map(|(_, value)| std::env::split_paths(value));
            let path: Vec<PathBuf> = path.filter_map(|folder| inside(&start, &folder)).collect();
            roots.sure.extend(path.iter().cloned());
            roots.on_path.extend(path);
            roots.named(&start, argv);
            let start = inside(&start, Path::new("."));
            roots.sure.extend(start.clone());
            roots.starts.extend(start);
        }
        roots
    }

    /// What the words of a command name, those of a script among them.
    fn named(&mut self, start: &Path, argv: &[String]) {
        let quotes = |character: char| "\"'();&|".contains(character);
        let words = argv.iter().flat_map(|word| word.split_whitespace());
        let mut before = "";
        for word in words.map(|word| word.trim_matches(quotes)) {
            let path = Path::new(word.split("::").next().unwrap_or(word));
            if let Some(folder) = inside(start, path) {
                if BEFORE_FOLDERS.contains(&before) {
                    self.sure.insert(folder);
                } else {
                    self.likely.extend(folder.parent().map(Path::to_owned));
                    self.likely.insert(folder);
                }
            }
            before = word;
        }
    }

    /// Whether importing begins in `folder`; possible wherever no package is, since a script, a makefile or pytest may go there.
    pub(super) fn doubt(&self, folder: &Path, layout: Layout<'_>) -> Option<Doubt> {
        if self.sure.contains(folder) {
            return Some(Doubt::Certain);
        }
        let is_in_package = layout.is_in_package(folder);
        if self.likely.contains(folder) && !layout.has_package(folder) {
            let doubt = if is_in_package {
                Doubt::Possible
            } else {
                Doubt::Certain
            };
            return Some(doubt);
        }
        (!is_in_package).then_some(Doubt::Possible)
    }

    /// Whether some setting says that importing begins in `folder`.
    pub(super) fn has_on_path(&self, folder: &Path) -> bool {
        self.on_path.contains(folder)
    }

    /// Where commands work.
    pub(super) fn starts(&self) -> impl Iterator<Item = &Path> {
        self.starts.iter().map(PathBuf::as_path)
    }

    /// What settings name.
    pub(super) fn on_path(&self) -> impl Iterator<Item = &Path> {
        self.on_path.iter().map(PathBuf::as_path)
    }

    /// Whether importing begins in `folder`, or may do so by custom or by a word of a command.
    pub(super) fn has(&self, folder: &Path) -> bool {
        self.sure.contains(folder) || self.likely.contains(folder)
    }
}

/// What stands for the root in settings is left out.
fn without_root(folder: &Path) -> PathBuf {
    const ROOTS: [&str; 8] = [
        "{WORKDIR}",
        "{REPO_ROOT}",
        "{toxinidir}",
        "{tox_root}",
        "$PWD",
        "${PWD}",
        "$(CURDIR)",
        "$(PWD)",
    ];
    let root = ROOTS.iter().find_map(|root| folder.strip_prefix(root).ok());
    root.unwrap_or(folder).to_owned()
}

/// A relative path from the root, if it stays inside; `.` is left out.
pub(super) fn inside(start: &Path, path: &Path) -> Option<PathBuf> {
    let path = without_root(path);
    let mut whole = PathBuf::new();
    for component in start.join(path).components() {
        match component {
            Component::Normal(name) => whole.push(name),
            Component::CurDir => {}
            Component::ParentDir if whole.pop() => {}
            _ => return None,
        }
    }
    Some(whole)
}
