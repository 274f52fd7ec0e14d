//! The base commit as the rules about paths ask for it.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use proctor_workspace::Template;

/// What the base commit holds.
pub(super) struct Known {
    paths: BTreeSet<PathBuf>,
}

impl Known {
    /// That of `template`.
    pub(super) fn of(template: &Template) -> Self {
        let paths = template.base().paths().map(Path::to_owned).collect();
        Self { paths }
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
