//! Lists that are read once, at a trial's end: what is long of them waits in a file without a name, not in memory.
//!
//! What waits there is as the agent said it, secrets with it: the trial's end redacts what it writes of it. No name leads to the
//! file, its space is free again when the trial ends or the harness dies, and no part of it is ever in a run's folder.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::marker::PhantomData;
use std::os::unix::fs::FileExt as _;

/// Bytes of a number.
const NUMBER: usize = 8;

/// So much is gathered before it is set aside.
const PIECE: usize = 64 * 1024;

/// A thing of such a list: it is put down as numbers and texts, and taken up in the same order.
pub trait Keeps: Sized {
    /// Puts it down.
    fn put(&self, to: &mut Parts);

    /// Takes it up.
    ///
    /// # Errors
    /// It is none of these.
    fn take(from: &mut Parts) -> io::Result<Self>;
}

/// Numbers and texts of one thing, one behind the other, as bytes.
#[derive(Debug, Default)]
pub struct Parts {
    bytes: Vec<u8>,
    /// Up to where they were taken.
    taken: usize,
}

/// A list of things. Where no file can be had, or none can be written, it stays in memory.
pub struct Kept<T> {
    count: usize,
    /// What was set aside, and how long it is.
    file: Option<(File, u64)>,
    /// What follows it: of each thing its length and its parts.
    recent: Parts,
    things: PhantomData<fn() -> T>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            count: 0,
            file: None,
            recent: Parts::default(),
            things: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Kept<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Kept")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl<T> Kept<T> {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Sets aside what was gathered; what cannot be stays where it is, and is tried again when as much has come.
    fn set_aside(&mut self) {
        let file = self
            .file
            .take()
            .or_else(|| Some((tempfile::tempfile().ok()?, 0)));
        if let Some((file, length)) = file {
            let written = file.write_all_at(&self.recent.bytes, length).is_ok();
            let more = if written {
                self.recent.bytes.len() as u64
            } else {
                0
            };
            self.file = Some((file, length + more));
            if written {
                self.recent.bytes.clear();
            }
        }
    }
}

impl<T: Keeps> Kept<T> {
    /// Adds a thing at the end.
    pub fn push(&mut self, thing: &T) {
        let before = self.recent.bytes.len();
        self.recent.number(0);
        let begin = self.recent.bytes.len();
        thing.put(&mut self.recent);
        let end = self.recent.bytes.len();
        let length = (end - begin) as u64;
        self.recent.bytes[before..begin].copy_from_slice(&length.to_le_bytes());
        self.count += 1;
        if before / PIECE < end / PIECE {
            self.set_aside();
        }
    }

    /// All of them, in their order. What cannot be read back is the last one that comes.
    pub fn iter(&self) -> impl Iterator<Item = io::Result<T>> + '_ {
        let mut bytes = BufReader::new(Lines { kept: self, at: 0 });
        let mut left = self.count;
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let next = next(&mut bytes);
            if next.is_err() {
                left = 0;
            }
            Some(next)
        })
    }
}

/// Reads the next thing.
fn next<T: Keeps>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; NUMBER];
    from.read_exact(&mut length)?;
    let mut parts = Parts::default();
    let length = u64::from_le_bytes(length);
    from.take(length).read_to_end(&mut parts.bytes)?;
    T::take(&mut parts)
}

impl Parts {
    /// Puts down a number.
    pub fn number(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// Puts down a text.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Takes up a number.
    ///
    /// # Errors
    /// There is none.
    pub fn take_number(&mut self) -> io::Result<u64> {
        let number = self.next(NUMBER)?.first_chunk().copied();
        number.map(u64::from_le_bytes).ok_or_else(no_such_thing)
    }

    /// Takes up a text.
    ///
    /// # Errors
    /// There is none.
    pub fn take_text(&mut self) -> io::Result<String> {
        let length = usize::try_from(self.take_number()?).map_err(|_| no_such_thing())?;
        let text = self.next(length)?.to_vec();
        String::from_utf8(text).map_err(|_| no_such_thing())
    }

    fn next(&mut self, length: usize) -> io::Result<&[u8]> {
        let rest = self.bytes.get(self.taken..);
        let next = rest.and_then(|rest| rest.get(..length));
        self.taken += length;
        next.ok_or_else(no_such_thing)
    }
}

/// What is put down cannot be taken up.
pub(super) fn no_such_thing() -> io::Error {
    ErrorKind::InvalidData.into()
}

/// Reads what was set aside, then what was not.
struct Lines<'a, T> {
    kept: &'a Kept<T>,
    at: u64,
}

impl<T> Read for Lines<'_, T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let aside = self.kept.file.as_ref().map_or(0, |(_, length)| *length);
        let count = match &self.kept.file {
            Some((file, _)) if self.at < aside => {
                let room = usize::try_from(aside - self.at).unwrap_or(usize::MAX);
                let room = room.min(buffer.len());
                file.read_at(&mut buffer[..room], self.at)?
            }
            _ => {
                let from = usize::try_from(self.at - aside).unwrap_or(usize::MAX);
                let mut rest = self.kept.recent.bytes.get(from..).unwrap_or_default();
                rest.read(buffer)?
            }
        };
        self.at += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Keeps for String {
        fn put(&self, to: &mut Parts) {
            to.text(self);
        }

        fn take(from: &mut Parts) -> io::Result<Self> {
            from.take_text()
        }
    }

    fn texts() -> impl Iterator<Item = String> {
        (0..3_000).map(|number| format!("{number}: \"\n\u{1}é{}", "x".repeat(number % 97)))
    }

    #[test]
    fn a_long_list_waits_on_disk_and_reads_back_whole_as_often_as_one_likes() {
        let mut list = Kept::default();
        assert!(list.iter().next().is_none() && list.is_empty());
        for text in texts() {
            list.push(&text);
            assert!(list.recent.bytes.capacity() <= 4 * PIECE);
        }
        assert_eq!(list.len(), 3_000);
        assert!(
            list.file
                .as_ref()
                .is_some_and(|(_, length)| *length > 2 * PIECE as u64)
        );
        for _ in 0..2 {
            let back: io::Result<Vec<String>> = list.iter().collect();
            assert!(back.unwrap().into_iter().eq(texts()));
        }
    }

    #[test]
    fn what_cannot_be_set_aside_stays() {
        let mut list = Kept {
            // It is open for reading alone.
            file: Some((File::open("/dev/null").unwrap(), 0)),
            ..Kept::default()
        };
        texts().for_each(|text| list.push(&text));
        let back: io::Result<Vec<String>> = list.iter().collect();
        assert!(back.unwrap().into_iter().eq(texts()));
    }
}
