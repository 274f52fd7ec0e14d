//! The makefiles of a project that belong together, and which changes of what they read are told.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::graders::{
    MakeAround, changed_make, is_makefile, new_make, read_by_name, runs_first_target,
    speaks_of_tests,
};
use crate::trial::errands::{Errands, MAKE_TOOLS};
use crate::trial::known::Known;
use crate::trial::make_family::{Family, MOST, is_meant, within};
use crate::trial::make_sources::Sources;
use crate::workspace::named;

/// What make reads by itself, the first that is there, and just.
const MAKE: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const JUST: [&str; 3] = ["justfile", "Justfile", ".justfile"];
/// How files end in which compilers note what a source was made from.
const NOTED: [&str; 4] = ["d", "Po", "Plo", "dep"];
/// No project has more makefiles.
const MOST_FILES: usize = 5000;

/// The makefiles of the base commit.
pub(super) struct Makefiles<'a> {
    pub(super) base: &'a Known<'a>,
    pub(super) errands: &'a Errands<'a>,
    pub(super) sources: OnceCell<Vec<Sources>>,
    texts: OnceCell<BTreeMap<PathBuf, String>>,
    /// What includes with wildcards mean.
    meant: RefCell<BTreeMap<String, Vec<PathBuf>>>,
    families: OnceCell<Vec<Family>>,
}

impl<'a> Makefiles<'a> {
    /// Those of `base`.
    pub(super) fn of(base: &'a Known<'a>, errands: &'a Errands<'a>) -> Self {
        Self {
            base,
            errands,
            sources: OnceCell::new(),
            texts: OnceCell::new(),
            meant: RefCell::default(),
            families: OnceCell::new(),
        }
    }

    fn texts(&self) -> &BTreeMap<PathBuf, String> {
        self.texts.get_or_init(|| {
            let files = self.base.files(MOST_FILES, &has_name);
            let texts = files.into_iter().map(|(path, bytes)| {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                (path, text)
            });
            let laid = self.errands.run.laid.keys().filter(|path| has_name(path));
            let laid = laid.filter_map(|path| Some((path.clone(), self.errands.text(path)?)));
            texts.chain(laid).collect()
        })
    }

    pub(super) fn families(&self) -> &[Family] {
        self.families.get_or_init(|| {
            let texts = self.texts();
            let mut roots: BTreeSet<PathBuf> =
                texts.keys().filter(|path| is_root(path)).cloned().collect();
            let lines = self
                .errands
                .lines()
                .iter()
                .map(|line| (Path::new(""), line.as_str()));
            let recipes = texts.iter().flat_map(|(path, text)| {
                let folder = path.parent().unwrap_or(path);
                text.lines().map(move |line| (folder, line))
            });
            for (folder, line) in lines.chain(recipes) {
                let named = read_by_name(line)
                    .into_iter()
                    .map(|name| within(folder, &name));
                roots.extend(
                    named
                        .map(PathBuf::from)
                        .filter(|path| self.errands.has(path)),
                );
            }
            roots.iter().map(|root| Family::of(root, self)).collect()
        })
    }

    pub(super) fn text(&self, path: &Path) -> Option<String> {
        let known = self.texts().get(path).cloned();
        known.or_else(|| self.errands.text(path))
    }

    /// What of the base commit an include means.
    pub(super) fn meant(&self, name: &str) -> Vec<PathBuf> {
        if !name.contains(['*', '?', '[']) {
            return vec![PathBuf::from(name)];
        }
        let mut meant = self.meant.borrow_mut();
        let found = meant.entry(name.to_owned()).or_insert_with(|| {
            let paths = self.base.paths().iter().map(PathBuf::as_path);
            let paths = paths.filter(|path| is_meant(name, path));
            paths.take(MOST).map(Path::to_owned).collect()
        });
        found.clone()
    }

    /// Whether `path` is read by make, or has the name of such a file.
    pub(super) fn take(&self, path: &Path) -> bool {
        has_name(path) || self.families().iter().any(|it| self.is_of(it, path))
    }

    /// Whether a family reads `path`, or what make makes of it.
    fn is_of(&self, family: &Family, path: &Path) -> bool {
        family.takes(path) || !self.base.has(path) && family.makes_of(path, self.base)
    }

    /// Whether a file that is not there is one in which a compiler notes what a source was made from: any build makes it anew.
    pub(super) fn is_noted_by_a_compiler(&self, path: &Path) -> bool {
        let ending = path.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| NOTED.contains(&ending))
            && !self.base.has(path)
            && self.families().iter().any(|family| family.takes(path))
    }

    /// What of a changed makefile cannot be called fair; nothing where only what is fair sets it apart from `meant`.
    pub(super) fn changed(
        &self,
        path: &Path,
        (before, now): (Option<&[u8]>, Option<&[u8]>),
        meant: Option<&[u8]>,
    ) -> Vec<String> {
        let before = before.or(meant);
        let text =
            |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default();
        let now = text(now);
        if before.is_none() && !self.errands.may_run(&MAKE_TOOLS) {
            return Vec::new();
        }
        if before.is_none()
            && let Some(other) = self.stands_before(path)
        {
            return vec![format!("read in the place of {}", named(&other))];
        }
        let families = self.families().iter();
        let families: Vec<&Family> = families.filter(|it| self.is_of(it, path)).collect();
        let beside: Vec<&str> = families
            .iter()
            .flat_map(|family| &family.members)
            .filter(|(member, _)| *member != path)
            .map(|(_, text)| text.as_str())
            .collect();
        let around = MakeAround {
            name,
            beside: &beside.join("\n"),
            set: &self.errands.run.set,
            first_target_runs: self.first_target_runs(),
            is_there: &|target| {
                let is_read = |family: &&Family| {
                    let path = family.folder.join(target);
                    self.base.has(&path) || family.takes(&path)
                };
                is_makefile(target) || families.iter().any(is_read)
            },
        };
        let is_meant = |meant| changed_make((&text(Some(meant)), &now), &around).is_empty();
        if meant.is_some_and(is_meant) {
            return Vec::new();
        }
        let mut told = changed_make((&text(before), &now), &around);
        if before.is_none() && families.is_empty() {
            told = self.new_make((name, &now), told);
        }
        told
    }

    /// What of a makefile is told that nobody read before: rules that speak of tests or that graders ask for. Where graders run make and
    /// there was none at all, also what is `unfair`.
    fn new_make(&self, (name, now): (&str, &str), unfair: Vec<String>) -> Vec<String> {
        let asked = self.errands.words();
        let speaks = |targets: &str| {
            let mut names = targets.split_ascii_whitespace();
            speaks_of_tests(targets) || names.any(|name| asked.contains(name))
        };
        let mut told = new_make(name, now, &speaks);
        if self.families().is_empty() {
            told.extend(unfair);
        }
        told
    }

    /// The makefile of the base commit that make would read if there were none at `path`.
    fn stands_before(&self, path: &Path) -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?;
        let place = MAKE.iter().position(|known| *known == name)?;
        let mut others = MAKE[place + 1..]
            .iter()
            .map(|name| path.with_file_name(name));
        others.find(|other| self.base.has(other))
    }

    /// Whether a grader, a script that one names or a makefile runs make without saying which target.
    fn first_target_runs(&self) -> bool {
        self.errands
            .lines()
            .iter()
            .any(|line| runs_first_target(line))
            || self.texts().values().any(|text| {
                let mut recipes = text.lines().filter(|line| line.starts_with('\t'));
                recipes.any(runs_first_target)
            })
    }
}

fn has_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(is_makefile)
}

fn is_root(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| MAKE.contains(&name) || JUST.contains(&name))
}
