//! Folders that only the owner may enter and files that only the owner may read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::record::RecordError;
use crate::record::error::Doing as _;

/// Creates one folder with mode 0700; its parent must exist and it must not.
///
/// # Errors
/// When the system refuses, or the folder exists.
pub fn create_dir(path: &Path) -> Result<(), RecordError> {
    new_dir(path).doing("create", path)
}

/// Writes a small file with mode 0600, replacing what is there; not synced.
///
/// # Errors
/// When the system refuses.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    create_file(path)?.write_all(bytes).doing("write", path)
}

pub(super) fn new_dir(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Creates a folder and its missing parents, all 0700.
pub(super) fn ensure_dir(path: &Path) -> Result<(), RecordError> {
    if let Some(parent) = path.parent()
        && !parent.as_os_str().is_empty()
        && !parent.is_dir()
    {
        ensure_dir(parent)?;
    }
    match new_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        other => other.doing("create", path),
    }
}

/// Options with mode 0600 for files that they create.
pub(super) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

pub(super) fn create_file(path: &Path) -> Result<File, RecordError> {
    refuse_special(path)?;
    let mut options = options();
    options.write(true).create(true).truncate(true);
    options.open(path).doing("create", path)
}

/// Opens a file to append to, created when missing.
pub(super) fn append_file(path: &Path) -> Result<File, RecordError> {
    refuse_special(path)?;
    options()
        .append(true)
        .create(true)
        .open(path)
        .doing("open", path)
}

/// Opens a plain file; a link to nothing, a FIFO or a device is refused instead of blocking.
pub(super) fn open_file(path: &Path) -> Result<File, RecordError> {
    refuse_special(path)?;
    File::open(path).doing("open", path)
}

fn refuse_special(path: &Path) -> Result<(), RecordError> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no plain file",
        ))
        .doing("open", path),
        _ => Ok(()),
    }
}

/// Makes the names in a folder durable.
pub(super) fn sync_dir(path: &Path) -> Result<(), RecordError> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .doing("sync", path)
}
