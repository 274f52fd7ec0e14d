//! A file of lines that is written in large pieces, its secrets replaced first.

use std::borrow::Cow;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::Doing as _;
use crate::{RecordError, Redactor, private};

/// So much is gathered before it is written, up to a multiple of it from where the file began: whole pages, many at once, cost
/// the system half of what the same bytes cost in pieces that end anywhere.
const PIECE: usize = 128 * 1024;

/// How secrets in a line are replaced.
type Redact = for<'t> fn(&Redactor, &'t [u8]) -> Cow<'t, [u8]>;

/// A file of lines.
#[derive(Debug)]
pub(super) struct LineFile {
    file: File,
    path: PathBuf,
    redactor: Redactor,
    redact: Redact,
    /// Lines with their ends, the first of them maybe without its beginning.
    pending: Vec<u8>,
    /// How much of them is free of secrets.
    clean: usize,
    /// How much was written in all.
    written: usize,
}

impl LineFile {
    /// Begins a file, replacing what is there.
    pub(super) fn create(
        path: &Path,
        redactor: Redactor,
        redact: Redact,
    ) -> Result<Self, RecordError> {
        let mut file = Self::at_end_of(private::create_file(path)?, path, redactor);
        file.redact = redact;
        Ok(file)
    }

    /// Goes on at the end of a file of JSON lines.
    pub(super) fn at_end_of(file: File, path: &Path, redactor: Redactor) -> Self {
        Self {
            file,
            path: path.to_path_buf(),
            redactor,
            redact: Redactor::redact_json_line,
            pending: Vec::new(),
            clean: 0,
            written: 0,
        }
    }

    /// Adds a line of JSON; tells how long it is with its end.
    pub(super) fn put(&mut self, line: &impl Serialize) -> Result<usize, RecordError> {
        let begin = self.next()?.len();
        let written = serde_json::to_writer(&mut self.pending, line);
        if written.is_err() {
            self.pending.truncate(begin);
        }
        written.map_err(Into::into).doing("write", &self.path)?;
        self.pending.push(b'\n');
        Ok(self.pending.len() - begin)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the next line is put, its end included. Of what was gathered whole pieces are written first.
    pub(super) fn next(&mut self) -> Result<&mut Vec<u8>, RecordError> {
        if self.pending.len() >= PIECE {
            self.replace_secrets();
            let end = self.written + self.pending.len();
            self.write(self.pending.len().saturating_sub(end % PIECE))?;
        }
        Ok(&mut self.pending)
    }

    /// Writes what was gathered. What could not be written stays for the next time.
    pub(super) fn put_down(&mut self) -> Result<(), RecordError> {
        self.replace_secrets();
        self.write(self.pending.len())
    }

    /// Writes what was gathered up to this place, and forgets as much as was written.
    fn write(&mut self, to: usize) -> Result<(), RecordError> {
        let mut gone = 0;
        let mut result = Ok(());
        while gone < to && result.is_ok() {
            match self.file.write(&self.pending[gone..to]) {
                Ok(0) => result = Err(ErrorKind::WriteZero.into()),
                Ok(count) => gone += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => result = Err(error),
            }
        }
        self.pending.drain(..gone);
        self.pending.shrink_to(2 * PIECE);
        self.clean -= gone;
        self.written += gone;
        result.doing("write", &self.path)
    }

    /// Line by line, so that nothing is taken for a secret that stands in two.
    fn replace_secrets(&mut self) {
        let fresh = &self.pending[self.clean..];
        if self.redactor.finds(fresh) {
            let mut clean = Vec::with_capacity(fresh.len());
            for line in fresh.split_inclusive(|byte| *byte == b'\n') {
                clean.extend_from_slice(&(self.redact)(&self.redactor, line));
            }
            self.pending.truncate(self.clean);
            self.pending.extend_from_slice(&clean);
        }
        self.clean = self.pending.len();
    }
}

impl Drop for LineFile {
    fn drop(&mut self) {
        // Whoever wants to know whether it could be written has asked before.
        drop(self.put_down());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn redactor() -> Redactor {
        Redactor::from_variables([("API_KEY", "a-secret-of-some-length")])
    }

    #[test]
    fn whole_pieces_are_written_and_the_rest_follows_with_its_secrets_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let mut file = LineFile::create(&path, redactor(), Redactor::redact_bytes).unwrap();
        let mut all = String::new();
        for number in 0..9_000 {
            let line = format!(
                "{number} é {} a-secret-of-some-length\n",
                "x".repeat(number % 61)
            );
            file.next().unwrap().extend_from_slice(line.as_bytes());
            all.push_str(&line.replace("a-secret-of-some-length", "[redacted:API_KEY]"));
            let written = fs::read_to_string(&path);
            if let Ok(written) = written {
                assert!(all.starts_with(&written), "{number}");
            }
            let length = usize::try_from(fs::metadata(&path).unwrap().len()).unwrap();
            assert!(length.is_multiple_of(PIECE), "{number}: {length}");
        }
        assert!(fs::metadata(&path).unwrap().len() > PIECE as u64);
        file.put_down().unwrap();
        file.next().unwrap().extend_from_slice(b"last\n");
        drop(file);
        assert!(fs::read_to_string(&path).unwrap() == all + "last\n");
    }

    #[test]
    fn what_cannot_be_written_stays_and_nothing_is_written_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        fs::write(&path, "").unwrap();
        let for_reading = File::open(&path).unwrap();
        let mut file = LineFile::at_end_of(for_reading, &path, redactor());
        let line = format!("{}\n", "é".repeat(PIECE));
        file.next().unwrap().extend_from_slice(line.as_bytes());
        assert!(file.next().is_err() && file.put_down().is_err());
        file.file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.next().unwrap().extend_from_slice(line.as_bytes());
        file.put_down().unwrap();
        assert!(fs::read_to_string(&path).unwrap() == line.repeat(2));
    }
}
