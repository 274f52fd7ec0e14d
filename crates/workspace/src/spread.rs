//! Copying a store into a trial's folder: folders first, then files by two threads, four system calls a file.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps};

use super::WorkspaceError;
use super::manifest::shown;
use super::store::{Content, Folder, Piece, Shape, Store};
use proctor_supervise::spawn_gate;

/// A thread reads this much of the store at once.
const WINDOW: u64 = 1 << 20;
/// A thread takes folders with about this many files at once.
const BATCH: usize = 128;
/// Below this many files one thread does it all.
const ALONE: usize = 400;

/// How a store is spread: worked out once.
#[derive(Debug)]
pub(super) struct Plan {
    batches: Vec<Range<usize>>,
    threads: usize,
    /// Seconds since 1970 that project files say they were changed at.
    pub(super) changed_at: i64,
}

impl Plan {
    pub(super) fn new(store: &Store, changed_at: i64) -> Self {
        let mut batches = Vec::new();
        let (mut start, mut files, mut all) = (0, 0, 0);
        for (index, folder) in store.folders.iter().enumerate() {
            files += folder.pieces.len();
            all += folder.pieces.len();
            if files >= BATCH || index + 1 == store.folders.len() {
                batches.push(start..index + 1);
                (start, files) = (index + 1, 0);
            }
        }
        let cores = thread::available_parallelism().map_or(1, usize::from);
        Self {
            batches,
            threads: if all < ALONE { 1 } else { cores.clamp(2, 4) },
            changed_at,
        }
    }

    fn times(&self) -> Timestamps {
        let time = Timespec {
            tv_sec: self.changed_at,
            tv_nsec: 0,
        };
        Timestamps {
            last_access: time,
            last_modification: time,
        }
    }
}

/// Makes everything of `store` in the open, empty folder `target`.
pub(super) fn spread(
    store: &Store,
    plan: &Plan,
    target: BorrowedFd<'_>,
) -> Result<(), WorkspaceError> {
    for folder in &store.folders {
        rustix::fs::mkdirat(target, &*folder.path, Mode::from_raw_mode(0o755))
            .map_err(WorkspaceError::errno(making(folder.path.to_bytes())))?;
    }
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let work = || {
        let mut hand = Hand {
            store,
            target,
            times: plan.times(),
            window: Vec::new(),
            start: 0,
        };
        while !stop.load(Ordering::Relaxed) {
            let Some(batch) = plan.batches.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            if let Err(error) = hand.batch(&store.folders[batch.clone()]) {
                stop.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let helpers: Vec<_> = (1..plan.threads)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let own = work();
        helpers.into_iter().fold(own, |result, helper| {
            result.and(helper.join().unwrap_or_else(|_| {
                Err(WorkspaceError::Io {
                    doing: "copy the project".to_owned(),
                    source: io::Error::other("a copying thread panicked"),
                })
            }))
        })
    })
}

/// One thread's tools.
struct Hand<'a> {
    store: &'a Store,
    target: BorrowedFd<'a>,
    times: Timestamps,
    /// Bytes of the store from `start` on.
    window: Vec<u8>,
    start: u64,
}

impl Hand<'_> {
    fn batch(&mut self, folders: &[Folder]) -> Result<(), WorkspaceError> {
        let end = end_of(folders);
        for folder in folders {
            if folder.pieces.is_empty() {
                continue;
            }
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let place = rustix::fs::openat(self.target, &*folder.path, flags, Mode::empty())
                .map_err(WorkspaceError::errno(making(folder.path.to_bytes())))?;
            for piece in &folder.pieces {
                self.piece(piece, place.as_fd(), end).map_err(|source| {
                    let path = [folder.path.to_bytes(), b"/", piece.name.to_bytes()].concat();
                    WorkspaceError::Io {
                        doing: making(&path),
                        source,
                    }
                })?;
            }
        }
        Ok(())
    }

    fn piece(&mut self, piece: &Piece, folder: BorrowedFd<'_>, end: u64) -> io::Result<()> {
        if piece.shape == Shape::Link {
            let bytes = self.bytes(piece, end)?;
            rustix::fs::symlinkat(bytes, folder, &*piece.name)?;
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            return Ok(rustix::fs::utimensat(
                folder,
                &*piece.name,
                &self.times,
                flags,
            )?);
        }
        let mode = Mode::from_raw_mode(match piece.shape {
            Shape::Project { executable: true } => 0o755,
            Shape::Frozen => 0o444,
            Shape::Project { .. } | Shape::Git | Shape::Link => 0o644,
        });
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let executable = piece.shape == Shape::Project { executable: true };
        let _gate = executable.then(spawn_gate);
        let mut file = File::from(rustix::fs::openat(folder, &*piece.name, flags, mode)?);
        match piece.content {
            Content::Apart(number) => {
                io::copy(&mut File::open(self.store.apart(number))?, &mut file)?;
            }
            Content::Within(_) if piece.length > 0 => file.write_all(self.bytes(piece, end)?)?,
            Content::Within(_) => {}
        }
        if matches!(piece.shape, Shape::Project { .. }) {
            rustix::fs::futimens(&file, &self.times)?;
        }
        Ok(())
    }

    /// The bytes of a piece in the long file; what follows them up to `end` is likely wanted next and read with them.
    fn bytes(&mut self, piece: &Piece, end: u64) -> io::Result<&[u8]> {
        let Content::Within(offset) = piece.content else {
            return Err(io::Error::other("a link is kept with the small files"));
        };
        let held = self.start + self.window.len() as u64;
        if offset < self.start || offset + piece.length > held {
            let length = end.saturating_sub(offset).min(WINDOW).max(piece.length);
            self.window
                .resize(usize::try_from(length).map_err(io::Error::other)?, 0);
            self.start = offset;
            self.store
                .contents
                .read_exact_at(&mut self.window, offset)?;
        }
        let from = usize::try_from(offset - self.start).map_err(io::Error::other)?;
        let length = usize::try_from(piece.length).map_err(io::Error::other)?;
        Ok(&self.window[from..from + length])
    }
}

/// Where the bytes of these folders end in the long file.
fn end_of(folders: &[Folder]) -> u64 {
    let pieces = folders.iter().flat_map(|folder| &folder.pieces);
    pieces
        .filter_map(|piece| match piece.content {
            Content::Within(offset) => Some(offset + piece.length),
            Content::Apart(_) => None,
        })
        .max()
        .unwrap_or(0)
}

fn making(path: &[u8]) -> String {
    format!("make {} in the workspace", shown(path))
}
