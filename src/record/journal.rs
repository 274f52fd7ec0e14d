//! The journal: `runs.jsonl`, append-only, a row per attempt, durable before it is acknowledged.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::failpoints::reach;
use crate::record::artifacts::digest;
use crate::record::chain::GENESIS;
use crate::record::error::Doing as _;
use crate::record::seal::{TornTail, last_line, seal};
use crate::record::witness::{Foreign, Reach, Witness};
use crate::record::{RecordError, Redactor, Row, RunDir, private};

/// How a journal is written.
#[derive(Debug, Clone)]
pub struct JournalOptions {
    /// Whether each append waits for the disk. Only measurements of the harness itself switch it off.
    pub sync: bool,
    /// Secrets that no row may hold.
    pub redactor: Redactor,
}

impl Default for JournalOptions {
    fn default() -> Self {
        Self {
            sync: true,
            redactor: Redactor::default(),
        }
    }
}

/// The open journal of a run; one process has it (see [`RunDir::lock`]), and one owner in it.
///
/// Bytes that were there are never changed. A row that cannot be written is kept in memory and tried again
/// before the next one, so that rows keep their order and none is lost while the process lives. What somebody else writes
/// into the file meanwhile is kept aside, and the file is again what this process wrote.
#[derive(Debug)]
pub struct Journal {
    run: RunDir,
    file: File,
    path: PathBuf,
    /// Length up to which the file holds whole, acknowledged rows.
    good: u64,
    /// Whether a write failed and what it left could not be cut off.
    dirty: bool,
    pending: Vec<Vec<u8>>,
    /// Digest of the last row, which the next one names.
    head: String,
    /// Rows up to `good`, and those that wait.
    rows: u64,
    witness: Witness,
    foreign: Option<Foreign>,
    options: JournalOptions,
}

impl Journal {
    /// Opens or creates the journal, and seals a tail that a crash left.
    ///
    /// # Errors
    /// When the file cannot be opened or sealed.
    pub fn open(run: &RunDir) -> Result<(Self, Option<TornTail>), RecordError> {
        Self::open_with(run, JournalOptions::default())
    }

    /// The same with options.
    ///
    /// # Errors
    /// When the file cannot be opened or sealed.
    pub fn open_with(
        run: &RunDir,
        options: JournalOptions,
    ) -> Result<(Self, Option<TornTail>), RecordError> {
        let path = run.runs_jsonl();
        let existed = path.exists();
        let mut file = open_to_append(&path)?;
        if !existed {
            private::sync_dir(run.root())?;
        }
        let (good, tail) = seal(&mut file, run)?;
        let last = last_line(&mut file, good).doing("read", &path)?;
        let (witness, rows) = Witness::of(run, &file, good).doing("read", &path)?;
        let journal = Self {
            run: run.clone(),
            file,
            path,
            good,
            dirty: false,
            pending: Vec::new(),
            head: last.map_or_else(|| GENESIS.to_owned(), |line| digest(&line)),
            rows,
            witness,
            foreign: None,
            options,
        };
        Ok((journal, tail))
    }

    /// Appends a row: one write, then synced. After an error the file is as it was before, and the row waits
    /// in memory for the next call.
    ///
    /// # Errors
    /// When the row is not on disk.
    pub fn append(&mut self, row: &Row) -> Result<(), RecordError> {
        self.append_all([row])
    }

    /// Appends rows of trials that ended together: one write and one sync for all of them.
    ///
    /// # Errors
    /// When they are not all on disk.
    pub fn append_all<'a>(
        &mut self,
        rows: impl IntoIterator<Item = &'a Row>,
    ) -> Result<(), RecordError> {
        for row in rows {
            let chained = Row {
                prev_sha256: Some(self.head.clone()),
                ..row.clone()
            };
            let line = line_of(&chained, &self.options.redactor).doing("write", &self.path)?;
            self.head = digest(line.trim_ascii_end());
            self.rows += 1;
            self.pending.push(line);
        }
        self.flush()
    }

    /// Writes the rows that wait in memory, if any.
    ///
    /// # Errors
    /// When they are still not on disk.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.look()?;
        let written = self.write_pending();
        if written.is_err() {
            // What a short write left goes away; should even that fail, the next flush cuts first.
            self.dirty = self.file.set_len(self.good).is_err();
        } else {
            self.pending.clear();
        }
        written.doing("append to", &self.path)
    }

    /// Makes the file what this process wrote, where somebody else wrote to it since the last look: what was found is kept
    /// under another name.
    ///
    /// # Errors
    /// It cannot be read or made anew.
    pub fn look(&mut self) -> Result<(), RecordError> {
        self.look_at(Reach::Tail)
    }

    /// The same once more at the end, where every byte is compared.
    ///
    /// # Errors
    /// It cannot be read or made anew.
    pub fn look_at_all(&mut self) -> Result<(), RecordError> {
        self.look_at(Reach::Whole)
    }

    fn look_at(&mut self, reach: Reach) -> Result<(), RecordError> {
        if self.dirty {
            self.file.set_len(self.good).doing("truncate", &self.path)?;
            self.dirty = false;
        }
        let ours = (&self.file, self.good);
        if self
            .witness
            .holds(&self.path, ours, reach)
            .doing("read", &self.path)?
        {
            return Ok(());
        }
        self.foreign = Some(self.witness.restore(&self.run, self.good)?);
        self.file = open_to_append(&self.path)?;
        Ok(())
    }

    /// What somebody else did to the file since this was asked last.
    pub const fn take_foreign(&mut self) -> Option<Foreign> {
        self.foreign.take()
    }

    fn write_pending(&mut self) -> io::Result<()> {
        let bytes = self.pending.concat();
        reach("journal.write")?;
        self.write(&bytes)?;
        if self.options.sync {
            reach("journal.sync")?;
            self.file.sync_data()?;
        }
        let place = self.good;
        self.good += bytes.len() as u64;
        let wrote = (&self.file, bytes.as_slice());
        self.witness.wrote(wrote, place, self.good);
        tracing::debug!(
            bytes = bytes.len(),
            length = self.good,
            "appended to the journal"
        );
        Ok(())
    }

    #[cfg(not(debug_assertions))]
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    /// In two parts, so that a test can cut a row.
    #[cfg(debug_assertions)]
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (first, second) = bytes.split_at(bytes.len() / 2);
        self.file.write_all(first)?;
        reach("journal.half")?;
        self.file.write_all(second)
    }

    /// Digest of the last row, to be noted where the journal's writer is not the only one to write.
    #[must_use]
    pub fn head(&self) -> &str {
        &self.head
    }

    /// How many rows it has, those that wait included.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// The lines of rows that could not be written, for a last resort such as standard error.
    pub fn unsaved(&self) -> impl Iterator<Item = &str> {
        self.pending
            .iter()
            .filter_map(|line| std::str::from_utf8(line).ok())
            .map(str::trim_end)
    }
}

fn open_to_append(path: &Path) -> Result<File, RecordError> {
    let mut options = private::options();
    let options = options.read(true).append(true).create(true);
    options.open(path).doing("open", path)
}

fn line_of(row: &Row, redactor: &Redactor) -> io::Result<Vec<u8>> {
    let text = serde_json::to_string(row)?;
    let mut line = redactor.redact_json(&text).into_owned().into_bytes();
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
