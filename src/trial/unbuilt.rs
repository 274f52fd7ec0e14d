//! Why no tree could be built for graders: by what is to be graded, or by a fault of the machine, which says nothing of it.

use std::fmt::Display;
use std::io::{self, ErrorKind};

use rustix::io::Errno;

use crate::model::Infra;
use crate::trial::draft::Stop;
use crate::workspace::WorkspaceError;

/// Why there is no tree.
#[derive(Debug)]
pub(super) struct Unbuilt {
    /// In words.
    pub(super) why: String,
    /// Where it is the machine: what it lacked.
    pub(super) fault: Option<Infra>,
}

impl Unbuilt {
    /// `map_err` for calls of the file system.
    pub(super) fn by(doing: impl Display) -> impl FnOnce(io::Error) -> Self {
        move |error| Self {
            fault: fault_of(&error),
            why: format!("{doing}: {error}"),
        }
    }

    /// The same for what a workspace was asked to do.
    pub(super) fn doing(doing: impl Display) -> impl FnOnce(WorkspaceError) -> Self {
        move |error| {
            let Self { why, fault } = error.into();
            Self {
                why: format!("{doing}: {why}"),
                fault,
            }
        }
    }
}

impl From<String> for Unbuilt {
    fn from(why: String) -> Self {
        Self { why, fault: None }
    }
}

impl From<&str> for Unbuilt {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl From<WorkspaceError> for Unbuilt {
    fn from(error: WorkspaceError) -> Self {
        let why = error.to_string();
        let fault = workspace_fault(&error);
        Self { why, fault }
    }
}

impl From<Stop> for Unbuilt {
    fn from(stop: Stop) -> Self {
        Self {
            why: stop.message().to_owned(),
            fault: stop.by_machine(),
        }
    }
}

/// What the machine lacked where the workspace room could not do what was asked.
pub(super) fn workspace_fault(error: &WorkspaceError) -> Option<Infra> {
    match error {
        WorkspaceError::Io { source, .. } => fault_of(source),
        _ => None,
    }
}

/// What the machine lacked, where an error of the file system is about that and not about the path that it was asked for.
pub(super) fn fault_of(error: &io::Error) -> Option<Infra> {
    if matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    ) {
        return Some(Infra::DiskFull);
    }
    let machine = [
        Errno::MFILE,
        Errno::NFILE,
        Errno::IO,
        Errno::NOMEM,
        Errno::AGAIN,
        Errno::ROFS,
        Errno::NOLCK,
        Errno::STALE,
    ];
    let errno = Errno::from_io_error(error)?;
    machine.contains(&errno).then_some(Infra::HarnessBug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_lacks_is_no_fault_of_the_work() {
        let fault = |errno: Errno| fault_of(&errno.into());
        for errno in [Errno::NOSPC, Errno::DQUOT] {
            assert_eq!(fault(errno), Some(Infra::DiskFull), "{errno:?}");
        }
        for errno in [Errno::MFILE, Errno::IO, Errno::NOMEM, Errno::ROFS] {
            assert_eq!(fault(errno), Some(Infra::HarnessBug), "{errno:?}");
        }
        // What an agent can leave so that nobody builds it again.
        for errno in [Errno::NAMETOOLONG, Errno::NOTDIR, Errno::EXIST, Errno::LOOP] {
            assert_eq!(fault(errno), None, "{errno:?}");
        }
        let error = WorkspaceError::Io {
            doing: "make a folder".to_owned(),
            source: Errno::MFILE.into(),
        };
        let unbuilt = Unbuilt::doing("lay grader_files")(error);
        assert_eq!(unbuilt.fault, Some(Infra::HarnessBug));
        assert!(
            unbuilt
                .why
                .starts_with("lay grader_files: cannot make a folder: ")
        );
    }
}
