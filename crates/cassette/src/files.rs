//! Writing and removing inside the workspace, through no link and into nothing but regular files.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};

/// Writes `bytes` to `path` below `root`, folders included. A file or empty folder that is there is replaced; a file's
/// mode is kept unless one is given.
///
/// # Errors
/// A folder on the way that is none (a link is none), or whatever the system says.
pub(super) fn write(root: &Path, path: &Path, bytes: &[u8], mode: Option<u32>) -> io::Result<()> {
    let (folder, name) = parent(root, path, true)?;
    let known = clear(&folder, name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, name, flags, Mode::from_raw_mode(0o666))?;
    if let Some(mode) = mode
        .map(|mode| Mode::from_bits_truncate(mode as _))
        .or(known)
    {
        rustix::fs::fchmod(&file, mode)?;
    }
    File::from(file).write_all(bytes)
}

/// Makes `path` below `root` a link to `target`, folders included, in place of a file or empty folder that is there.
///
/// # Errors
/// A folder on the way that is none (a link is none), or whatever the system says.
pub(super) fn link(root: &Path, path: &Path, target: &str) -> io::Result<()> {
    let (folder, name) = parent(root, path, true)?;
    clear(&folder, name)?;
    Ok(rustix::fs::symlinkat(target, &folder, name)?)
}

/// Removes the file or empty folder `name`, if there is one; gives the mode of a regular file.
fn clear(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<Mode>> {
    let stat = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        found => found?,
    };
    let kind = FileType::from_raw_mode(stat.st_mode);
    let flags = if kind == FileType::Directory {
        AtFlags::REMOVEDIR
    } else {
        AtFlags::empty()
    };
    rustix::fs::unlinkat(folder, name, flags)?;
    Ok((kind == FileType::RegularFile).then_some(Mode::from_raw_mode(stat.st_mode)))
}

/// Removes the file or folder `path` below `root`; nothing there is as good.
///
/// # Errors
/// A folder on the way that is none, or whatever the system says.
pub(super) fn delete(root: &Path, path: &Path) -> io::Result<()> {
    let (folder, name) = match parent(root, path, false) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    match rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
            fs::remove_dir_all(root.join(path))
        }
        Ok(_) => Ok(rustix::fs::unlinkat(&folder, name, AtFlags::empty())?),
        Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The folder that holds `path`, opened step by step so that no link is followed, and the name in it.
fn parent<'a>(root: &Path, path: &'a Path, make: bool) -> io::Result<(OwnedFd, &'a OsStr)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = rustix::fs::openat(CWD, root, flags, Mode::empty())?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    for part in path.parent().unwrap_or(Path::new("")) {
        if make {
            match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        folder = rustix::fs::openat(&folder, part, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok((folder, name))
}
