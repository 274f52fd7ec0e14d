//! Putting what an agent left into a fresh workspace, without stepping through a link.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::Timespec;

use super::base::Base;
use super::beneath::{self, Held};
use super::diff::file_kind;
use super::left::{ChangedPath, Content, LeftFile, Now};
use super::tree::FileKind;
use super::{Workspace, WorkspaceError};

/// How old a path is that is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// Older than all else: no build takes it for newer than what it was made from.
    BeforeAll,
    /// Older than the base commit's files.
    BeforeBase,
    /// Younger than all that is there.
    Now,
}

impl Workspace {
    /// Makes `changed` true here: first everything goes that is gone, then everything comes that is there. What is no file
    /// and no link, and files whose content was not kept, are left out.
    ///
    /// # Errors
    /// When a path leads out of the workspace, content is no longer what it was when it was captured, or the disk says no.
    pub fn put<'a>(
        &self,
        changed: impl Iterator<Item = (&'a ChangedPath, Age)> + Clone,
    ) -> Result<(), WorkspaceError> {
        let now = now();
        for (one, _) in changed.clone() {
            if one.now == Now::Removed {
                told(&one.path, remove(&self.root, &one.path))?;
            }
        }
        for (one, age) in changed {
            let done = match &one.now {
                Now::Removed | Now::Special(_) => Ok(()),
                Now::Link(target) => {
                    let held = Held {
                        kind: FileKind::Link,
                        bytes: target.clone(),
                    };
                    beneath::write(&self.root, &one.path, &held)
                }
                Now::File(file) => self.put_file(&one.path, file),
            };
            let dated = done.and_then(|()| match one.now {
                Now::Removed | Now::Special(_) => Ok(()),
                Now::Link(_) | Now::File(_) => {
                    beneath::date(&self.root, &one.path, self.time_of(age, now))
                }
            });
            told(&one.path, dated)?;
        }
        Ok(())
    }

    /// Makes those of the base commit's files younger than all else that `which` names.
    ///
    /// # Errors
    /// When the disk says no.
    pub fn renew(&self, which: &dyn Fn(&Path) -> bool) -> Result<(), WorkspaceError> {
        let base = Base::of(&self.shared);
        let now = now();
        let mut named = base.files.keys().filter(|path| which(path));
        named.try_for_each(|path| told(path, beneath::date(&self.root, path, now)))
    }

    fn time_of(&self, age: Age, now: Timespec) -> Timespec {
        const DAY: i64 = 24 * 60 * 60;
        let days = match age {
            Age::Now => return now,
            Age::BeforeBase => 1,
            Age::BeforeAll => 2,
        };
        Timespec {
            tv_sec: self.shared.plan.changed_at - days * DAY,
            tv_nsec: 0,
        }
    }

    /// Copies a file or folder of the operator's to `to`, from the project's folder, over whatever stands there.
    ///
    /// # Errors
    /// When a folder on the way is a file or a link, or the disk says no.
    pub fn lay(&self, from: &Path, to: &Path) -> Result<(), WorkspaceError> {
        let inside = self.project_dir.strip_prefix(&self.root);
        let to = inside.unwrap_or(Path::new("")).join(to);
        told(&to, lay(&self.root, from, &to))
    }

    fn put_file(&self, path: &Path, file: &LeftFile) -> io::Result<()> {
        match &file.content {
            Content::Lost(_) => Ok(()),
            Content::Bytes(bytes) => {
                let held = Held {
                    kind: file_kind(file),
                    bytes: bytes.clone(),
                };
                beneath::write(&self.root, path, &held)
            }
            Content::In { root, path: from } => {
                let source = beneath::open(root, from)?;
                let (mut source, _) = source.ok_or(io::ErrorKind::NotFound)?;
                let digest = beneath::copy(&self.root, path, (&mut source, file_kind(file)))?;
                match file.sha256 {
                    Some(known) if known != digest => {
                        Err(io::Error::other("it is no longer what was captured"))
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

/// What the clock says.
fn now() -> Timespec {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let since = since.unwrap_or_default();
    Timespec {
        tv_sec: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: since.subsec_nanos().into(),
    }
}

fn told(path: &Path, done: io::Result<()>) -> Result<(), WorkspaceError> {
    done.map_err(WorkspaceError::io(format!("put {} back", path.display())))
}

fn lay(root: &Path, from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        return fs::read_dir(from)?.try_for_each(|entry| {
            let entry = entry?;
            lay(root, &entry.path(), &to.join(entry.file_name()))
        });
    }
    let mut source = File::open(from)?;
    let executable = source.metadata()?.mode() & 0o100 != 0;
    let kind = if executable {
        FileKind::Executable
    } else {
        FileKind::Plain
    };
    beneath::copy(root, to, (&mut source, kind)).map(drop)
}

fn remove(root: &Path, path: &Path) -> io::Result<()> {
    match beneath::remove(root, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
