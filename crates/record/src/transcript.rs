//! `transcript.txt`: what an agent said, in words, as far as a bound allows.

use std::path::Path;

use crate::error::Doing as _;
use crate::line_file::LineFile;
use crate::{RecordError, Redactor};
use proctor_failpoints::reach;

/// A transcript ends, and says so, after this many bytes.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Writes a transcript.
#[derive(Debug)]
pub struct Transcript {
    file: LineFile,
    room: usize,
    omitted: u64,
}

impl Transcript {
    /// Begins a transcript, replacing what is there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path, redactor: Redactor) -> Result<Self, RecordError> {
        Ok(Self {
            file: LineFile::create(path, redactor, Redactor::redact_bytes)?,
            room: MOST_BYTES,
            omitted: 0,
        })
    }

    /// The same with at most this many bytes; what comes after is counted.
    #[must_use]
    pub fn with_room(self, room: u64) -> Self {
        Self {
            room: usize::try_from(room).unwrap_or(usize::MAX),
            ..self
        }
    }

    /// Adds a line, given without its end.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn line(&mut self, line: &str) -> Result<(), RecordError> {
        if line.len() >= self.room {
            self.room = 0;
            self.omitted += 1;
            return Ok(());
        }
        self.room -= line.len() + 1;
        self.file.put_text(line)
    }

    /// Puts down what is still in memory.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        reach("transcript.flush").doing("write", self.file.path())?;
        self.file.put_down()
    }

    /// Ends the transcript; says how many lines were not kept, if any.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<u64, RecordError> {
        if self.omitted > 0 {
            let note = format!("[{} further lines omitted]", self.omitted);
            self.file.put_text(&note)?;
        }
        self.flush()?;
        Ok(self.omitted)
    }
}
