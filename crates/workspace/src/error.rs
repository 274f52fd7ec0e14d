//! Why a workspace could not be made, in words that name the thing and say what to do.

use std::io;
use std::path::Path;

/// Why the workspace room could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// `base_ref` names no commit: another one is what helps.
    #[error("{0}")]
    BaseRef(String),
    /// The project is not one that can be worked on, or a patch does not fit it.
    #[error("{0}")]
    Refused(String),
    /// libgit2 said no.
    #[error("cannot {doing}: {problem}")]
    Git {
        /// What was tried.
        doing: String,
        /// What libgit2 says.
        problem: String,
    },
    /// The file system said no.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was tried.
        doing: String,
        /// Why not.
        source: io::Error,
    },
}

impl WorkspaceError {
    /// Whether another `base_ref` is what helps.
    #[must_use]
    pub const fn is_about_base_ref(&self) -> bool {
        matches!(self, Self::BaseRef(_))
    }

    /// Whether a full disk or a quota is the reason: no fault of the trial.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ))
    }

    /// That there is nothing to work on.
    pub(super) fn no_commit(repository: &Path) -> Self {
        let repository = repository.display();
        Self::Refused(format!(
            "the repository {repository} has no commit yet; commit the project once"
        ))
    }

    /// That a name cannot be that of a file here.
    pub(super) fn bad_name(path: &Path, why: &str) -> Self {
        let name = path.to_string_lossy();
        Self::Refused(format!(
            "the project holds {name:?}, which cannot be a file of a workspace: {why}"
        ))
    }

    /// `map_err` for calls of the file system.
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        |source| Self::Io { doing, source }
    }

    /// `map_err` for calls of rustix.
    pub(super) fn errno(doing: impl Into<String>) -> impl FnOnce(rustix::io::Errno) -> Self {
        let doing = doing.into();
        |errno| Self::Io {
            doing,
            source: errno.into(),
        }
    }

    /// `map_err` for calls of libgit2.
    pub(super) fn git(doing: impl Into<String>) -> impl FnOnce(git2::Error) -> Self {
        let doing = doing.into();
        move |error| Self::Git {
            doing,
            problem: plain_words(&error),
        }
    }
}

/// What libgit2 says, with a hint for the cases that a person can mend.
fn plain_words(error: &git2::Error) -> String {
    let said = error.message();
    let hint = match error.code() {
        git2::ErrorCode::Owner => {
            "; the repository belongs to another user: see git's safe.directory"
        }
        git2::ErrorCode::NotFound if said.contains("object not found") => {
            "; a partial clone lacks it: run `git fetch --refetch` first"
        }
        _ if said.contains("extension") => {
            "; reftable and SHA-256 repositories cannot be read: clone into the classic format"
        }
        _ => "",
    };
    format!("{said}{hint}")
}
