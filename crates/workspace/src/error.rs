//! Why a workspace could not be made, in words that name the thing and say what to do.

use std::io;
use std::path::PathBuf;

impl WorkspaceError {
    /// Whether another `base_ref` is what helps.
    #[must_use]
    pub const fn is_about_base_ref(&self) -> bool {
        matches!(self, Self::UnknownRef { .. } | Self::NotACommit { .. })
    }
}

/// Why the workspace room could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// `repo_path` is not inside a git repository.
    #[error(
        "{path} is not inside a git repository; point project.repo_path at one, or use project.template for a plain folder"
    )]
    NotARepository {
        /// The path as configured.
        path: PathBuf,
    },
    /// The repository has no commit yet.
    #[error("the repository {repository} has no commit yet; commit the project once")]
    EmptyRepository {
        /// Its folder.
        repository: PathBuf,
    },
    /// `base_ref` names nothing.
    #[error(
        "{name:?} names no branch, tag or commit of {repository}{}; `git -C {repository} branch --all` lists its branches",
        did_you_mean(near)
    )]
    UnknownRef {
        /// As configured.
        name: String,
        /// The repository's folder.
        repository: PathBuf,
        /// Names that look like it.
        near: Vec<String>,
    },
    /// `base_ref` names something that is not a commit.
    #[error("{name:?} of {repository} names a {kind}, and a commit is needed")]
    NotACommit {
        /// As configured.
        name: String,
        /// The repository's folder.
        repository: PathBuf,
        /// What it names.
        kind: String,
    },
    /// The folder of `repo_path` does not exist in the commit.
    #[error(
        "folder {} is not in {base_ref} ({}) of {repository}; commit it, or choose another base_ref or repo_path",
        subdir.display(), short(commit)
    )]
    NoSubdir {
        /// The folder, from the root of the repository.
        subdir: PathBuf,
        /// As configured.
        base_ref: String,
        /// What it resolved to.
        commit: String,
        /// The repository's folder.
        repository: PathBuf,
    },
    /// The tree holds a name that cannot be a file here.
    #[error("the project holds {path:?}, which cannot be a file of a workspace: {why}")]
    BadName {
        /// Path from the root.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// `fetch_remote` failed.
    #[error(
        "cannot fetch into {repository}: {problem}; fetch by hand, or set suite.fetch_remote to false"
    )]
    Fetch {
        /// The repository's folder.
        repository: PathBuf,
        /// What went wrong.
        problem: String,
    },
    /// A reference patch does not apply.
    #[error("patch {} does not apply: {problem}", patch.display())]
    Patch {
        /// The patch file.
        patch: PathBuf,
        /// What is wrong with it, naming the file inside.
        problem: String,
    },
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
    /// Whether a full disk or a quota is the reason: no fault of the trial.
    #[must_use]
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
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

fn did_you_mean(near: &[String]) -> String {
    match near {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(", ")),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
