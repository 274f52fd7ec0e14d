//! Why a run could not start or go on; trials that fail are no errors.

use std::path::PathBuf;

use crate::runner::kept_plan::PlanConflict;
use proctor_config::{Place, ProjectSource, Suite};
use proctor_workspace::WorkspaceError;

/// An error of the run as a whole.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The run directory cannot be made, opened or locked.
    #[error("{what}: {why}")]
    RunDirectory {
        /// What was tried.
        what: String,
        /// What the system said.
        why: String,
    },
    /// The project's files cannot be had.
    #[error("{0}")]
    Project(String),
    /// Programs that the config names are not on this machine.
    #[error("{}", .0.join("\n"))]
    Missing(Vec<String>),
    /// A reference patch does not hold.
    #[error("{failed} of {all} tasks are not valid; no agent was started")]
    Validation {
        /// Tasks whose reference fails.
        failed: usize,
        /// Tasks checked.
        all: usize,
    },
    /// The run that is to be resumed was made from other inputs.
    #[error("{} was started with other inputs:\n{changed}", .run.display())]
    Changed {
        /// The run.
        run: PathBuf,
        /// What differs, a line each.
        changed: String,
    },
    /// The run that is to be resumed has another plan than was asked for.
    #[error(transparent)]
    Plan(PlanConflict),
    /// Nobody knows what the run that is to be resumed was started with, though that was written down.
    #[error("{}: what it was started with is not known: {why}", .run.display())]
    Unread {
        /// The run.
        run: PathBuf,
        /// What became of it.
        why: String,
        /// Whether a newer proctor may know.
        is_newer: bool,
    },
    /// A budget was asked for that could not be kept.
    #[error(
        "--max-cost-usd cannot be kept: {0} tells neither tokens nor cost, so its first trial would count as all of it"
    )]
    Budget(String),
    /// Agents could not listen on sockets in their temporary folders.
    #[error(
        "{}: {over} bytes too long: agents listen on sockets below it, and a socket's path has at most {most} bytes; set TMPDIR to a shorter folder, such as /tmp",
        .scratch.display()
    )]
    Sockets {
        /// The folder of the trials.
        scratch: PathBuf,
        /// So many bytes too long.
        over: usize,
        /// The longest path of a socket.
        most: usize,
    },
    /// There is too little room on a disk to start.
    #[error("{0}")]
    DiskFull(String),
    /// A row could not be written: what was paid for must not be lost, so the run stops.
    #[error("the journal cannot be written: {why}")]
    Journal {
        /// What the system said.
        why: String,
        /// Whether the disk is full.
        disk_full: bool,
        /// The rows that are not on disk, as they would stand there.
        unsaved: Vec<String>,
    },
}

impl RunError {
    /// The project's files cannot be had: the config's file, line, column and key come first.
    pub(super) fn project(suite: &Suite, why: &WorkspaceError) -> Self {
        let project = &suite.project;
        let source = match project.source {
            ProjectSource::Repository(_) => "repo_path",
            ProjectSource::Template(_) => "template",
        };
        let (key, Place { line, column }) = if why.is_about_base_ref() {
            ("base_ref", project.base_ref_at)
        } else {
            (source, project.source_at)
        };
        let config = suite.config_path.display();
        Self::Project(format!("{config}:{line}:{column}: project.{key}: {why}"))
    }

    /// An error about a file or folder of the run.
    pub(super) fn at(what: impl Into<String>, why: &impl ToString) -> Self {
        Self::RunDirectory {
            what: what.into(),
            why: why.to_string(),
        }
    }
}
