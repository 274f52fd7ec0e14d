//! The base commit as the rules about paths ask for it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use crate::workspace::{BaseCommit, Template};

/// What the base commit holds.
pub(super) struct Known<'a> {
    commit: BaseCommit<'a>,
    paths: BTreeSet<PathBuf>,
}

impl<'a> Known<'a> {
    /// That of `template`.
    pub(super) fn of(template: &'a Template) -> Self {
        let commit = template.base();
        let paths = commit.paths().map(Path::to_owned).collect();
        Self { commit, paths }
    }

    /// What a file held; `None` where there was none, or a link.
    pub(super) fn file(&self, path: &Path) -> Option<Vec<u8>> {
        self.commit.file(path)
    }

    /// What a patch makes of the files that it changes; empty where it removes them.
    pub(super) fn after(&self, patch: &Path, subdir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        self.commit.after(patch, subdir)
    }

    /// What those of its files hold that `which` names, no more than `most` of them.
    pub(super) fn files(
        &self,
        most: usize,
        which: &dyn Fn(&Path) -> bool,
    ) -> Vec<(PathBuf, Vec<u8>)> {
        let named = self.paths.iter().filter(|path| which(path)).take(most);
        let files = named.filter_map(|path| Some((path.clone(), self.commit.file(path)?)));
        files.collect()
    }

    /// Whether there is a file or link at `path`.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.paths.contains(path)
    }

    /// All files and links.
    pub(super) const fn paths(&self) -> &BTreeSet<PathBuf> {
        &self.paths
    }

    /// All files and links below a folder.
    pub(super) fn below<'b>(&'b self, folder: &'b Path) -> impl Iterator<Item = &'b Path> {
        below(&self.paths, folder)
    }
}

/// Those of `paths` that lie below a folder.
pub(super) fn below<'a>(
    paths: &'a BTreeSet<PathBuf>,
    folder: &'a Path,
) -> impl Iterator<Item = &'a Path> {
    // Paths are ordered by component, so that what is in a folder follows it.
    let from = (Bound::Excluded(folder), Bound::Unbounded);
    let after = paths.range::<Path, _>(from);
    let after = after.map(PathBuf::as_path);
    after.take_while(move |path| path.starts_with(folder))
}
