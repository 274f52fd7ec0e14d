//! A makefile with all that it includes.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::graders::{UNKNOWN, Variables, fits, included_makefiles, is_makefile};
use crate::trial::errands::Errands;
use crate::trial::folders;
use crate::trial::known::Known;
use crate::trial::make_sources::copies;
use crate::trial::make_targets::Targets;
use crate::trial::makefiles::Makefiles;

/// Of the files that an include with an unknown name may mean, those that end so.
const INCLUDED: [&str; 8] = ["mk", "mak", "make", "just", "inc", "conf", "config", "d"];
/// No project has more that are included by one.
pub(super) const MOST: usize = 100;

/// A makefile of the base commit with all that it includes.
pub(super) struct Family {
    pub(super) folder: PathBuf,
    /// Paths and texts.
    pub(super) members: BTreeMap<PathBuf, String>,
    /// What is included, by path; it may have wildcards.
    included: BTreeSet<String>,
    targets: OnceCell<Targets>,
}

impl Family {
    pub(super) fn of(root: &Path, makefiles: &Makefiles<'_>) -> Self {
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
    pub(super) fn takes(&self, path: &Path) -> bool {
        self.members.contains_key(path) || self.included.iter().any(|name| is_meant(name, path))
    }

    /// Whether make's own rules make of `path` what is included and is not there: `config.mk` of `config.mk.sh`.
    pub(super) fn makes_of(&self, path: &Path, base: &Known<'_>) -> bool {
        let made = copies(path);
        let mut missing = made.iter().filter(|made| !base.has(made));
        missing.any(|made| self.takes(made))
    }

    pub(super) fn text(&self) -> String {
        let texts: Vec<&str> = self.members.values().map(String::as_str).collect();
        texts.join("\n")
    }

    pub(super) fn targets(&self, errands: &Errands<'_>) -> &Targets {
        self.targets
            .get_or_init(|| Targets::of(&self.text(), errands.words()))
    }
}

/// Whether an include may mean `path`; one that tells nothing means what looks like a makefile.
pub(super) fn is_meant(name: &str, path: &Path) -> bool {
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
pub(super) fn within(folder: &Path, name: &str) -> String {
    if name.starts_with(UNKNOWN) && name.contains('/') {
        return name.to_owned();
    }
    let path = folders::within(folder, Path::new(name));
    path.to_string_lossy().into_owned()
}
