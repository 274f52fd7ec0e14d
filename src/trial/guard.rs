//! What a task says about paths, and what becomes of each change under it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::config::{GraderSpec, PROTECTED_BY_DEFAULT, TaskSpec};
use crate::graders::Globs;
use crate::trial::built::{Builds, Built};
use crate::trial::known::Known;
use crate::trial::makefiles::Makefiles;
use crate::trial::shadowing::{ImportRoots, Rivals, rivals};
use crate::trial::telling::{changed_dependencies, reconfigured};
use crate::workspace::{Age, ChangedPath, Now, named, patched_paths};

/// What a task says about paths.
#[derive(Debug)]
pub struct Guard {
    /// Paths that count though the base commit ignores them.
    counts: Globs,
    /// Paths that the task itself keeps as they are.
    kept: Globs,
    /// Paths that are kept as they are by default.
    by_default: Globs,
    /// What the task's own reference patch changes: never kept by default.
    reference: BTreeSet<PathBuf>,
    /// Where `grader_files` are laid, from the root.
    laid: BTreeSet<PathBuf>,
    /// Where a new module may stand before one of Python's own.
    roots: ImportRoots,
    /// Words of the graders' commands.
    asked: BTreeSet<String>,
    /// The only paths that may be changed.
    allowed: Option<Globs>,
    /// Whether the defaults apply: the task does not say what is protected.
    defaults: bool,
}

/// What becomes of a trial's changes.
#[derive(Debug, Default)]
pub(super) struct Sorted<'a> {
    /// These go into the graders' tree, each with its age there.
    pub(super) carried: Vec<(&'a ChangedPath, Age)>,
    /// What builds make anew, by its topmost paths: not carried.
    pub(super) built: BTreeSet<PathBuf>,
    /// Reasons for `integrity` that break a rule of the task.
    pub(super) violations: Vec<String>,
    /// Reasons for `integrity` that look odd.
    pub(super) suspicions: Vec<String>,
    /// The first change where none is allowed.
    pub(super) not_allowed: Option<String>,
}

/// So many paths are named in `integrity`, of each kind.
const NAMED: usize = 10;

impl Guard {
    /// The guard of a task.
    ///
    /// # Errors
    /// When a pattern is none; says which.
    pub fn of(task: &TaskSpec, subdir: &Path) -> Result<Self, String> {
        let mut kept = task.protected.clone().unwrap_or_default();
        let mut by_default: Vec<String> = match task.protected {
            Some(_) => Vec::new(),
            None => PROTECTED_BY_DEFAULT.map(str::to_owned).to_vec(),
        };
        let laid = task.grader_files.iter();
        by_default.extend(laid.map(|(_, to)| literal(to)));
        let mut seen = Vec::new();
        for grader in &task.graders {
            match grader {
                GraderSpec::GitDiffForbidden { forbidden_globs } => {
                    kept.extend(forbidden_globs.iter().cloned());
                }
                GraderSpec::ScreenshotExists { path }
                | GraderSpec::ScreenshotCompare { path, .. } => seen.push(literal(path)),
                GraderSpec::Retrieval(options) => {
                    seen.extend(options.answer_file.as_deref().map(literal));
                }
                GraderSpec::Command { .. }
                | GraderSpec::Privacy(_)
                | GraderSpec::Answer(_)
                | GraderSpec::Path(_)
                | GraderSpec::Budget(_)
                | GraderSpec::IosTestPass(_)
                | GraderSpec::IosInstallCheck { .. }
                | GraderSpec::IosLaunchCheck { .. }
                | GraderSpec::Unknown { .. } => {}
            }
        }
        seen.extend(task.carry.iter().chain(&kept).cloned());
        // Unreadable patches are told of by validation.
        let patched = task.reference_patch.as_deref().map(patched_paths);
        let patched = patched.and_then(Result::ok).unwrap_or_default();
        let reference = patched
            .into_iter()
            .flat_map(|path| [subdir.join(&path), path]);
        let allowed = task.allowed_changes.as_deref();
        Ok(Self {
            counts: Globs::new(&seen, subdir)?,
            kept: Globs::new(&kept, subdir)?,
            by_default: Globs::new(&by_default, subdir)?,
            reference: reference.collect(),
            laid: laid_files(task, subdir),
            asked: words(&task.graders),
            roots: ImportRoots::of(&task.graders, subdir),
            defaults: task.protected.is_none(),
            allowed: allowed.map(|globs| Globs::new(globs, subdir)).transpose()?,
        })
    }

    /// Whether a path counts though the base commit ignores it.
    #[must_use]
    pub fn counts(&self, path: &Path) -> bool {
        self.counts.matter(path) || self.is_kept_by_default(path)
    }

    /// Whether the task itself keeps a path as it is.
    #[must_use]
    pub fn keeps(&self, path: &Path) -> bool {
        self.kept.forbid(path)
    }

    /// Whether a path is kept as it is, by the task itself or by default.
    pub(super) fn is_kept(&self, path: &Path) -> bool {
        self.kept.forbid(path) || self.is_kept_by_default(path)
    }

    /// What of the default list the reference patch changes, so that it stays open.
    #[must_use]
    pub fn opened(&self) -> Vec<String> {
        let paths = self.reference.iter();
        let paths = paths.filter(|path| self.by_default.forbid(path));
        paths.map(|path| named(path)).collect()
    }

    /// Decides about each change to `known`, the base commit.
    pub(super) fn sort<'a>(&self, changed: &'a [ChangedPath], known: &Known<'_>) -> Sorted<'a> {
        let base: &dyn Fn(&Path) -> Option<Vec<u8>> = &|path| known.file(path);
        let builds = Builds::among(changed, known);
        let makefiles = Makefiles::of(known);
        let mut sorted = Sorted::default();
        let mut restored = BTreeSet::new();
        for one in changed {
            let path = one.path.as_path();
            let protected = || format!("protected_changed:{}", named(path));
            if self.kept.forbid(path) || self.kept.want_folder_at(path) {
                sorted.violations.push(protected());
                restored.insert(path);
            } else if self.is_kept_by_default(path) {
                sorted.suspicions.push(protected());
                restored.insert(path);
            } else if leads_out(one) {
                let reason = format!("link_out:{}", named(path));
                sorted.suspicions.push(reason);
            } else if let Some(own) = self.twin(one, known).filter(|_| base(path).is_none()) {
                let reasons = if own {
                    &mut sorted.violations
                } else {
                    &mut sorted.suspicions
                };
                reasons.push(format!("protected_twin:{}", named(path)));
            } else if self.is_shadowing(one, base) {
                let reason = format!("module_shadowed:{}", named(path));
                sorted.suspicions.push(reason);
            } else if let Some(target) = self.target_taken(one, &makefiles) {
                let reason = format!("make_target_shadowed:{}", named(target));
                if !sorted.suspicions.contains(&reason) {
                    sorted.suspicions.push(reason);
                }
                if target != path {
                    sorted.carried.push((one, Age::BeforeBase));
                }
            } else if let Some(age) = self.age(one, &builds, &mut sorted) {
                if self.defaults && !self.reference.contains(path) {
                    sorted
                        .suspicions
                        .extend(reconfigured(one, (known, &makefiles)));
                }
                sorted.carried.push((one, age));
            }
            let may = self.allowed.as_ref().is_none_or(|globs| globs.forbid(path));
            if !may && sorted.not_allowed.is_none() {
                sorted.not_allowed = Some(named(path));
            }
        }
        sorted.give_way(&restored);
        if self.defaults {
            let carried = sorted.carried.iter().map(|(one, _)| *one);
            sorted.suspicions.extend(changed_dependencies(carried));
        }
        for reasons in [&mut sorted.violations, &mut sorted.suspicions] {
            if let Some(more @ 1..) = reasons.len().checked_sub(NAMED) {
                reasons.truncate(NAMED);
                reasons.push(format!("and {more} more"));
            }
        }
        sorted
    }

    /// Whether a change is taken for a protected file: since its path differs in no more than case or accents, which some file
    /// systems do not tell apart, or since Python imports it instead. True where the task itself protects that file.
    fn twin(&self, one: &ChangedPath, known: &Known<'_>) -> Option<bool> {
        let path = one.path.as_path();
        if self.reference.contains(path) {
            return None;
        }
        let own = self.kept.forbid_folded(path);
        if own || self.by_default.forbid_folded(path) {
            return Some(own);
        }
        self.import_twin(rivals(one)?, known)
    }

    /// The same for a module that stands before a protected one, or before a folder on the way to one.
    fn import_twin(&self, of: Rivals, known: &Known<'_>) -> Option<bool> {
        let is_there = |path: &PathBuf| known.file(path).is_some() || self.laid.contains(path);
        let files = of.files.iter().filter(|path| is_there(path));
        for file in files {
            if self.kept.forbid(file) {
                return Some(true);
            }
            if self.by_default.forbid(file) {
                return Some(false);
            }
        }
        // A folder that is no package gives way to any module.
        let folder = of.folder?;
        let is_package = is_there(&folder.join("__init__.py"));
        let holds_laid = || self.laid.iter().any(|laid| laid.starts_with(&folder));
        let is_python = |path: &Path| path.extension().is_some_and(|ending| ending == "py");
        let holds_kept = || {
            let mut kept = known.below(&folder).filter(|path| is_python(path));
            kept.any(|path| self.kept.forbid(path))
        };
        (!is_package && (holds_kept() || holds_laid())).then_some(false)
    }

    /// The target of a makefile that make would take for done because of a change.
    fn target_taken<'a>(
        &self,
        one: &'a ChangedPath,
        makefiles: &Makefiles<'_>,
    ) -> Option<&'a Path> {
        let path = one.path.as_path();
        let is_open = one.now == Now::Removed || self.reference.contains(path);
        let asked = |name: &str| self.asked.contains(name);
        let taken = (self.defaults && !is_open).then(|| makefiles.target_taken(path, &asked));
        taken.flatten()
    }

    /// The age that a change has in the graders' tree; nothing where it is not carried, since a build makes it anew. What the
    /// task itself names is carried, and is old enough that no build takes it for its own.
    fn age(&self, one: &ChangedPath, builds: &Builds<'_>, sorted: &mut Sorted<'_>) -> Option<Age> {
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

    /// Whether a change would be imported in the place of what Python, and so its test runners, bring along.
    fn is_shadowing(&self, one: &ChangedPath, base: &dyn Fn(&Path) -> Option<Vec<u8>>) -> bool {
        self.defaults
            && !self.reference.contains(&one.path)
            && self.roots.are_shadowed_by(one, base)
    }

    fn is_kept_by_default(&self, path: &Path) -> bool {
        let kept = self.by_default.forbid(path) || self.by_default.want_folder_at(path);
        kept && !self.reference.contains(path)
    }
}

impl Sorted<'_> {
    /// What is said of changes that builds make anew.
    pub(super) fn left_out(&self) -> Option<String> {
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

    /// What stands in the place of a folder that holds a protected file gives way to it.
    fn give_way(&mut self, restored: &BTreeSet<&Path>) {
        let suspicions = &mut self.suspicions;
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
}

/// The words of all commands of graders.
fn words(graders: &[GraderSpec]) -> BTreeSet<String> {
    let commands = graders.iter().filter_map(|grader| match grader {
        GraderSpec::Command { argv, .. } => Some(argv),
        _ => None,
    });
    let words = commands
        .flatten()
        .flat_map(|word| word.split_ascii_whitespace());
    words.map(str::to_owned).collect()
}

/// The files that `grader_files` lay, from the root.
fn laid_files(task: &TaskSpec, subdir: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut waiting: Vec<(PathBuf, PathBuf)> = task.grader_files.clone();
    while let Some((from, to)) = waiting.pop() {
        let Ok(inside) = fs::read_dir(&from) else {
            let to = to.components().filter(|part| *part != Component::CurDir);
            found.insert(subdir.join(to.collect::<PathBuf>()));
            continue;
        };
        let inside = inside.flatten();
        waiting.extend(inside.map(|entry| (entry.path(), to.join(entry.file_name()))));
    }
    found
}

/// Whether a link leads out of the tree: what it would bring in is nothing that was captured.
fn leads_out(changed: &ChangedPath) -> bool {
    let Now::Link(target) = &changed.now else {
        return false;
    };
    let target = Path::new(OsStr::from_bytes(target));
    let mut depth = changed.path.components().count().saturating_sub(1);
    for component in target.components() {
        match component {
            Component::RootDir | Component::Prefix(_) => return true,
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return true,
            },
        }
    }
    false
}

/// A path as a pattern that means it alone.
fn literal(path: &Path) -> String {
    let text = path.to_string_lossy();
    let escaped = text.chars().flat_map(|character| {
        let special = "*?[]{}\\".contains(character);
        special.then_some('\\').into_iter().chain([character])
    });
    escaped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_out_of_the_tree_is_known_by_its_words_alone() {
        let link = |path: &str, target: &str| ChangedPath {
            path: PathBuf::from(path),
            now: Now::Link(target.as_bytes().to_vec()),
        };
        for (path, target, out) in [
            ("a", "b", false),
            ("a", "../b", true),
            ("d/a", "../b", false),
            ("d/a", "../../b", true),
            ("a", "/etc/passwd", true),
            ("d/e/a", "../x/../../b", false),
            ("a", "x/../../b", true),
        ] {
            assert_eq!(leads_out(&link(path, target)), out, "{path} -> {target}");
        }
    }
}
