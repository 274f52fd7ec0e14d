//! The base commit as the rules about paths ask for it.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use crate::workspace::Template;

/// What the base commit holds.
pub(super) struct Known<'a> {
    template: &'a Template,
    paths: BTreeSet<PathBuf>,
}

impl<'a> Known<'a> {
    /// That of `template`.
    pub(super) fn of(template: &'a Template) -> Self {
        let paths = template.base_paths();
        Self { template, paths }
    }

    /// What a file held; `None` where there was none, or a link.
    pub(super) fn file(&self, path: &Path) -> Option<Vec<u8>> {
        let is_there = self.paths.contains(path);
        is_there.then(|| self.template.base_file(path)).flatten()
    }

    /// What those of its files hold that `which` names, no more than `most` of them.
    pub(super) fn files(
        &self,
        most: usize,
        which: &dyn Fn(&Path) -> bool,
    ) -> Vec<(PathBuf, Vec<u8>)> {
        let named = self.paths.iter().filter(|path| which(path)).take(most);
        let named: BTreeSet<&Path> = named.map(PathBuf::as_path).collect();
        self.template.base_files(|path| named.contains(path))
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
