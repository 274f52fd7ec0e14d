//! `changes.patch` and `changes.jsonl`: what an agent changed, for people and for cassettes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::record::error::Doing as _;
use crate::record::{RecordError, Redactor, TrialDir};

/// One changed path, in the shape of a line of `changes.jsonl`. Exactly one of `text`, `base64`, `link`, `removed`
/// and `omitted` is there.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ChangedFile {
    /// From the project's folder, with `/`.
    pub path: String,
    /// The new content, if it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The new content, if it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Where the link leads that is there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The path is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// Why the content was not kept (too large, no regular file).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omitted: Option<String>,
    /// Whether it may be executed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub executable: bool,
}

impl ChangedFile {
    /// A file with this content: as text where it is text.
    #[must_use]
    pub fn of(path: String, bytes: Vec<u8>, executable: bool) -> Self {
        let (text, base64) = match String::from_utf8(bytes) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
        };
        Self {
            path,
            text,
            base64,
            executable,
            ..Self::default()
        }
    }

    /// The content, if it was kept.
    #[must_use]
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match (&self.text, &self.base64) {
            (Some(text), _) => Some(text.clone().into_bytes()),
            (None, Some(text)) => STANDARD.decode(text).ok(),
            (None, None) => None,
        }
    }
}

/// The changed files of a trial; lines that cannot be read are left out.
///
/// # Errors
/// When the file is there and cannot be read.
pub fn read_changes(trial: &TrialDir) -> Result<Vec<ChangedFile>, RecordError> {
    let path = trial.changes();
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path).doing("read", &path)?;
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

/// Writes both files.
///
/// # Errors
/// When a file cannot be written.
pub fn write_changes(
    trial: &TrialDir,
    (diff, changed): (&[u8], &[ChangedFile]),
    redactor: &Redactor,
) -> Result<(), RecordError> {
    crate::record::write_file(&trial.changes_patch(), &redactor.redact_bytes(diff))?;
    let path = trial.changes();
    let mut lines = String::new();
    for file in changed {
        let line = serde_json::to_string(file)
            .map_err(Into::into)
            .doing("write", &path)?;
        lines.push_str(&redactor.redact_json(&line));
        lines.push('\n');
    }
    crate::record::write_file(&path, lines.as_bytes())
}
