//! How much a discarded tree amounts to, as far as it is little.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{AtFlags, FileType};

use super::descent::Descent;

/// A tree of more names than this is not little.
const MOST_NAMES: usize = 256;
/// A tree of more bytes than this is not little.
const MOST_BYTES: i64 = 4 << 20;

/// How many names the tree `name` in `parent` has, if it is little; `None` when it is not, or cannot be looked at.
pub(super) fn names_if_little(parent: BorrowedFd<'_>, name: &CStr) -> Option<usize> {
    let mut descent = Descent::at(parent.as_fd().try_clone_to_owned().ok()?).ok()?;
    descent.enter(name).ok()?;
    let (mut count, mut bytes) = (1, 0);
    let mut pending = vec![descent.names().ok()?];
    while let Some(level) = pending.last_mut() {
        let Some(named) = level.pop() else {
            pending.pop();
            descent.leave().ok()?;
            continue;
        };
        count += 1;
        if descent.kind_of(&named).ok()? == FileType::Directory {
            descent.enter(&named.name).ok()?;
            pending.push(descent.names().ok()?);
        } else {
            let here = descent.here().ok()?;
            let stat = rustix::fs::statat(here, &*named.name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            bytes += stat.st_blocks * 512;
        }
        if count + pending.iter().map(Vec::len).sum::<usize>() > MOST_NAMES || bytes > MOST_BYTES {
            return None;
        }
    }
    Some(count)
}
