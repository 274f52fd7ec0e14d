//! How far a journal goes, and how much of it is what was noted beside it.

use std::io::{BufRead as _, BufReader, ErrorKind};

use serde::Deserialize;

use crate::artifacts::digest;
use crate::error::Doing as _;
use crate::{RecordError, RunDir, private};

/// What the first row of a journal names as the one before it.
pub(super) const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// What a journal holds beside what was noted of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extent {
    /// All rows.
    pub rows: u64,
    /// Digest of the last one.
    pub head: Option<String>,
    /// How many rows were noted; nothing where none were.
    pub noted: Option<u64>,
    /// The first row that names the one before it.
    pub first_chained: Option<u64>,
}

/// Looks at a journal beside what was noted of it: how many rows it had, and the digest of the last of
/// them. Versions that noted the digest alone mean the first row that
/// has it.
///
/// # Errors
/// The journal cannot be read.
pub fn extent(
    run: &RunDir,
    noted: Option<u64>,
    noted_head: Option<&str>,
) -> Result<Extent, RecordError> {
    #[derive(Deserialize)]
    struct Link {
        #[serde(default)]
        prev_sha256: Option<String>,
    }
    let mut found = Extent {
        noted,
        ..Extent::default()
    };
    let mut before = GENESIS.to_owned();
    each_line(run, |place, line, _| {
        let named = serde_json::from_slice(line).map_or(None, |link: Link| link.prev_sha256);
        if named.is_some() {
            found.first_chained.get_or_insert(place);
        }
        before = digest(line);
        found.rows = place + 1;
        if noted_head == Some(before.as_str()) {
            found.noted.get_or_insert(found.rows);
        }
    })?;
    found.head = (found.rows > 0).then_some(before);
    Ok(found)
}

/// Every line of a journal with its place and whether it is whole; none of one that is not there.
pub(super) fn each_line(
    run: &RunDir,
    mut take: impl FnMut(u64, &[u8], bool),
) -> Result<(), RecordError> {
    let path = run.runs_jsonl();
    let mut reader = match private::open_file(&path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.source.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let (mut line, mut place) = (Vec::new(), 0);
    while reader.read_until(b'\n', &mut line).doing("read", &path)? > 0 {
        let is_whole = line.pop_if(|byte| *byte == b'\n').is_some();
        take(place, &line, is_whole);
        place += 1;
        line.clear();
    }
    Ok(())
}
