//! Putting kept changes back into a fresh workspace, without stepping through a link.

use std::io;
use std::path::Path;

use super::beneath::{self, Held};
use super::diff::Now;
use super::tree::FileKind;
use super::{Workspace, WorkspaceError};

impl Workspace {
    /// Makes `path`, from the project's folder, what it was when it was kept.
    ///
    /// # Errors
    /// When the path leads out of the workspace, its content was not kept, or the disk says no.
    pub fn put(&self, path: &Path, now: &Now) -> Result<(), WorkspaceError> {
        let inside = self
            .project_dir
            .strip_prefix(&self.root)
            .unwrap_or(Path::new(""));
        let path = inside.join(path);
        let held = |kind, bytes: &[u8]| Held {
            kind,
            bytes: bytes.to_vec(),
        };
        let done = match now {
            Now::Removed => match beneath::remove(&self.root, &path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                other => other,
            },
            Now::Link(target) => beneath::write(&self.root, &path, &held(FileKind::Link, target)),
            Now::File { bytes, executable } => {
                let kind = if *executable {
                    FileKind::Executable
                } else {
                    FileKind::Plain
                };
                beneath::write(&self.root, &path, &held(kind, bytes))
            }
            Now::NotKept => Err(io::Error::other("its content was not kept")),
        };
        done.map_err(WorkspaceError::io(format!("put {} back", path.display())))
    }
}
