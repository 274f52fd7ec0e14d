//! The modules that changes make, and where they are looked for.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::trial::known::below;
use crate::workspace::{ChangedPath, Now};

/// What tells a folder's packages: the base commit, and the packages that changes make.
#[derive(Clone, Copy)]
pub(in crate::trial) struct Layout<'a> {
    paths: &'a BTreeSet<PathBuf>,
    made: &'a BTreeSet<PathBuf>,
}

impl<'a> Layout<'a> {
    /// That of a base commit with these `paths`, where changes `made` these packages.
    pub(in crate::trial) const fn of(
        paths: &'a BTreeSet<PathBuf>,
        made: &'a BTreeSet<PathBuf>,
    ) -> Self {
        Self { paths, made }
    }

    /// Whether the base commit has `path`.
    pub(in crate::trial) fn has(&self, path: &Path) -> bool {
        self.paths.contains(path)
    }

    /// Whether `folder` is a package of the base commit.
    pub(in crate::trial) fn has_package(&self, folder: &Path) -> bool {
        self.has(&folder.join("__init__.py"))
    }

    /// Whether the base commit has a module of this name in `folder`.
    pub(super) fn has_module(&self, folder: &Path, module: &str) -> bool {
        self.has(&folder.join(format!("{module}.py"))) || self.has_package(&folder.join(module))
    }

    /// Whether importing passes through `folder` and does not begin there: it is a package, or new in one. A folder of the base
    /// commit is no package for a new `__init__.py` alone, since whoever begins there takes no notice of it.
    pub(super) fn is_in_package(&self, folder: &Path) -> bool {
        for folder in folder.ancestors() {
            if self.has_package(folder) {
                return true;
            }
            let is_known = below(self.paths, folder).next().is_some();
            if is_known || folder.as_os_str().is_empty() {
                return false;
            }
            if self.made.contains(folder) {
                return true;
            }
        }
        false
    }
}

/// The folders that changes make packages.
pub(in crate::trial) fn packages_made(changed: &[ChangedPath]) -> BTreeSet<PathBuf> {
    let inits = changed.iter().filter(|one| {
        one.now != Now::Removed
            && one
                .path
                .file_name()
                .is_some_and(|name| name == "__init__.py")
    });
    let folders = inits.filter_map(|one| one.path.parent());
    folders.map(Path::to_owned).collect()
}

/// What Python imports a changed file instead of.
pub(in crate::trial) struct Rivals {
    /// Modules of its name.
    pub(in crate::trial) files: Vec<PathBuf>,
    /// A folder of its name, if that is no package.
    pub(in crate::trial) folder: Option<PathBuf>,
}

/// Those of a change that makes a module: in one folder packages come first, then compiled modules, then sources; folders that
/// are no packages come last.
pub(in crate::trial) fn rivals(changed: &ChangedPath) -> Option<Rivals> {
    let (folder, name) = module(changed)?;
    let own = changed.path.file_name()?.to_str()?;
    let package = folder.join(name);
    let mut files = vec![folder.join(format!("{name}.py"))];
    let makes_package = own.starts_with("__init__.");
    if makes_package {
        files.push(package.join("__init__.py"));
    }
    Some(Rivals {
        files,
        folder: (!makes_package).then_some(package),
    })
}

/// The folder and the name of the module that a change makes: a source, a compiled one, a package, a link to one.
pub(in crate::trial) fn module(changed: &ChangedPath) -> Option<(&Path, &str)> {
    if changed.now == Now::Removed {
        return None;
    }
    let path = changed.path.as_path();
    let name = path.file_name()?.to_str()?;
    let (stem, rest) = name.split_once('.').unwrap_or((name, ""));
    let is_code = ["py", "so", "pyd", "pyc"]
        .iter()
        .any(|ending| rest == *ending || rest.ends_with(&format!(".{ending}")));
    let folder = path.parent()?;
    match (stem, is_code, &changed.now) {
        ("__init__", true, _) => Some((folder.parent()?, folder.file_name()?.to_str()?)),
        (stem, true, _) => Some((folder, stem)),
        (stem, _, Now::Link(_)) if rest.is_empty() => Some((folder, stem)),
        _ => None,
    }
}
