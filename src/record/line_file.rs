//! A file of lines that is written in large pieces, its secrets replaced first.

use std::borrow::Cow;
use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::record::error::Doing as _;
use crate::record::{RecordError, Redactor, private};

/// So much is gathered before it is written.
const PIECE: usize = 128 * 1024;

/// How secrets in a line are replaced.
type Redact = for<'t> fn(&Redactor, &'t str) -> Cow<'t, str>;

/// A file of lines.
#[derive(Debug)]
pub(super) struct LineFile {
    file: File,
    path: PathBuf,
    redactor: Redactor,
    redact: Redact,
    /// Whole lines, each with its end.
    pending: String,
    /// How much of them is written: less than all after a failure alone.
    written: usize,
}

impl LineFile {
    /// Begins a file, replacing what is there.
    pub(super) fn create(
        path: &Path,
        redactor: Redactor,
        redact: Redact,
    ) -> Result<Self, RecordError> {
        Ok(Self {
            file: private::create_file(path)?,
            path: path.to_path_buf(),
            redactor,
            redact,
            pending: String::new(),
            written: 0,
        })
    }

    /// Goes on at the end of a file of JSON lines.
    pub(super) fn at_end_of(file: File, path: &Path, redactor: Redactor) -> Self {
        Self {
            file,
            path: path.to_path_buf(),
            redactor,
            redact: Redactor::redact_json,
            pending: String::new(),
            written: 0,
        }
    }

    /// Adds a line of JSON; tells how long it is with its end.
    pub(super) fn put(&mut self, line: &impl Serialize) -> Result<usize, RecordError> {
        let text = serde_json::to_string(line)
            .map_err(Into::into)
            .doing("write", &self.path)?;
        let pending = self.next()?;
        pending.push_str(&text);
        pending.push('\n');
        Ok(text.len() + 1)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the next line is put, its end included. What was gathered is written first where it is much.
    pub(super) fn next(&mut self) -> Result<&mut String, RecordError> {
        if self.pending.len() >= PIECE || self.written > 0 {
            self.put_down()?;
        }
        Ok(&mut self.pending)
    }

    /// Writes what was gathered. What could not be written stays for the next time.
    pub(super) fn put_down(&mut self) -> Result<(), RecordError> {
        if self.written == 0 && self.redactor.finds(&self.pending) {
            self.replace_secrets();
        }
        while self.written < self.pending.len() {
            match self.file.write(&self.pending.as_bytes()[self.written..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()).doing("write", &self.path),
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).doing("write", &self.path),
            }
        }
        self.written = 0;
        self.pending.clear();
        self.pending.shrink_to(2 * PIECE);
        Ok(())
    }

    /// Line by line, so that nothing is taken for a secret that stands in two.
    fn replace_secrets(&mut self) {
        let mut clean = String::with_capacity(self.pending.len());
        for line in self.pending.split_terminator('\n') {
            clean.push_str(&(self.redact)(&self.redactor, line));
            clean.push('\n');
        }
        self.pending = clean;
    }
}

impl Drop for LineFile {
    fn drop(&mut self) {
        // Whoever wants to know whether it could be written has asked before.
        drop(self.put_down());
    }
}
