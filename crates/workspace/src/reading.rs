//! Reading the files that an agent left, within limits, and telling what is odd about them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::beneath;
use super::left::{Content, LeftFile};
use super::tree_digest::{sha256, sha256_of};
use proctor_model::Oversize;
use proctor_model::ReasonKind;

/// Larger files are too large to grade, and are not read.
pub(super) const MAX_KEPT: u64 = Oversize::MAX_BYTES;
/// Larger files are not held in memory; the patch only names them.
pub(super) const MAX_HELD: u64 = 1 << 20;
/// Nor are more bytes than this.
const MAX_HELD_ALL: u64 = 16 << 20;

/// Reads files below `root`.
pub(super) struct Reader<'a> {
    root: &'a Path,
    /// How many names of each inode with several lie in the workspace.
    linked: &'a BTreeMap<u64, u64>,
    held: u64,
}

/// What reading a file came to.
pub(super) struct WasRead {
    pub(super) file: LeftFile,
    /// What is odd about it.
    pub(super) odd: Option<ReasonKind>,
    /// Whether its mode is one that git has not: closed to its owner, or with a bit that lends rights.
    pub(super) odd_mode: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(root: &'a Path, linked: &'a BTreeMap<u64, u64>) -> Self {
        Self {
            root,
            linked,
            held: 0,
        }
    }

    /// The digest of a file that is not carried on; absent when it is too large or may not be read.
    pub(super) fn digest(&self, path: &Path) -> Option<[u8; 32]> {
        let (mut file, _) = beneath::open(self.root, path).ok()??;
        if file.metadata().ok()?.len() > MAX_KEPT {
            return None;
        }
        contents(&mut file, false).ok().map(|(_, digest, _)| digest)
    }

    /// Reads the file at `path`; `None` when none is there.
    pub(super) fn read(&mut self, path: &Path) -> Option<WasRead> {
        match beneath::open(self.root, path) {
            Ok(Some((file, executable))) => Some(self.take(path, file, executable)),
            Ok(None) => None,
            Err(error) => Some(lost(
                (0, false),
                (ReasonKind::Unreadable, error.to_string()),
            )),
        }
    }

    fn take(&mut self, path: &Path, mut file: File, executable: bool) -> WasRead {
        let Ok(about) = file.metadata() else {
            return lost(
                (0, executable),
                (ReasonKind::Unreadable, "it cannot be read".to_owned()),
            );
        };
        let size = about.len();
        let of = (size, executable);
        if size > MAX_KEPT {
            return WasRead {
                odd: None,
                ..lost(of, (ReasonKind::Unreadable, format!("it has {size} bytes")))
            };
        }
        let elsewhere = about.nlink() > self.linked.get(&about.ino()).copied().unwrap_or(1);
        if elsewhere {
            return lost(
                of,
                (
                    ReasonKind::HardLink,
                    "it has a further name outside of the workspace".to_owned(),
                ),
            );
        }
        let hold = size <= MAX_HELD && self.held + size <= MAX_HELD_ALL;
        match contents(&mut file, hold) {
            Ok((read, sha256, bytes)) => {
                self.held += bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
                let content = bytes.map_or_else(
                    || Content::In {
                        root: self.root.to_owned(),
                        path: path.to_owned(),
                    },
                    Content::Bytes,
                );
                let still = file.metadata().is_ok_and(|after| same(&about, &after));
                WasRead {
                    file: LeftFile {
                        size: read,
                        sha256: Some(sha256),
                        executable,
                        modified_ns: modified_ns(&about),
                        content,
                    },
                    odd: (!still || read != size).then_some(ReasonKind::ChangedWhileRead),
                    odd_mode: about.mode() & 0o400 == 0 || about.mode() & 0o7000 != 0,
                }
            }
            Err(error) => lost(of, (ReasonKind::Unreadable, error.to_string())),
        }
    }
}

fn lost((size, executable): (u64, bool), (odd, why): (ReasonKind, String)) -> WasRead {
    let file = LeftFile {
        size,
        sha256: None,
        executable,
        modified_ns: 0,
        content: Content::Lost(why),
    };
    WasRead {
        file,
        odd: Some(odd),
        odd_mode: false,
    }
}

/// How many bytes a file has, their digest, and the bytes themselves if they are to be held.
fn contents(file: &mut File, hold: bool) -> io::Result<(u64, [u8; 32], Option<Vec<u8>>)> {
    let mut limited = file.take(MAX_KEPT);
    if hold {
        // One byte more than it should have, so that its end shows without a second look.
        let expected = limited.get_ref().metadata()?.len().min(MAX_HELD);
        let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default() + 1);
        limited.read_to_end(&mut bytes)?;
        return Ok((bytes.len() as u64, sha256(&bytes), Some(bytes)));
    }
    let digest = sha256_of(&mut limited)?;
    Ok((MAX_KEPT - limited.limit(), digest, None))
}

fn modified_ns(about: &std::fs::Metadata) -> i64 {
    let seconds = about.mtime().saturating_mul(1_000_000_000);
    seconds.saturating_add(about.mtime_nsec())
}

fn same(before: &std::fs::Metadata, after: &std::fs::Metadata) -> bool {
    let of = |about: &std::fs::Metadata| (about.len(), about.ctime(), about.ctime_nsec());
    of(before) == of(after)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt as _;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    use super::*;

    /// Times of files go in steps; a write after two of the longest shows.
    const SHOWS: Duration = Duration::from_millis(20);
    const LENGTH: u64 = 64 << 20;

    #[test]
    fn a_file_that_is_written_while_it_is_hashed_is_told_as_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("solution");
        let file = File::create(&path).unwrap();
        file.set_len(LENGTH).unwrap();
        let (writes, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let linked = BTreeMap::new();
        let read = || {
            let mut reader = Reader::new(folder.path(), &linked);
            reader.read(Path::new("solution")).unwrap().odd
        };
        assert_eq!(read(), None, "nobody writes yet");
        std::thread::scope(|scope| {
            // A writer that never rests, and neither adds nor takes a byte.
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let count = writes.fetch_add(1, Ordering::Relaxed);
                    file.write_all_at(&count.to_le_bytes(), count % LENGTH / 8 * 8)
                        .unwrap();
                }
            });
            let begun = Instant::now();
            loop {
                assert!(
                    begun.elapsed() < Duration::from_secs(60),
                    "no race came about"
                );
                let (before, at) = (writes.load(Ordering::Relaxed), Instant::now());
                let odd = read();
                let raced = writes.load(Ordering::Relaxed) > before + 1_000;
                if raced && at.elapsed() > 2 * SHOWS {
                    stop.store(true, Ordering::Relaxed);
                    assert_eq!(odd, Some(ReasonKind::ChangedWhileRead));
                    return;
                }
            }
        });
    }
}
