//! Paths that are named in a folder.

use std::path::{Component, Path, PathBuf};

/// The path of `name` from the root, where it is named in `folder`.
pub(super) fn within(folder: &Path, name: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for part in folder.join(name).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(part) => path.push(part),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path
}
