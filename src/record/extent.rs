//! How far a journal goes, and how much of it is what was noted beside it.

use std::io::{BufRead as _, BufReader, ErrorKind};

use serde::{Deserialize, Serialize};

use crate::record::artifacts::digest;
use crate::record::chain::GENESIS;
use crate::record::error::Doing as _;
use crate::record::rows::parse;
use crate::record::{RecordError, Row, RunDir, private};

/// Rows of a journal by their places, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RowRange {
    /// The first one.
    pub from: u64,
    /// The first one behind it.
    pub to: u64,
}

impl RowRange {
    /// Whether a row stands in it.
    #[must_use]
    pub const fn holds(&self, row: u64) -> bool {
        self.from <= row && row < self.to
    }
}

/// What a journal holds beside what was noted of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extent {
    /// All rows.
    pub rows: u64,
    /// Digest of the last one.
    pub head: Option<String>,
    /// How many rows were noted; nothing where none were.
    pub noted: Option<u64>,
    /// Whether these are there, follow each other, and end with the one whose digest was noted.
    pub holds: bool,
    /// Whether all of these but the last one are there and follow each other.
    pub lacks_the_last: bool,
    /// The first row that names the one before it.
    pub first_chained: Option<u64>,
}

/// Looks at a journal beside what was noted of it: how many rows it had, the digest of the last of them, and which of them
/// nobody witnessed, so that they need not follow each other. Versions that noted the digest alone mean the first row that
/// has it.
///
/// # Errors
/// The journal cannot be read.
pub fn extent(
    run: &RunDir,
    (noted, noted_head): (Option<u64>, Option<&str>),
    unwitnessed: &[RowRange],
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
    let (mut broken, mut head_is_there) = (None, noted_head.is_none() || noted == Some(0));
    let mut before = GENESIS.to_owned();
    each_line(run, |place, line| {
        let named = serde_json::from_slice(line).map_or(None, |link: Link| link.prev_sha256);
        if let Some(named) = named {
            found.first_chained.get_or_insert(place);
            let was_witnessed = !unwitnessed.iter().any(|zone| zone.holds(place));
            if was_witnessed && named != before {
                broken.get_or_insert(place);
            }
        }
        before = digest(line);
        found.rows = place + 1;
        let is_head = noted_head == Some(before.as_str());
        if is_head && found.noted.is_none() {
            found.noted = Some(found.rows);
        }
        head_is_there |= is_head && found.noted == Some(found.rows);
    })?;
    let noted = found.noted.unwrap_or(0);
    let follow = broken.is_none_or(|place| place >= noted);
    found.holds = head_is_there && follow && noted <= found.rows;
    found.lacks_the_last = follow && noted == found.rows + 1;
    found.head = (found.rows > 0).then_some(before);
    Ok(found)
}

/// Every row of a journal with its place, from 0; lines that are none count.
///
/// # Errors
/// The journal cannot be read.
pub fn each_row(run: &RunDir, mut take: impl FnMut(u64, Row)) -> Result<(), RecordError> {
    each_line(run, |place, line| {
        // A line that is no row is told of where rows are read.
        if let Ok(row) = parse(line, true) {
            take(place, row);
        }
    })
}

fn each_line(run: &RunDir, mut take: impl FnMut(u64, &[u8])) -> Result<(), RecordError> {
    let path = run.runs_jsonl();
    let mut reader = match private::open_file(&path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.source.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let (mut line, mut place) = (Vec::new(), 0);
    while reader.read_until(b'\n', &mut line).doing("read", &path)? > 0 {
        line.pop_if(|byte| *byte == b'\n');
        take(place, &line);
        place += 1;
        line.clear();
    }
    Ok(())
}
