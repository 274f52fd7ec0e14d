//! Changes that are taken for protected files: by their names, or by what Python imports.

use std::path::{Path, PathBuf};

use crate::trial::guard::{Base, Guard};
use crate::trial::known::Known;
use crate::trial::shadowing::{Doubt, Rivals, rivals};
use crate::workspace::{ChangedPath, Now};

impl Guard {
    /// Whether a change is taken for a protected file: since its path differs in no more than case or accents, which some file
    /// systems do not tell apart, or since Python imports it instead. True where the task itself protects that file.
    pub(super) fn twin(&self, one: &ChangedPath, known: &Known<'_>) -> Option<bool> {
        let path = one.path.as_path();
        if self.reference.contains(path) {
            return None;
        }
        let own = self.kept.forbid_folded(path);
        if own || self.by_default.forbid_folded(path) {
            return Some(own);
        }
        self.import_twin(rivals(one)?, known)
    }

    /// The same for a module that stands before a protected one, or before a folder on the way to one.
    fn import_twin(&self, of: Rivals, known: &Known<'_>) -> Option<bool> {
        let is_there = |path: &PathBuf| known.has(path) || self.run.laid.contains_key(path);
        let files = of.files.iter().filter(|path| is_there(path));
        for file in files {
            if self.kept.forbid(file) {
                return Some(true);
            }
            if self.by_default.forbid(file) {
                return Some(false);
            }
        }
        // A folder that is no package gives way to any module.
        let folder = of.folder?;
        let is_package = is_there(&folder.join("__init__.py"));
        (!is_package && self.holds_tests(&folder, known)).then_some(false)
    }

    /// Whether a module has the name of a protected one, or of a folder with some, as that is imported from another folder: which of
    /// them comes first is for `sys.path` to say.
    pub(super) fn twin_elsewhere(&self, one: &ChangedPath, base: &Base<'_>) -> Option<Doubt> {
        if self.reference.contains(&one.path) || base.layout.has(&one.path) {
            return None;
        }
        let alike = self.imports.called_like(one, base.layout).into_iter();
        let doubts = alike.filter_map(|it| {
            let mut file = it.path.clone().into_os_string();
            file.push(".py");
            let files = [PathBuf::from(file), it.path.join("__init__.py")];
            if it.as_file && files.iter().any(|file| self.is_test(file, base.known)) {
                return Some(it.doubt);
            }
            let is_told = it.as_folder && self.holds_tests(&it.path, base.known);
            // What is no package gives way to any that comes later.
            let gives_way = !base.layout.has_package(&it.path);
            is_told.then_some(if gives_way { it.doubt } else { Doubt::Possible })
        });
        doubts.max()
    }

    /// Whether make may take a new path for a file that the task itself protects or lays.
    pub(super) fn make_twin(&self, one: &ChangedPath, base: &Base<'_>) -> Option<Doubt> {
        let path = one.path.as_path();
        let is_new = one.now != Now::Removed && !base.known.has(path);
        let tests = self.tests(base.known);
        if !is_new || tests.is_empty() || self.reference.contains(path) {
            return None;
        }
        let is_link = matches!(one.now, Now::Link(_));
        base.makefiles.twin((path, is_link), tests)
    }

    /// What the task itself keeps as it is of the base commit, and what it lays.
    pub(super) fn tests(&self, known: &Known<'_>) -> &[PathBuf] {
        self.tests.get_or_init(|| {
            let kept = known.paths().iter().filter(|path| self.kept.forbid(path));
            kept.chain(self.run.laid.keys()).cloned().collect()
        })
    }

    /// Whether protected or hidden tests lie right in `folder`.
    pub(super) fn lies_beside_tests(&self, folder: &Path, known: &Known<'_>) -> bool {
        let laid = self.run.laid.keys().map(PathBuf::as_path);
        let beside = known.below(folder);
        let beside = beside.filter(|path| path.parent() == Some(folder) && is_python(path));
        let mut laid = laid.filter(|path| path.parent() == Some(folder) && is_python(path));
        laid.next().is_some() || { beside }.any(|path| self.kept.forbid(path))
    }

    /// Whether protected or hidden code lies below `folder`.
    fn holds_tests(&self, folder: &Path, known: &Known<'_>) -> bool {
        let is_kept = |path: &Path| is_python(path) && self.kept.forbid(path);
        known.below(folder).any(is_kept)
            || self.run.laid.keys().any(|laid| laid.starts_with(folder))
    }

    /// Whether `path` is a file that the task keeps as it is, or lays.
    fn is_test(&self, path: &Path, known: &Known<'_>) -> bool {
        self.run.laid.contains_key(path) || known.has(path) && self.kept.forbid(path)
    }
}

fn is_python(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "py")
}
