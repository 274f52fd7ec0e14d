//! What can go wrong with a file: which, doing what, and why.

use std::io;
use std::path::{Path, PathBuf};

/// A file of the run could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct RecordError {
    /// What was tried, as a verb: `create`, `append to`, `lock`.
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// Why it failed.
    #[source]
    pub source: io::Error,
}

impl RecordError {
    /// Whether the disk or the quota is full.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        matches!(
            self.source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    }
}

impl From<RecordError> for io::Error {
    fn from(error: RecordError) -> Self {
        Self::new(error.source.kind(), error)
    }
}

/// Names what was tried on which path when an I/O call fails.
pub(super) trait Doing<T> {
    /// Turns an I/O error into a [`RecordError`].
    fn doing(self, action: &'static str, path: &Path) -> Result<T, RecordError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, action: &'static str, path: &Path) -> Result<T, RecordError> {
        self.map_err(|source| RecordError {
            action,
            path: path.to_path_buf(),
            source,
        })
    }
}
