//! What this process itself put into the journal: while it lives, what it knows is the truth, and whatever else stands in
//! the file was written by somebody else.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::record::error::Doing as _;
use crate::record::{AtomicFile, RecordError, RunDir};

/// So much is compared and copied at once.
const PIECE: usize = 64 * 1024;

/// How much of the journal is compared with what is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The last bytes, where the file's stamp is the known one: somebody may have written before it was taken.
    Tail,
    /// All of them.
    Whole,
}

/// What somebody else did to the journal while this process had it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    /// Where the file that was found is kept; nothing where it was gone.
    pub kept_as: Option<PathBuf>,
}

/// The journal as this process knows it.
#[derive(Debug)]
pub(super) struct Witness {
    /// The same bytes in a file without a name; nothing where there was no room for it.
    copy: Option<File>,
    /// What the journal's file was when it was looked at last; nothing where it has to be read.
    stamp: Option<Stamp>,
}

/// What tells a file that somebody wrote to: its change time cannot be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    place: (u64, u64),
    length: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(file: &Metadata) -> Self {
        Self {
            place: (file.dev(), file.ino()),
            length: file.len(),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}

impl Witness {
    /// Takes the first `good` bytes of the journal for known; tells how many rows they are, too.
    pub(super) fn of(run: &RunDir, file: &File, good: u64) -> io::Result<(Self, u64)> {
        let mut copy = tempfile::tempfile_in(run.root()).ok();
        let (mut place, mut rows) = (0, 0);
        let mut buffer = vec![0; PIECE];
        while place < good {
            let most = PIECE.min(usize::try_from(good - place).unwrap_or(PIECE));
            let piece = &mut buffer[..most];
            file.read_exact_at(piece, place)?;
            rows += piece.split(|byte| *byte == b'\n').count() as u64 - 1;
            copy = copy.filter(|copy| copy.write_all_at(piece, place).is_ok());
            place += most as u64;
        }
        Ok((Self { copy, stamp: None }, rows))
    }

    /// Takes in what was written at `place`; `whole` is how long the file must be by now.
    pub(super) fn wrote(&mut self, (file, bytes): (&File, &[u8]), place: u64, whole: u64) {
        let copy = self.copy.take();
        self.copy = copy.filter(|copy| copy.write_all_at(bytes, place).is_ok());
        let stamp = file.metadata().ok().map(|file| Stamp::of(&file));
        self.stamp = stamp.filter(|stamp| stamp.length == whole);
    }

    /// Whether the file at `path` still is the journal behind `file`, of `good` bytes, as this process wrote it.
    pub(super) fn holds(
        &mut self,
        path: &Path,
        (file, good): (&File, u64),
        reach: Reach,
    ) -> io::Result<bool> {
        let Ok(found) = path.symlink_metadata() else {
            return Ok(false);
        };
        let stamp = Stamp::of(&found);
        let is_known = self.stamp == Some(stamp);
        let ours = Stamp::of(&file.metadata()?).place;
        let is_ours = found.is_file() && stamp.place == ours && stamp.length == good;
        if !is_known && !is_ours {
            return Ok(false);
        }
        let same = match &self.copy {
            Some(copy) if is_known && reach == Reach::Tail => {
                is_same(file, copy, good.saturating_sub(PIECE as u64)..good)?
            }
            Some(copy) => is_same(file, copy, 0..good)?,
            None => true,
        };
        self.stamp = Some(stamp).filter(|_| same);
        Ok(same)
    }

    /// Keeps what is found at the journal's place under another name, and makes the journal anew from what is known.
    pub(super) fn restore(&mut self, run: &RunDir, good: u64) -> Result<Foreign, RecordError> {
        let path = run.runs_jsonl();
        let kept_as = match path.symlink_metadata() {
            Ok(_) => Some(keep(&path, &run.runs_jsonl_foreign())?),
            Err(_) => None,
        };
        let Some(copy) = &mut self.copy else {
            let why = "somebody else wrote to it, and there was no room for a copy of what it held";
            return Err(io::Error::other(why)).doing("restore", &path);
        };
        let mut anew = AtomicFile::create(&path)?;
        copy.seek(SeekFrom::Start(0))
            .and_then(|_| io::copy(&mut copy.take(good), &mut anew))
            .doing("restore", &path)?;
        anew.commit()?;
        self.stamp = None;
        Ok(Foreign { kept_as })
    }
}

/// Gives a file another name beside its own, so that a crash loses neither; what is no plain file is moved.
fn keep(path: &Path, as_name: &Path) -> Result<PathBuf, RecordError> {
    let mut name = as_name.to_path_buf();
    let mut number = 1_u32;
    while name.symlink_metadata().is_ok() {
        let mut next = as_name.as_os_str().to_owned();
        next.push(format!("~{number}"));
        name = PathBuf::from(next);
        number += 1;
    }
    let is_file = path.symlink_metadata().is_ok_and(|it| it.is_file());
    let kept = if is_file {
        // Not every file system has second names.
        fs::hard_link(path, &name).or_else(|_| fs::copy(path, &name).map(drop))
    } else {
        fs::rename(path, &name)
    };
    kept.doing("keep", path)?;
    Ok(name)
}

/// Whether two files hold the same at these places.
fn is_same(one: &File, other: &File, places: Range<u64>) -> io::Result<bool> {
    let mut pieces = [vec![0; PIECE], vec![0; PIECE]];
    let mut place = places.start;
    while place < places.end {
        let most = PIECE.min(usize::try_from(places.end - place).unwrap_or(PIECE));
        let [left, right] = &mut pieces;
        one.read_exact_at(&mut left[..most], place)?;
        other.read_exact_at(&mut right[..most], place)?;
        if left[..most] != right[..most] {
            return Ok(false);
        }
        place += most as u64;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::private;

    #[test]
    fn what_was_written_before_the_stamp_was_taken_is_found_at_the_end_at_once_and_else_at_last() {
        let row = |letter: &str| format!("{}\n", letter.repeat(PIECE - 1));
        let dir = tempfile::tempdir().unwrap();
        let run = RunDir::open(dir.path()).unwrap();
        let path = run.runs_jsonl();
        for (rows, edited, expected) in [
            (3, None, [true, true]),
            (3, Some(2), [false, false]),
            (3, Some(0), [true, false]),
        ] {
            let file = private::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(&path)
                .unwrap();
            let (mut witness, _) = Witness::of(&run, &file, 0).unwrap();
            for number in 0..rows {
                let place = number * PIECE as u64;
                file.write_all_at(row("a").as_bytes(), place).unwrap();
                // Somebody is quicker than the stamp.
                if number + 1 == rows
                    && let Some(edited) = edited
                {
                    let place = edited * PIECE as u64;
                    file.write_all_at(row("b").as_bytes(), place).unwrap();
                }
                let written = row("a");
                witness.wrote((&file, written.as_bytes()), place, place + PIECE as u64);
            }
            let all = rows * PIECE as u64;
            let found = [Reach::Tail, Reach::Whole]
                .map(|reach| witness.holds(&path, (&file, all), reach).unwrap());
            assert_eq!(found, expected, "{edited:?}");
        }
    }
}
