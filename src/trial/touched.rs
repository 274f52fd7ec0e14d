//! What was touched, while graders ran code, of the files that they judge by. A build script, a macro or a test that the agent wrote can
//! rewrite a protected test in the graders' own tree and put it back: only what the file system notes of it tells.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::trial::blocking::blocking;
use crate::trial::frame::Frame;
use crate::trial::guard::shortened;
use crate::workspace::{Witness, Workspace, named};

/// Protected files and `grader_files`, as they lie in one graders' tree after the other.
#[derive(Debug, Default)]
pub(super) struct Touched {
    witness: Option<Witness>,
    paths: BTreeSet<PathBuf>,
}

impl Touched {
    /// From here on `tree` is looked at: all is laid there, and no grader ran yet.
    pub(super) fn begin(&mut self, frame: &Frame<'_>, tree: &Workspace) {
        let context = frame.context;
        let guard = context.guard(frame.planned);
        self.witness =
            guard.map(|guard| blocking(|| tree.witness(guard.judges_by(&context.template))));
    }

    /// Looks again, after a grader.
    pub(super) fn look(&mut self) {
        if let Some(witness) = &mut self.witness {
            self.paths.extend(blocking(|| witness.touched()));
        }
    }

    /// Reasons for `integrity`.
    pub(super) fn reasons(&self) -> Vec<String> {
        let paths = self.paths.iter();
        let mut reasons = paths
            .map(|path| format!("touched_while_grading:{}", named(path)))
            .collect();
        shortened(&mut reasons);
        reasons
    }
}
