//! Folders that something is looked for in, as build files name them.

use std::path::{Component, Path, PathBuf};

use crate::graders::{UNKNOWN, fits};
use crate::trial::make_family::within;

/// A folder that something is looked for in.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nobody knows which.
    Any,
    /// This one, from the root; it may have wildcards.
    Is(String),
    /// One whose path ends so.
    Ends(PathBuf),
}

impl Place {
    /// The folder that a file in `folder` calls `name`; `None` is outside of the project.
    pub(super) fn of(folder: &Path, name: &str) -> Option<Self> {
        if name.starts_with('/') {
            return None;
        }
        Some(match name.strip_prefix("*/") {
            Some(rest) => Self::anywhere(folder, rest),
            None if name == UNKNOWN => Self::Any,
            None => Self::Is(within(folder, name)),
        })
    }

    /// The same where it is not known which folder `name` is seen from.
    pub(super) fn anywhere(folder: &Path, name: &str) -> Self {
        let parts = Path::new(name).components();
        let plain: PathBuf = parts
            .filter(|part| matches!(part, Component::Normal(_)))
            .collect();
        if name.contains(UNKNOWN) {
            Self::Any
        } else if plain.as_os_str().is_empty() {
            Self::Is(within(folder, ""))
        } else {
            Self::Ends(plain)
        }
    }

    pub(super) fn is(&self, folder: &Path) -> bool {
        match self {
            Self::Any => true,
            Self::Is(path) => folder.to_str().is_some_and(|folder| fits(path, folder)),
            Self::Ends(end) => folder.ends_with(end),
        }
    }

    /// Whether a link at `path` stands for it, or for a folder that it lies in.
    pub(super) fn is_below(&self, path: &Path) -> bool {
        match self {
            Self::Any => false,
            Self::Is(folder) => Path::new(folder).starts_with(path),
            Self::Ends(end) => end
                .ancestors()
                .any(|part| !part.as_os_str().is_empty() && path.ends_with(part)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_folder_or_any_that_ends_so() {
        let folder = Path::new("a");
        for (place, path, is) in [
            (Place::of(folder, "inc"), "a/inc", true),
            (Place::of(folder, "./inc"), "inc", false),
            (Place::of(folder, "../inc"), "inc", true),
            (Place::of(folder, "s/*"), "a/s/x", true),
            (Place::of(folder, "*/inc"), "b/inc", true),
            (Place::of(folder, UNKNOWN), "b", true),
            (Place::of(folder, "/usr/inc"), "usr/inc", false),
            (Some(Place::anywhere(folder, "./tools")), "b/tools", true),
            (Some(Place::anywhere(folder, ".")), "a", true),
            (Some(Place::anywhere(folder, ".")), "b", false),
        ] {
            let found = place
                .as_ref()
                .is_some_and(|place| place.is(Path::new(path)));
            assert_eq!(found, is, "{place:?} {path}");
        }
        let below = Place::anywhere(folder, "x/bin");
        assert!(below.is_below(Path::new("x")) && below.is_below(Path::new("b/x/bin")));
        assert!(!below.is_below(Path::new("bin/y")) && !Place::Any.is_below(folder));
    }
}
