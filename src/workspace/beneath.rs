//! Reading and writing single files below a folder without ever stepping through a link.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::descent::FOLDER;
use super::tree::FileKind;
use crate::supervise::spawn_gate;

/// What a file or link holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) kind: FileKind,
    pub(super) bytes: Vec<u8>,
}

/// Whether `path` ends in the name of git's own folder or of the file that leads to it.
pub(super) fn is_gits_own(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}

/// Whether `path` has only plain names, none of them `.git`.
pub(super) fn is_plain(path: &Path) -> bool {
    let mut components = path.components().peekable();
    components.peek().is_some()
        && components.all(|component| {
            matches!(component, Component::Normal(name) if !name.eq_ignore_ascii_case(".git"))
        })
}

/// Reads `path` below `root`, at most `cap` bytes of it; `None` when there is no file or link, or it is larger.
pub(super) fn read(root: &Path, path: &Path, cap: u64) -> io::Result<Option<Held>> {
    let Some((folder, name)) = parent(root, path, false)? else {
        return Ok(None);
    };
    let stat = match rustix::fs::statat(&folder, &*name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(&folder, &*name, Vec::new())?;
            Ok(Some(Held {
                kind: FileKind::Link,
                bytes: OsString::from_vec(target.into_bytes()).into_vec(),
            }))
        }
        FileType::RegularFile => read_regular(&folder, &name, cap),
        _ => Ok(None),
    }
}

fn read_regular(folder: &OwnedFd, name: &CString, cap: u64) -> io::Result<Option<Held>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(folder, &**name, flags, Mode::empty())?);
    let about = file.metadata()?;
    if !about.is_file() || about.len() > cap {
        return Ok(None);
    }
    let executable = std::os::unix::fs::MetadataExt::mode(&about) & 0o100 != 0;
    let mut bytes = Vec::new();
    file.take(cap).read_to_end(&mut bytes)?;
    Ok(Some(Held {
        kind: if executable {
            FileKind::Executable
        } else {
            FileKind::Plain
        },
        bytes,
    }))
}

/// Writes `path` below `root` anew, with the folders that it needs.
pub(super) fn write(root: &Path, path: &Path, held: &Held) -> io::Result<()> {
    let (folder, name) = parent(root, path, true)?
        .ok_or_else(|| io::Error::other("a folder on the way is a file or a link"))?;
    match rustix::fs::unlinkat(&folder, &*name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    if held.kind == FileKind::Link {
        return Ok(rustix::fs::symlinkat(&*held.bytes, &folder, &*name)?);
    }
    let mode = Mode::from_raw_mode(if held.kind == FileKind::Executable {
        0o755
    } else {
        0o644
    });
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let _gate = (held.kind == FileKind::Executable).then(spawn_gate);
    let mut file = File::from(rustix::fs::openat(&folder, &*name, flags, mode)?);
    file.write_all(&held.bytes)
}

/// Removes the file or link `path` below `root`, and folders that are empty after it.
pub(super) fn remove(root: &Path, path: &Path) -> io::Result<()> {
    let Some((folder, name)) = parent(root, path, false)? else {
        return Err(io::ErrorKind::NotFound.into());
    };
    rustix::fs::unlinkat(&folder, &*name, AtFlags::empty())?;
    for emptied in path.ancestors().skip(1) {
        if emptied.as_os_str().is_empty() {
            break;
        }
        let Some((folder, name)) = parent(root, emptied, false)? else {
            break;
        };
        if rustix::fs::unlinkat(&folder, &*name, AtFlags::REMOVEDIR).is_err() {
            break;
        }
    }
    Ok(())
}

/// Opens the folder that holds `path`; `None` when there is no such folder.
fn parent(root: &Path, path: &Path, make: bool) -> io::Result<Option<(OwnedFd, CString)>> {
    if !is_plain(path) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path does not stay in the workspace",
        ));
    }
    let flags = FOLDER.difference(OFlags::NOFOLLOW);
    let mut folder = rustix::fs::open(root, flags, Mode::empty())?;
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        let name = c_name(name)?;
        if names.peek().is_none() {
            return Ok(Some((folder, name)));
        }
        if make {
            match rustix::fs::mkdirat(&folder, &*name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        folder = match rustix::fs::openat(&folder, &*name, FOLDER, Mode::empty()) {
            Ok(below) => below,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
    }
    Ok(None)
}

fn c_name(name: &OsStr) -> io::Result<CString> {
    Ok(CString::new(name.as_bytes())?)
}
