//! Worktrees of the user's own repository, for trusted agents: registered in one rename, so that no sibling is ever half there.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The file in a trial's folder that says where it is registered.
const REGISTRATION: &str = ".proctor-registration";
/// Why git may not prune a registration.
const LOCKED: &str = "in use by a proctor trial";

/// A worktree's entry in a repository.
pub(super) struct Entry<'a> {
    /// The repository's common folder.
    pub(super) common_dir: &'a Path,
    /// The trial's folder.
    pub(super) trial: &'a Path,
    /// The work tree.
    pub(super) root: &'a Path,
    /// The commit to be checked out, detached.
    pub(super) commit: &'a str,
    /// An index that fits the work tree.
    pub(super) index: &'a Path,
    /// A name that no other entry has.
    pub(super) name: &'a str,
}

impl Entry<'_> {
    /// Registers the worktree and gives its folder in the repository. The entry is made apart and renamed into place: another
    /// `git worktree add` reads its siblings, and fails on one that lacks a file.
    pub(super) fn register(&self) -> io::Result<PathBuf> {
        let worktrees = self.common_dir.join("worktrees");
        fs::create_dir_all(&worktrees)?;
        let entry = worktrees.join(self.name);
        fs::write(self.trial.join(REGISTRATION), entry.as_os_str().as_bytes())?;
        let draft = self.common_dir.join(format!("{}.draft", self.name));
        fs::create_dir(&draft)?;
        let made = self.fill(&draft).and_then(|()| fs::rename(&draft, &entry));
        if made.is_err() {
            fs::remove_dir_all(&draft).ok();
        }
        made?;
        let link = [b"gitdir: ", entry.as_os_str().as_bytes(), b"\n"].concat();
        fs::write(self.root.join(".git"), link)?;
        Ok(entry)
    }

    fn fill(&self, draft: &Path) -> io::Result<()> {
        let place = self.root.join(".git");
        fs::write(draft.join("HEAD"), format!("{}\n", self.commit))?;
        fs::write(draft.join("commondir"), "../..\n")?;
        fs::write(
            draft.join("gitdir"),
            [place.as_os_str().as_bytes(), b"\n"].concat(),
        )?;
        fs::write(draft.join("locked"), LOCKED)?;
        fs::copy(self.index, draft.join("index")).map(drop)
    }
}

/// Takes an entry out of its repository at once.
pub(super) fn unregister(entry: &Path) -> io::Result<()> {
    let Some(common_dir) = entry.parent().and_then(Path::parent) else {
        return Ok(());
    };
    let name = entry.file_name().unwrap_or_default().to_string_lossy();
    let aside = common_dir.join(format!("{name}.gone"));
    match fs::rename(entry, &aside) {
        Ok(()) => fs::remove_dir_all(&aside),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// Unregisters the trial that a dead run left in `trial`. The note in there may be anybody's work, so the entry must say
/// by itself that it is ours and that trial's.
pub(super) fn unregister_left_behind(trial: &Path) {
    let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|about| about.is_file());
    let note = trial.join(REGISTRATION);
    if !is_file(&note) {
        return;
    }
    let Ok(entry) = fs::read_to_string(&note).map(PathBuf::from) else {
        return;
    };
    let in_worktrees = entry.parent().and_then(Path::file_name) == Some("worktrees".as_ref());
    let ours = |file: &str, says: &dyn Fn(&str) -> bool| {
        let file = entry.join(file);
        is_file(&file) && fs::read_to_string(file).is_ok_and(|text| says(&text))
    };
    if in_worktrees
        && ours("locked", &|text| text == LOCKED)
        && ours("gitdir", &|text| {
            Path::new(text.trim_end()).starts_with(trial)
        })
    {
        unregister(&entry).ok();
    }
}
