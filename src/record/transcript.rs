//! `transcript.txt`: what an agent said, in words, as far as a bound allows.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use crate::failpoints::reach;
use crate::record::error::Doing as _;
use crate::record::{RecordError, Redactor, private};

/// A transcript ends, and says so, after this many bytes.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Writes a transcript.
#[derive(Debug)]
pub struct Transcript {
    writer: BufWriter<File>,
    path: PathBuf,
    redactor: Redactor,
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
            writer: BufWriter::with_capacity(32 * 1024, private::create_file(path)?),
            path: path.to_path_buf(),
            redactor,
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

    /// Adds a line.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn line(&mut self, text: &str) -> Result<(), RecordError> {
        let text = self.redactor.redact(text);
        if text.len() >= self.room {
            self.room = 0;
            self.omitted += 1;
            return Ok(());
        }
        self.room -= text.len() + 1;
        self.writer
            .write_all(text.as_bytes())
            .and_then(|()| self.writer.write_all(b"\n"))
            .doing("write", &self.path)
    }

    /// Puts down what is still in memory.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        reach("transcript.flush").doing("write", &self.path)?;
        self.writer.flush().doing("write", &self.path)
    }

    /// Ends the transcript; says how many lines were not kept, if any.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<u64, RecordError> {
        if self.omitted > 0 {
            let note = format!("[{} further lines omitted]", self.omitted);
            writeln!(self.writer, "{note}").doing("write", &self.path)?;
        }
        self.flush()?;
        Ok(self.omitted)
    }
}
