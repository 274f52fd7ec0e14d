//! The makefiles of a project that belong together, and which changes of what they read are told.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::graders::{
    MakeAround, UNKNOWN, Variables, changed_make, fits, included_makefiles, is_makefile, new_make,
    read_by_name, runs_first_target, speaks_of_tests,
};
use crate::trial::known::Known;
use crate::trial::make_targets::Targets;
use crate::trial::runs::Run;
use crate::workspace::named;

/// What make reads by itself, the first that is there, and just.
const MAKE: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const JUST: [&str; 3] = ["justfile", "Justfile", ".justfile"];
/// Of the files that an include with an unknown name may mean, those that end so.
const INCLUDED: [&str; 8] = ["mk", "mak", "make", "just", "inc", "conf", "config", "d"];
/// How files end in which compilers note what a source was made from.
const NOTED: [&str; 4] = ["d", "Po", "Plo", "dep"];
/// No project has more that are included by one.
const MOST: usize = 100;
/// No project has more makefiles.
const MOST_FILES: usize = 5000;

/// A makefile of the base commit with all that it includes.
pub(super) struct Family {
    pub(super) folder: PathBuf,
    /// Paths and texts.
    members: BTreeMap<PathBuf, String>,
    /// What is included, by path; it may have wildcards.
    included: BTreeSet<String>,
    targets: OnceCell<Targets>,
}

/// The makefiles of the base commit.
pub(super) struct Makefiles<'a> {
    pub(super) base: &'a Known<'a>,
    pub(super) run: &'a Run,
    texts: OnceCell<BTreeMap<PathBuf, String>>,
    /// What includes with wildcards mean.
    meant: RefCell<BTreeMap<String, Vec<PathBuf>>>,
    families: OnceCell<Vec<Family>>,
}

impl Family {
    fn of(root: &Path, makefiles: &Makefiles<'_>) -> Self {
        let folder = root.parent().unwrap_or(Path::new("")).to_owned();
        let mut family = Self {
            members: BTreeMap::new(),
            included: BTreeSet::new(),
            targets: OnceCell::new(),
            folder,
        };
        let mut waiting = vec![root.to_owned()];
        while let Some(path) = waiting.pop() {
            if family.members.contains_key(&path) || family.members.len() >= MOST {
                continue;
            }
            if let Some(text) = makefiles.text(&path) {
                family.members.insert(path, text);
                waiting.extend(family.look_for_more(makefiles));
            }
        }
        family
    }

    /// Reads anew what is included, since a variable may be set anywhere; gives those that are there.
    fn look_for_more(&mut self, makefiles: &Makefiles<'_>) -> Vec<PathBuf> {
        let all = self.text();
        if !all.contains("include") && !all.contains("import") {
            return Vec::new();
        }
        let variables = Variables::of(&all);
        let mut included = BTreeSet::new();
        for (path, text) in &self.members {
            let folders = [Some(self.folder.as_path()), path.parent()];
            for names in included_makefiles(text) {
                let names = variables.expand(&names);
                for name in names.split_ascii_whitespace() {
                    let folders = folders.iter().flatten();
                    included.extend(folders.map(|folder| within(folder, name)));
                }
            }
        }
        let fresh = included.difference(&self.included);
        let found = fresh.flat_map(|name| makefiles.meant(name)).collect();
        self.included = included;
        found
    }

    /// Whether `path` is in it, or would be if it were there.
    fn takes(&self, path: &Path) -> bool {
        self.members.contains_key(path) || self.included.iter().any(|name| is_meant(name, path))
    }

    fn text(&self) -> String {
        let texts: Vec<&str> = self.members.values().map(String::as_str).collect();
        texts.join("\n")
    }

    pub(super) fn targets(&self, run: &Run) -> &Targets {
        self.targets
            .get_or_init(|| Targets::of(&self.text(), &run.words))
    }
}

/// Whether an include may mean `path`; one that tells nothing means what looks like a makefile.
fn is_meant(name: &str, path: &Path) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    if last == UNKNOWN {
        let ending = path.extension().and_then(|ending| ending.to_str());
        let own = path.file_name().and_then(|name| name.to_str());
        return own.is_some_and(is_makefile)
            || ending.is_some_and(|ending| INCLUDED.contains(&ending));
    }
    path.to_str().is_some_and(|path| {
        fits(name, path) || name.strip_prefix("*/").is_some_and(|name| fits(name, path))
    })
}

/// The path of `name` from the root, where it is named in `folder`. One that begins with what is not known may be anywhere.
fn within(folder: &Path, name: &str) -> String {
    if name.starts_with(UNKNOWN) && name.contains('/') {
        return name.to_owned();
    }
    let mut path = PathBuf::new();
    for part in folder.join(name).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(part) => path.push(part),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path.to_string_lossy().into_owned()
}

impl<'a> Makefiles<'a> {
    /// Those of `base`.
    pub(super) fn of(base: &'a Known<'a>, run: &'a Run) -> Self {
        Self {
            base,
            run,
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
            texts.collect()
        })
    }

    pub(super) fn families(&self) -> &[Family] {
        self.families.get_or_init(|| {
            let texts = self.texts();
            let mut roots: BTreeSet<PathBuf> =
                texts.keys().filter(|path| is_root(path)).cloned().collect();
            let lines = self
                .run
                .lines
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
                roots.extend(named.map(PathBuf::from).filter(|path| self.base.has(path)));
            }
            roots.iter().map(|root| Family::of(root, self)).collect()
        })
    }

    fn text(&self, path: &Path) -> Option<String> {
        let known = self.texts().get(path).cloned();
        known.or_else(|| {
            let bytes = self.base.file(path)?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        })
    }

    /// What of the base commit an include means.
    fn meant(&self, name: &str) -> Vec<PathBuf> {
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
        has_name(path) || self.families().iter().any(|family| family.takes(path))
    }

    /// Whether a file that is not there is one in which a compiler notes what a source was made from: any build makes it anew.
    pub(super) fn is_noted_by_a_compiler(&self, path: &Path) -> bool {
        let ending = path.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|ending| NOTED.contains(&ending))
            && !self.base.has(path)
            && self.families().iter().any(|family| family.takes(path))
    }

    /// What of a changed makefile cannot be called fair.
    pub(super) fn changed(
        &self,
        path: &Path,
        (before, now): (Option<&[u8]>, Option<&[u8]>),
    ) -> Vec<String> {
        let text =
            |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.unwrap_or_default();
        let now = text(now);
        if before.is_none()
            && let Some(other) = self.stands_before(path)
        {
            return vec![format!("read in the place of {}", named(&other))];
        }
        let families: Vec<&Family> = self.families().iter().filter(|it| it.takes(path)).collect();
        if before.is_none() && families.is_empty() {
            return new_make(name, &now, &speaks_of_tests);
        }
        let beside: Vec<&str> = families
            .iter()
            .flat_map(|family| &family.members)
            .filter(|(member, _)| *member != path)
            .map(|(_, text)| text.as_str())
            .collect();
        let around = MakeAround {
            name,
            beside: &beside.join("\n"),
            set: &self.run.set,
            first_target_runs: self.first_target_runs(),
            is_there: &|target| {
                let is_read = |family: &&Family| {
                    let path = family.folder.join(target);
                    self.base.has(&path) || family.takes(&path)
                };
                is_makefile(target) || families.iter().any(is_read)
            },
        };
        changed_make((&text(before), &now), &around)
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
        let words = self.run.words.iter();
        let named = words.map(|word| PathBuf::from(within(Path::new(""), word)));
        let mut scripts = named.filter_map(|path| self.text(&path));
        self.run.lines.iter().any(|line| runs_first_target(line))
            || scripts.any(|text| text.lines().any(runs_first_target))
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
