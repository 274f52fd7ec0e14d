//! New modules that take the place of others: of Python's own, which a program that starts beside them imports first, as test runners
//! do, of what the project depends on, and of protected tests. To their tasks they are hooks like `conftest.py`.

mod modules;
mod names;
mod roots;
mod settings;

use std::path::{Path, PathBuf};

use crate::config::GraderSpec;
use crate::graders::{runs_unittest, speaks_of_tests};
use crate::trial::telling::is_dependency;
use crate::workspace::{ChangedPath, Now};

pub(super) use modules::{Layout, Rivals, module, packages_made, rivals};
use names::Names;
use roots::ImportRoots;
pub use settings::PythonSide;

/// How sure it is that a module takes the place of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Doubt {
    /// It may, and honest work may have it: it is carried and told.
    Possible,
    /// It does: it is not carried.
    Certain,
}

/// What Python's own modules try to import though it is hardly ever there: `copy` and `pickle` look for Jython's, `platform`
/// for its and for that of VMS, and the `sitecustomize` of Debian and Ubuntu for `apport_python_hook`.
const TRIED: [&str; 7] = [
    "org",
    "org.python",
    "org.python.core",
    "java",
    "java.lang",
    "vms_lib",
    "apport_python_hook",
];

/// What the graders of a task import, and from where.
#[derive(Debug, Default)]
pub(super) struct Imports {
    roots: ImportRoots,
    names: Names,
}

impl Imports {
    /// Those of the graders of a task whose project lies in `subdir`, with what the base commit and the machine say of Python.
    pub(super) fn of(graders: &[GraderSpec], subdir: &Path, side: &PythonSide) -> Self {
        let mut commands = graders
            .iter()
            .filter(|one| matches!(one, GraderSpec::Command { .. }));
        Self {
            roots: ImportRoots::of(graders, subdir, &side.on_path),
            names: Names {
                versions: side.versions.clone(),
                has_pytest: !commands.clone().all(runs_unittest) || commands.next().is_none(),
                declared: side.declared.clone(),
            },
        }
    }

    /// Whether a change makes a module that stands before one of another; `holds_tests` knows folders of protected tests.
    pub(super) fn shadow(
        &self,
        changed: &ChangedPath,
        layout: Layout<'_>,
        holds_tests: &dyn Fn(&Path) -> bool,
    ) -> Option<Doubt> {
        if names_plugins(changed) {
            return Some(Doubt::Certain);
        }
        let (folder, module) = module(changed)?;
        if let Some((root, name)) = self.tried(folder, module) {
            return (!layout.has_module(root, name)).then_some(Doubt::Certain);
        }
        let of_name = self.names.doubt(module)?;
        let of_place = self.roots.doubt(folder, layout);
        let of_place = match of_place {
            Some(Doubt::Certain) => Doubt::Certain,
            _ if !layout.has_package(folder) && holds_tests(folder) => Doubt::Certain,
            None => return None,
            // Installed dependencies are told of as such.
            Some(Doubt::Possible) if is_dependency(folder) => return None,
            Some(Doubt::Possible) => Doubt::Possible,
        };
        (!layout.has_module(folder, module)).then_some(of_name.min(of_place))
    }

    /// Where importing begins and the first name, where a module is one of those that are tried.
    fn tried<'a>(&self, folder: &'a Path, module: &str) -> Option<(&'a Path, &'static str)> {
        TRIED.iter().find_map(|dotted| {
            let mut parts = dotted.rsplit('.');
            parts.next().filter(|last| *last == module)?;
            let root = parts.try_fold(folder, |folder, part| {
                let is_it = folder.file_name().is_some_and(|name| name == part);
                folder.parent().filter(|_| is_it)
            })?;
            let first = dotted.split('.').next()?;
            self.roots.has(root).then_some((root, first))
        })
    }

    /// What the module that a change makes is called like, seen from other folders that importing begins in, with how sure it is that
    /// its own comes before these.
    pub(super) fn called_like(&self, changed: &ChangedPath, layout: Layout<'_>) -> Vec<Namesake> {
        let mut found = Vec::new();
        let module = module(changed).filter(|(folder, _)| !is_dependency(folder));
        let Some((folder, name)) = module else {
            return found;
        };
        for root in folder.ancestors() {
            let inner = folder.strip_prefix(root).unwrap_or(folder).join(name);
            let Some(doubt) = self.begins(root, layout) else {
                continue;
            };
            let others = self.roots.starts().chain(self.roots.on_path());
            let others = others.filter(|other| *other != root);
            found.extend(others.map(|other| self.namesake((root, other), &inner, doubt)));
        }
        found
    }

    fn begins(&self, root: &Path, layout: Layout<'_>) -> Option<Doubt> {
        let is_set = self.roots.has_on_path(root);
        let set = is_set.then_some(Doubt::Certain);
        set.or_else(|| self.roots.doubt(root, layout))
    }

    fn namesake(&self, (own, other): (&Path, &Path), inner: &Path, doubt: Doubt) -> Namesake {
        let is_single = inner.components().count() == 1;
        let is_set = self.roots.has_on_path(own) || self.roots.has_on_path(other);
        let mut names = inner.iter();
        let of_tests = names.any(|name| name.to_str().is_some_and(speaks_of_tests));
        Namesake {
            path: other.join(inner),
            as_file: is_set || !is_single,
            // A folder of tests on the path often has one for each module.
            as_folder: self.roots.starts().any(|start| start == other),
            doubt: if of_tests { doubt } else { Doubt::Possible },
        }
    }
}

/// What has the same name as a new module when it is imported from another folder.
pub(super) struct Namesake {
    /// Without an ending.
    pub(super) path: PathBuf,
    /// Whether it counts as a source file.
    pub(super) as_file: bool,
    /// Whether it counts as a folder.
    pub(super) as_folder: bool,
    /// How sure it is that the new module is imported instead.
    pub(super) doubt: Doubt,
}

/// Whether a change is a link that stands for a folder which names plugins, as a package's metadata do. A plain folder of the kind
/// is known by the file in it.
fn names_plugins(changed: &ChangedPath) -> bool {
    let Now::Link(_) = &changed.now else {
        return false;
    };
    let name = changed.path.file_name().unwrap_or_default();
    let name = name.to_string_lossy().to_ascii_lowercase();
    [".dist-info", ".egg-info"]
        .iter()
        .any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests;
