//! Pointers of Git LFS: short texts that stand for files that are kept elsewhere.

use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::Workspace;

/// How long a pointer is, in bytes.
pub(super) const SIZES: Range<usize> = 100..1024;

/// How every pointer begins, by the specification of Git LFS.
const BEGIN: &[u8] = b"version https://git-lfs";

/// Whether this is the content, or its beginning, of a pointer.
pub(super) fn is_pointer(content: &[u8]) -> bool {
    content.starts_with(BEGIN)
}

impl Workspace {
    /// Those of `paths` (from the root) that are pointers in this workspace.
    #[must_use]
    pub fn lfs_pointers<'a>(&self, paths: &'a [PathBuf]) -> Vec<&'a Path> {
        let paths = paths.iter().map(PathBuf::as_path);
        paths
            .filter(|path| begins_as_pointer(&self.root.join(path)))
            .collect()
    }
}

fn begins_as_pointer(file: &Path) -> bool {
    // What is no plain file is never opened: reading a pipe would wait for ever.
    if !fs::symlink_metadata(file).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let mut begin = Vec::new();
    let opened = fs::File::open(file);
    opened.is_ok_and(|file| {
        let read = file.take(BEGIN.len() as u64).read_to_end(&mut begin);
        read.is_ok() && is_pointer(&begin)
    })
}
