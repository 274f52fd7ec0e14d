//! `reference_checks/reference_checks.jsonl`: a line per task that was validated.

use std::io::Write as _;

use serde_json::Value;

use crate::record::error::Doing as _;
use crate::record::{RecordError, RunDir, private};

/// Appends a line and waits for the disk.
///
/// # Errors
/// When it is not on disk.
pub fn append_reference_check(run: &RunDir, row: &Value) -> Result<(), RecordError> {
    private::ensure_dir(&run.reference_checks())?;
    let path = run.reference_checks_jsonl();
    let mut file = private::append_file(&path)?;
    file.write_all(format!("{row}\n").as_bytes())
        .doing("append to", &path)?;
    file.sync_data().doing("sync", &path)
}
