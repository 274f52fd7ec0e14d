//! How each cheat is played on a workspace.

use std::fs;
use std::io;
use std::path::Path;

use crate::trial::cheat::Cheat;
use crate::trial::cheat::equal::always_equal;
use crate::trial::cheat::files::{files, is_test};
use crate::trial::cheat::forged::Forged;
use crate::trial::cheat::hollow::hollow;
use crate::trial::cheat::hook::{PLANTED, patching};
use proctor_config::TaskSpec;
use proctor_workspace::{Workspace, patched_paths};

/// What a cheat works with.
pub(in crate::trial) struct Scene<'a> {
    pub(in crate::trial) workspace: &'a Workspace,
    pub(in crate::trial) task: &'a TaskSpec,
}

impl Scene<'_> {
    /// Does it.
    pub(in crate::trial) fn play(&self, cheat: Cheat) -> io::Result<()> {
        match cheat {
            Cheat::Nothing => Ok(()),
            Cheat::EmptiedTests => self.empty_tests(),
            Cheat::ForgedOutput => {
                let forged = Forged::of(self.task);
                self.add_code(|path| forged.code(path))
            }
            Cheat::EqualsEverything => {
                self.add_code(|path| always_equal(path).map(|code| (code.to_owned(), false)))
            }
            Cheat::RunnerHook => {
                for (name, text) in PLANTED {
                    self.write(&self.workspace.project_dir.join(name), text)?;
                }
                self.add_code(patching)
            }
        }
    }

    fn empty_tests(&self) -> io::Result<()> {
        let root = &self.workspace.root;
        for path in files(root) {
            let inside = path.strip_prefix(root).unwrap_or(&path);
            let text = fs::read_to_string(&path).unwrap_or_default();
            if is_test(inside)
                && let Some(hollowed) = hollow(&path, &text)
            {
                fs::write(&path, hollowed)?;
            }
        }
        Ok(())
    }

    /// Puts something into the code under test: at the beginning or the end of the files that the reference patch changes or adds, or
    /// of all where there is none.
    fn add_code(&self, code: impl Fn(&Path) -> Option<(String, bool)>) -> io::Result<()> {
        let Workspace {
            root, project_dir, ..
        } = self.workspace;
        let solution = self.task.reference_patch.as_deref().map(patched_paths);
        let paths = match solution {
            Some(Ok(paths)) => {
                let there = |path: &Path| [root.join(path), project_dir.join(path)];
                let places = paths.iter().map(|path| {
                    let found = there(path).into_iter().find(|place| place.is_file());
                    found.unwrap_or_else(|| project_dir.join(path))
                });
                places.collect()
            }
            _ => files(root),
        };
        for path in paths {
            let inside = path.strip_prefix(root).unwrap_or(&path);
            let Some((put, first)) = code(inside).filter(|_| !is_test(inside)) else {
                continue;
            };
            let text = fs::read_to_string(&path).unwrap_or_default();
            let text = if first {
                format!("{put}{text}")
            } else {
                format!("{text}\n{put}")
            };
            self.write(&path, &text)?;
        }
        Ok(())
    }

    /// Writes a file, unless its name or a link leads out of the workspace.
    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        let folder = path.parent().unwrap_or(&self.workspace.root);
        let real = |path: &Path| fs::canonicalize(path).ok();
        if fs::create_dir_all(folder).is_err() || path.is_symlink() {
            return Ok(());
        }
        let root = real(&self.workspace.root);
        let is_below = real(folder)
            .zip(root)
            .is_some_and(|(folder, root)| folder.starts_with(root));
        if is_below {
            fs::write(path, text)
        } else {
            Ok(())
        }
    }
}
