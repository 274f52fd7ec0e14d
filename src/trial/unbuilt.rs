//! Why no tree could be built for graders: by what is to be graded, or by a fault of the machine, which says nothing of it.

use std::fmt::Display;
use std::io;

use crate::trial::outcome_builder::Stop;
use proctor_model::Infra;
use proctor_supervise::fault_of;
use proctor_workspace::WorkspaceError;

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

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_tree_that_the_machine_cannot_hold_says_what_it_was_and_whose_fault() {
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
