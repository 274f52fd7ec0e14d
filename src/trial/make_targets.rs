//! New files that make would take for done work: they have the name of something that is made on the way to tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::graders::{
    UNKNOWN, Variables, fits, make_rules, pattern_rules, phony_targets, speaks_of_tests, stem,
};
use crate::trial::built::is_step;
use crate::trial::known::Known;
use crate::trial::makefiles::Makefiles;
use crate::workspace::named;

/// What a family of makefiles makes, with the values of its variables.
pub(super) struct Targets {
    rules: BTreeMap<String, BTreeSet<String>>,
    patterns: BTreeMap<String, BTreeSet<String>>,
    phony: BTreeSet<String>,
    /// All that is made on the way to what graders ask for.
    asked: BTreeSet<String>,
    /// The same, and on the way to tests.
    wanted: BTreeSet<String>,
    /// Targets whose recipes only make folders.
    folders: BTreeSet<String>,
}

/// What a new path is to make.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken<'a> {
    /// An empty file that says only that something was done: whoever runs make leaves it.
    Stamp,
    /// It, or a folder on the way to it, stands for the work of a target.
    Work(&'a Path),
}

impl Targets {
    /// Those of the makefiles with this text, of whose targets `asked` are run.
    pub(super) fn of(text: &str, asked: &BTreeSet<String>) -> Self {
        let expanded = Variables::of(text).rules(text);
        let mut targets = Self {
            rules: make_rules(&expanded),
            patterns: pattern_rules(&expanded),
            phony: phony_targets(&expanded),
            asked: BTreeSet::new(),
            wanted: BTreeSet::new(),
            folders: folders(text),
        };
        let own = targets.rules.keys().filter(|name| speaks_of_tests(name));
        targets.wanted = targets.way_to(own.chain(asked));
        targets.asked = targets.way_to(asked.iter());
        targets
    }

    /// All that is made on the way to `names`, and these.
    fn way_to<'a>(&self, names: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut waiting: Vec<String> = names.cloned().collect();
        while let Some(name) = waiting.pop() {
            if !found.contains(&name) {
                waiting.extend(self.made_from(&name));
                found.insert(name);
            }
        }
        found
    }

    /// What a target is made from, by its own rules and by patterns.
    fn made_from(&self, name: &str) -> BTreeSet<String> {
        let mut from = self.rules.get(name).cloned().unwrap_or_default();
        for (pattern, parts) in &self.patterns {
            if let Some(stem) = stem(pattern, name) {
                from.extend(parts.iter().map(|part| part.replacen('%', stem, 1)));
            }
        }
        from
    }

    /// Whether there is a rule for a target; of patterns those count that mean no kind of file.
    fn makes(&self, name: &str) -> bool {
        let plain = self
            .patterns
            .keys()
            .filter(|pattern| !pattern.contains('.'));
        self.rules.contains_key(name)
            || plain
                .into_iter()
                .any(|pattern| stem(pattern, name).is_some())
    }

    /// Whether make takes a target for done when it is there: all that it is made from was left with it. Else something of that is
    /// younger, being the base commit's own or made a moment ago.
    fn believes(&self, name: &str, (is_left, in_base): (Ask<'_>, Ask<'_>)) -> bool {
        if !self.makes(name) || self.phony.contains(name) {
            return false;
        }
        let mut seen = BTreeSet::from([name.to_owned()]);
        let mut waiting = vec![name.to_owned()];
        while let Some(target) = waiting.pop() {
            for from in self.made_from(&target) {
                if from == UNKNOWN {
                    continue;
                }
                if self.phony.contains(&from) || in_base(&from) || !is_left(&from) {
                    return false;
                }
                if seen.insert(from.clone()) {
                    waiting.push(from);
                }
            }
        }
        true
    }
}

/// Asks something of a name in a makefile.
type Ask<'a> = &'a dyn Fn(&str) -> bool;

impl Makefiles<'_> {
    /// What make takes `path` for, which is `empty` or not, among all that was `left`.
    pub(super) fn target_taken<'b>(
        &self,
        (path, empty): (&'b Path, bool),
        left: &BTreeSet<&Path>,
    ) -> Option<Taken<'b>> {
        let base = self.base;
        let is_new = |part: &&Path| !base.has(part) && base.below(part).next().is_none();
        let parts = path.ancestors().filter(is_new);
        let mut parts = parts.filter(|part| !part.as_os_str().is_empty());
        let taken = parts.find(|part| self.is_taken(part, (path, left)))?;
        let name = taken.file_name().and_then(|name| name.to_str());
        let is_asked =
            name.is_some_and(|name| speaks_of_tests(name) || self.errands.words().contains(name));
        let is_stamp = empty && taken == path && !is_asked;
        Some(if is_stamp {
            Taken::Stamp
        } else {
            Taken::Work(taken)
        })
    }

    /// Whether graders have make make `path` anew, which is not carried to them, by a rule of its own.
    pub(super) fn is_made_anew(&self, path: &Path) -> bool {
        self.families().iter().any(|family| {
            let Ok(inside) = path.strip_prefix(&family.folder) else {
                return false;
            };
            let name = named(inside);
            let targets = family.targets(self.errands);
            targets.asked.contains(&name)
                && targets.rules.contains_key(&name)
                && !targets.phony.contains(&name)
        })
    }

    fn is_taken(&self, part: &Path, (path, left): (&Path, &BTreeSet<&Path>)) -> bool {
        self.families().iter().any(|family| {
            let Ok(inside) = part.strip_prefix(&family.folder) else {
                return false;
            };
            let name = named(inside);
            let targets = family.targets(self.errands);
            let is_left = |name: &str| {
                let among = |path: &&Path| !is_step(path) && is_named(name, &family.folder, path);
                left.iter()
                    .any(|path| among(path) || path.starts_with(family.folder.join(name)))
            };
            let in_base = |name: &str| has(self.base, &family.folder, name);
            targets.wanted.contains(&name)
                && !(part != path && targets.folders.contains(&name))
                && targets.believes(&name, (&is_left, &in_base))
        })
    }
}

/// Whether the base commit has what a makefile in `folder` names, wildcards among it.
fn has(base: &Known<'_>, folder: &Path, name: &str) -> bool {
    if !name.contains(['*', '?', '[']) {
        let path = folder.join(name);
        return base.has(&path) || base.below(&path).next().is_some();
    }
    base.below(folder).any(|path| is_named(name, folder, path))
}

fn is_named(name: &str, folder: &Path, path: &Path) -> bool {
    let inside = path.strip_prefix(folder).ok();
    let inside = inside.and_then(Path::to_str);
    inside.is_some_and(|inside| fits(name, inside))
}

/// Targets whose recipes make folders and nothing else.
fn folders(text: &str) -> BTreeSet<String> {
    let mut recipes: BTreeMap<String, bool> = BTreeMap::new();
    let mut heads: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some(recipe) = line.strip_prefix('\t') else {
            heads = make_rules(line).into_keys().collect();
            continue;
        };
        let command = recipe.trim_start_matches(['@', '-', ' ']);
        let is_folder = command.starts_with("mkdir ") && !command.contains([';', '&', '|']);
        for head in &heads {
            *recipes.entry(head.clone()).or_insert(true) &= is_folder;
        }
    }
    let made = recipes.into_iter().filter(|(_, is_folder)| *is_folder);
    made.map(|(name, _)| name).collect()
}
