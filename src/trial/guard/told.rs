//! What is told of a change that is carried to the graders.

use std::path::Path;

use crate::graders::tools_that_read;
use crate::trial::guard::{Base, Guard, Sorted};
use crate::trial::telling::reconfigured;
use crate::workspace::{ChangedPath, Now};

impl Guard {
    /// Tells what a change may be taken for, and what it changes in how tests run. Of a file that the reference patch changes as well, it
    /// is told what is neither as it was nor as that one makes it.
    pub(super) fn tell(&self, one: &ChangedPath, base: &Base<'_>, sorted: &mut Sorted<'_>) {
        let path = one.path.as_path();
        let (names, makefiles) = (&base.namesakes, &base.makefiles);
        let is_own = !self.reference.contains(path);
        if is_own && names.header(one, (makefiles, self.tests(base.known))) {
            sorted.suspect("header_may_shadow", path);
        }
        if is_own && names.program(one, makefiles) {
            sorted.suspect("program_may_shadow", path);
        }
        if one.now == Now::Removed || base.known.has(path) || may_be_read(path, base) {
            let meant = self.after_reference(path, base);
            let reason = reconfigured(one, (base.known, makefiles), (base.errands, meant));
            sorted.suspicions.extend(reason);
        }
    }
}

/// Whether graders may run what reads a new file of this name.
fn may_be_read(path: &Path, base: &Base<'_>) -> bool {
    tools_that_read(path).is_none_or(|tools| base.errands.may_run(tools))
}
