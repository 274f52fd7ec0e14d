//! Makes both manifests from a run directory.

use std::path::Path;

use crate::error_log;
use crate::post_run::{FailureManifest, ToolErrorManifest};
use crate::rebuild::{ReportError, first_pass, put};
use crate::sink::FileChange;
use proctor_record::{Row, RunDir};

/// Both manifests of a run.
#[derive(Debug, Clone)]
pub struct Manifests {
    /// Of tool errors.
    pub tool_errors: ToolErrorManifest,
    /// Of failures.
    pub failures: FailureManifest,
}

/// Reads the journal and the trials' error logs; baselines and superseded attempts are left out.
///
/// # Errors
/// When the journal cannot be read.
pub fn manifests(run: &RunDir, tool_error_report: &Path) -> Result<Manifests, ReportError> {
    let root = run.root().display().to_string();
    let mut tool_errors = ToolErrorManifest::new(root.clone(), run.relative(tool_error_report));
    let mut failures = FailureManifest::new(root, run.relative(&run.failure_analysis_report()));
    let first = first_pass(run)?;
    for (line, read) in first.numbered(run)? {
        if let Ok(row) = read
            && !row.baseline_run
            && !first.superseded.contains(line)
        {
            tool_errors.add(&row, &logged(run, &row));
            failures.add(&row);
        }
    }
    failures.finish();
    Ok(Manifests {
        tool_errors,
        failures,
    })
}

/// Writes both manifests into the run directory.
///
/// # Errors
/// When a file cannot be written.
pub fn write_manifests(
    run: &RunDir,
    manifests: &Manifests,
) -> Result<Vec<FileChange>, ReportError> {
    let tool_errors = pretty(&manifests.tool_errors);
    let failures = pretty(&manifests.failures);
    Ok(vec![
        put(&run.tool_error_report_manifest(), &tool_errors, true)?,
        put(&run.failure_analysis_manifest(), &failures, true)?,
    ])
}

fn pretty(manifest: &impl serde::Serialize) -> Vec<u8> {
    let mut text =
        serde_json::to_vec_pretty(manifest).expect("string keys and finite or absent numbers");
    text.push(b'\n');
    text
}

fn logged(run: &RunDir, row: &Row) -> Vec<error_log::LoggedError> {
    let path = row.tool_error_log_path.as_deref();
    path.and_then(|path| error_log::read(run.root(), path))
        .unwrap_or_default()
}
