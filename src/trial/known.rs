//! The base commit as the rules about paths ask for it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use proctor_workspace::{BaseCommit, Template};

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

    /// What a patch makes of the files that it changes; empty where it removes them.
    pub(super) fn after(&self, patch: &Path, subdir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        self.commit.after(patch, subdir)
    }

    /// All files and links below a folder.
    pub(super) fn below<'b>(&'b self, folder: &'b Path) -> impl Iterator<Item = &'b Path> {
        // Paths are ordered by component, so that what is in a folder follows it.
        let from = (Bound::Excluded(folder), Bound::Unbounded);
        let after = self.paths.range::<Path, _>(from);
        let after = after.map(PathBuf::as_path);
        after.take_while(move |path| path.starts_with(folder))
    }
}
