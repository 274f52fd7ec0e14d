//! What a task says about paths, and what becomes of each change under it.

mod builds;
mod paths;
mod sorted;
mod told;
mod twins;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::config::{GraderSpec, PROTECTED_BY_DEFAULT, TaskSpec};
use crate::graders::Globs;
use crate::trial::built::Builds;
use crate::trial::errands::{Errands, Spot};
use crate::trial::known::Known;
use crate::trial::makefiles::Makefiles;
use crate::trial::named_scripts::named_scripts;
use crate::trial::namesakes::Namesakes;
use crate::trial::runs::Run;
use crate::trial::shadowing::{Doubt, Imports, Layout, PythonSide, packages_made};
use crate::trial::telling::{LONGEST_CONFIG, changed_dependencies};
use crate::workspace::{ChangedPath, Now, Template, named, patched_paths};

use paths::{laid_files, leads_out, literal};
pub(super) use sorted::{Sorted, shortened};

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
    /// That patch, and the folder that its paths begin at.
    patch: Option<(PathBuf, PathBuf)>,
    /// What the base commit is after it, once somebody asked.
    after: OnceLock<BTreeMap<PathBuf, Vec<u8>>>,
    /// What graders import, and from where.
    imports: Imports,
    /// What is protected of the base commit, once somebody asked.
    protected: OnceLock<Vec<PathBuf>>,
    /// What of that the task itself protects, with what it lays.
    tests: OnceLock<Vec<PathBuf>>,
    /// What graders run, and where `grader_files` are laid.
    run: Run,
    /// The scripts of the project that their commands name.
    scripts: BTreeSet<PathBuf>,
    /// The only paths that may be changed.
    allowed: Option<Globs>,
    /// Whether the defaults apply: the task does not say what is protected.
    defaults: bool,
}

/// The base commit, as changes are looked at.
struct Base<'a> {
    known: &'a Known<'a>,
    layout: Layout<'a>,
    builds: Builds<'a>,
    makefiles: Makefiles<'a>,
    errands: &'a Errands<'a>,
    namesakes: Namesakes<'a>,
    /// All that is there after the trial and was changed in it.
    left: BTreeSet<&'a Path>,
}

impl Guard {
    /// The guard of a task, with what the base commit and the machine say of Python.
    ///
    /// # Errors
    /// When a pattern is none; says which.
    pub fn of(task: &TaskSpec, subdir: &Path, python: &PythonSide) -> Result<Self, String> {
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
        let run = Run::of(&task.graders, subdir, laid_files(task, subdir));
        Ok(Self {
            counts: Globs::new(&seen, subdir)?,
            kept: Globs::new(&kept, subdir)?,
            by_default: Globs::new(&by_default, subdir)?,
            reference: reference.collect(),
            patch: task
                .reference_patch
                .clone()
                .map(|patch| (patch, subdir.to_owned())),
            after: OnceLock::new(),
            scripts: named_scripts(&run),
            run,
            protected: OnceLock::new(),
            tests: OnceLock::new(),
            imports: Imports::of(&task.graders, subdir, python),
            defaults: task.protected.is_none(),
            allowed: allowed.map(|globs| Globs::new(globs, subdir)).transpose()?,
        })
    }

    /// Whether a path counts though the base commit ignores it: what the task names, and where graders work `in_place`, what is kept
    /// by default. What is ignored never comes into a tree of their own, and packages that an agent installs bring such files along.
    #[must_use]
    pub fn counts(&self, path: &Path, in_place: bool) -> bool {
        self.counts.matter(path) || (in_place && self.is_kept_by_default(path))
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

    /// What graders judge by and do not write themselves: where `grader_files` are laid, and what is protected of `template`; from the
    /// root.
    pub(super) fn judges_by(&self, template: &Template) -> impl Iterator<Item = &PathBuf> {
        let protected = self.protected.get_or_init(|| {
            let base = template.base();
            let kept = base.paths().filter(|path| self.is_kept(path));
            kept.map(Path::to_owned).collect()
        });
        let all = self.run.laid.keys().chain(protected);
        all.filter(|path| !self.run.writes(path))
    }

    /// The scripts that commands of graders name and that agents may change, from the root, whether or not they are there.
    pub(super) fn open_scripts(&self) -> impl Iterator<Item = &Path> {
        let scripts = self.scripts.iter().map(PathBuf::as_path);
        scripts.filter(|path| !self.is_kept(path))
    }

    /// Whether the reference patch changes a file, so that to change it is part of the work.
    pub(super) fn is_worked_on(&self, path: &Path) -> bool {
        self.reference.contains(path)
    }

    /// The same where `names` of variables are set for graders as well.
    #[must_use]
    pub fn setting<'a>(mut self, names: impl Iterator<Item = &'a String>) -> Self {
        self.run.set.extend(names.cloned());
        self
    }

    /// What of the default list the reference patch changes, so that it stays open.
    #[must_use]
    pub fn opened(&self) -> Vec<String> {
        let paths = self.reference.iter();
        let paths = paths.filter(|path| self.by_default.forbid(path));
        paths.map(|path| named(path)).collect()
    }

    /// Decides about each change to `known`, the base commit, for graders at `spot`.
    pub(super) fn sort<'a>(
        &self,
        changed: &'a [ChangedPath],
        (known, spot): (&Known<'_>, Spot<'_>),
    ) -> Sorted<'a> {
        let is_kept = |path: &Path| self.is_kept(path);
        let errands = Errands::of(&self.run, (known, spot), &is_kept);
        let made = packages_made(changed);
        let there = changed.iter().filter(|one| one.now != Now::Removed);
        let base = Base {
            known,
            layout: Layout::of(known.paths(), &made),
            builds: Builds::among(changed, known),
            makefiles: Makefiles::of(known, &errands),
            errands: &errands,
            namesakes: Namesakes::of(known, &errands),
            left: there.map(|one| one.path.as_path()).collect(),
        };
        let mut sorted = Sorted::default();
        for one in changed {
            self.decide(one, &base, &mut sorted);
            let path = one.path.as_path();
            let may = self.allowed.as_ref().is_none_or(|globs| globs.forbid(path));
            if !may && sorted.not_allowed.is_none() {
                sorted.not_allowed = Some(named(path));
            }
        }
        sorted.give_way();
        if self.defaults {
            let carried = sorted.carried.iter().map(|(one, _)| *one);
            sorted
                .suspicions
                .extend(changed_dependencies(carried, known));
        }
        sorted.cut();
        sorted
    }

    /// Decides about one change, by its path first.
    fn decide<'a>(&self, one: &'a ChangedPath, base: &Base<'_>, sorted: &mut Sorted<'a>) {
        let path = one.path.as_path();
        if self.kept.forbid(path) || self.kept.want_folder_at(path) {
            sorted.put_back(path, true);
        } else if self.is_kept_by_default(path) {
            sorted.put_back(path, false);
        } else if leads_out(one) {
            sorted.suspect("link_out", path);
        } else if let Some(own) = self.twin(one, base.known)
            && base.known.file(path).is_none()
        {
            sorted.object(own, "protected_twin", path);
        } else {
            self.decide_by_use(one, base, sorted);
        }
    }

    /// Decides about a change by what tools take it for.
    fn decide_by_use<'a>(&self, one: &'a ChangedPath, base: &Base<'_>, sorted: &mut Sorted<'a>) {
        let path = one.path.as_path();
        let twin = self
            .twin_elsewhere(one, base)
            .max(self.make_twin(one, base));
        let shadow = self.shadow(one, base);
        if twin == Some(Doubt::Certain) {
            sorted.suspect("protected_twin", path);
        } else if shadow == Some(Doubt::Certain) {
            sorted.suspect("module_shadowed", path);
        } else if let Some(taken) = self.taken_by_make(one, base) {
            sorted.taken(one, &taken);
        } else if let Some(age) = self.age(one, &base.builds, sorted) {
            if twin.is_some() {
                sorted.suspect("twin_elsewhere", path);
            }
            if shadow.is_some() {
                sorted.suspect("module_may_shadow", path);
            }
            let is_open = || self.open_scripts().any(|script| script == path);
            if base.known.has(path) && is_open() && !self.is_as_meant(one, base) {
                sorted.suspect("grader_script_changed", path);
            }
            if self.defaults {
                self.tell(one, base, sorted);
            }
            sorted.carried.push((one, age));
        }
    }

    /// Whether a change would be imported in the place of what Python, its test runners or the project bring along.
    fn shadow(&self, one: &ChangedPath, base: &Base<'_>) -> Option<Doubt> {
        if !self.defaults || self.reference.contains(&one.path) {
            return None;
        }
        let beside = |folder: &Path| self.lies_beside_tests(folder, base.known);
        self.imports.shadow(one, base.layout, &beside)
    }

    /// What the reference patch makes of a file that it changes, nothing of one that it removes; `None` where it leaves the file as it is, or
    /// does not fit the base commit itself.
    fn after_reference(&self, path: &Path, base: &Base<'_>) -> Option<&[u8]> {
        let after = self.after.get_or_init(|| {
            let reference = self.patch.as_ref();
            reference.map_or_else(BTreeMap::new, |(file, subdir)| {
                base.known.after(file, subdir)
            })
        });
        after.get(path).map(Vec::as_slice)
    }

    /// Whether a file is now what the reference patch makes of it.
    fn is_as_meant(&self, one: &ChangedPath, base: &Base<'_>) -> bool {
        let meant = self.after_reference(&one.path, base);
        let now = match &one.now {
            Now::File(file) => file.content.bytes(LONGEST_CONFIG),
            Now::Removed => Some(Vec::new()),
            Now::Link(_) | Now::Special(_) => None,
        };
        meant.is_some() && now.as_deref() == meant
    }

    fn is_kept_by_default(&self, path: &Path) -> bool {
        let kept = self.by_default.forbid(path) || self.by_default.want_folder_at(path);
        kept && !self.reference.contains(path)
    }
}
