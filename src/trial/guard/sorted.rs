//! What becomes of the changes of a trial.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use crate::trial::make_targets::Taken;
use crate::workspace::{Age, ChangedPath, Now, named};

/// So many paths are named in `integrity`, of each kind.
const NAMED: usize = 10;

/// What becomes of a trial's changes.
#[derive(Debug, Default)]
pub(in crate::trial) struct Sorted<'a> {
    /// These go into the graders' tree, each with its age there.
    pub(in crate::trial) carried: Vec<(&'a ChangedPath, Age)>,
    /// What builds make anew, by its topmost paths: not carried.
    pub(in crate::trial) built: BTreeSet<PathBuf>,
    /// Reasons for `integrity` that break a rule of the task.
    pub(in crate::trial) violations: Vec<String>,
    /// Reasons for `integrity` that look odd.
    pub(in crate::trial) suspicions: Vec<String>,
    /// The first change where none is allowed.
    pub(in crate::trial) not_allowed: Option<String>,
    /// What is put back.
    restored: BTreeSet<&'a Path>,
}

impl<'a> Sorted<'a> {
    /// A change of a protected path: true where the task itself protects it.
    pub(super) fn put_back(&mut self, path: &'a Path, by_task: bool) {
        self.object(by_task, "protected_changed", path);
        self.restored.insert(path);
    }

    /// Notes a change that breaks a rule of the task, or only looks odd.
    pub(super) fn object(&mut self, breaks: bool, word: &str, path: &Path) {
        let reason = format!("{word}:{}", named(path));
        let reasons = if breaks {
            &mut self.violations
        } else {
            &mut self.suspicions
        };
        reasons.push(reason);
    }

    /// Names a change that looks odd.
    pub(super) fn suspect(&mut self, word: &str, path: &Path) {
        self.object(false, word, path);
    }

    /// What stands in the place of a folder that holds a protected file gives way to it.
    pub(super) fn give_way(&mut self) {
        let (restored, suspicions) = (&self.restored, &mut self.suspicions);
        self.carried.retain(|(one, _)| {
            let from = (Bound::Excluded(one.path.as_path()), Bound::Unbounded);
            let below = restored.range::<Path, _>(from).next();
            let stays =
                one.now == Now::Removed || below.is_none_or(|below| !below.starts_with(&one.path));
            if !stays {
                suspicions.push(format!("protected_changed:{}", named(&one.path)));
            }
            stays
        });
    }

    /// Takes in what make would take for done work.
    pub(super) fn taken(&mut self, one: &'a ChangedPath, taken: &Taken<'_>) {
        let target = match taken {
            Taken::Stamp => {
                self.built.insert(one.path.clone());
                return;
            }
            Taken::Work(target) => *target,
        };
        let reason = format!("make_target_shadowed:{}", named(target));
        if !self.suspicions.contains(&reason) {
            self.suspicions.push(reason);
        }
        if target != one.path {
            self.carried.push((one, Age::BeforeBase));
        }
    }

    /// Long lists of reasons are cut.
    pub(super) fn cut(&mut self) {
        shortened(&mut self.violations);
        shortened(&mut self.suspicions);
    }

    /// What is said of changes that builds make anew.
    pub(in crate::trial) fn left_out(&self) -> Option<String> {
        let named: Vec<String> = self
            .built
            .iter()
            .take(NAMED)
            .map(|path| named(path))
            .collect();
        let more = match self.built.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!named.is_empty()).then(|| {
            format!(
                "not carried to the graders, who build it anew: {}{more} (`carry` names what is to be carried)",
                named.join(", ")
            )
        })
    }
}

/// Names some and counts the rest.
pub(in crate::trial) fn shortened(reasons: &mut Vec<String>) {
    if let Some(more @ 1..) = reasons.len().checked_sub(NAMED) {
        reasons.truncate(NAMED);
        reasons.push(format!("and {more} more"));
    }
}
