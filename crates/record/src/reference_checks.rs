//! `reference_checks/reference_checks.jsonl`: a line per task that was validated.

use serde_json::Value;

use crate::{RecordError, RunDir, append_line};

/// Appends a line and waits for the disk.
///
/// # Errors
/// When it is not on disk.
pub fn append_reference_check(run: &RunDir, row: &Value) -> Result<(), RecordError> {
    append_line(&run.reference_checks_jsonl(), &row.to_string())
}
