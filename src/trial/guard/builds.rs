//! What becomes of what builds leave, or what make would take for done.

use crate::trial::built::{Builds, Built};
use crate::trial::errands::MAKE_TOOLS;
use crate::trial::guard::{Base, Guard, Sorted};
use crate::trial::make_targets::Taken;
use crate::trial::telling::is_dependency;
use crate::workspace::{Age, ChangedPath, Now, named};

impl Guard {
    /// What make would take a change for.
    pub(super) fn taken_by_make<'a>(
        &self,
        one: &'a ChangedPath,
        base: &Base<'_>,
    ) -> Option<Taken<'a>> {
        let path = one.path.as_path();
        let is_empty = match &one.now {
            Now::Removed => return None,
            Now::File(file) => file.size == 0,
            Now::Link(_) | Now::Special(_) => false,
        };
        if !self.defaults || self.reference.contains(path) || self.counts.matter(path) {
            return None;
        }
        if base.makefiles.is_noted_by_a_compiler(path) {
            return Some(Taken::Stamp);
        }
        if base.makefiles.is_made_anew(path)
            && base.builds.kind(one) == Built::Program
            && base.errands.may_run(&MAKE_TOOLS)
        {
            return Some(Taken::Stamp);
        }
        let taken = base.makefiles.target_taken((path, is_empty), &base.left)?;
        if !base.errands.may_run(&MAKE_TOOLS) {
            return None;
        }
        // What others wrote may be had by nobody again, and is named where it changed.
        let is_dropped = taken == Taken::Stamp || taken == Taken::Work(path);
        (!is_dropped || !is_dependency(path)).then_some(taken)
    }

    /// The age that a change has in the graders' tree; nothing where it is not carried, since a build makes it anew. What the
    /// task itself names is carried, and is old enough that no build takes it for its own.
    pub(super) fn age(
        &self,
        one: &ChangedPath,
        builds: &Builds<'_>,
        sorted: &mut Sorted<'_>,
    ) -> Option<Age> {
        let path = one.path.as_path();
        let is_wanted = self.counts.matter(path) || self.reference.contains(path);
        let word = match builds.kind(one) {
            Built::Other(age) => return Some(age),
            Built::Again(topmost) if !is_wanted => {
                sorted.built.insert(topmost);
                return None;
            }
            Built::Again(_) | Built::Program => "program_left",
            Built::Tracked => "build_output_changed",
        };
        if !is_wanted {
            sorted.suspicions.push(format!("{word}:{}", named(path)));
        }
        Some(Age::BeforeAll)
    }
}
