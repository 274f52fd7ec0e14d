//! The makefiles of a project that belong together, and new files that make would take for done work.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::graders::{
    changed_make, included_makefiles, make_rules, phony_targets, speaks_of_tests,
};
use crate::trial::known::Known;
use crate::workspace::named;

/// What make and just read by themselves.
const ROOTS: [&str; 6] = [
    "GNUmakefile",
    "makefile",
    "Makefile",
    "justfile",
    "Justfile",
    ".justfile",
];
/// No project has more that are included.
const MOST: usize = 100;

/// A makefile of the base commit with all that it includes.
struct Family {
    folder: PathBuf,
    /// Paths and texts.
    members: Vec<(PathBuf, String)>,
    /// The words after `include`.
    included: Vec<String>,
}

/// The makefiles of the base commit.
pub(super) struct Makefiles<'a> {
    base: &'a Known<'a>,
    /// Those families that were asked for, by the paths of their roots.
    read: RefCell<BTreeMap<PathBuf, Rc<Family>>>,
}

impl Family {
    fn of(folder: &Path, root: &Path, base: &Known<'_>) -> Self {
        let mut family = Self {
            folder: folder.to_owned(),
            members: Vec::new(),
            included: Vec::new(),
        };
        let mut waiting = vec![root.to_owned()];
        while let Some(path) = waiting.pop() {
            let is_known = family.members.iter().any(|(known, _)| *known == path);
            if is_known || family.members.len() >= MOST {
                continue;
            }
            let Some(bytes) = base.file(&path) else {
                continue;
            };
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let included = included_makefiles(&text);
            waiting.extend(included.iter().map(|name| folder.join(name)));
            family.included.extend(included);
            family.members.push((path, text));
        }
        family
    }

    /// Whether `path` is in it, or would be if it were there. Of names with variables and wildcards in them the last part counts.
    fn takes(&self, path: &Path) -> bool {
        let is_named = |word: &String| {
            if !word.contains(['$', '*', '?']) {
                return self.folder.join(word) == path;
            }
            let last = word.rsplit('/').next().unwrap_or(word);
            let end = last.rsplit(['*', '?', ')', '}']).next().unwrap_or(last);
            !end.is_empty() && path.to_string_lossy().ends_with(end)
        };
        self.members.iter().any(|(known, _)| known == path) || self.included.iter().any(is_named)
    }

    /// All texts but that of `path`.
    fn without(&self, path: &Path) -> String {
        let others = self.members.iter().filter(|(known, _)| known != path);
        let texts: Vec<&str> = others.map(|(_, text)| text.as_str()).collect();
        texts.join("\n") + "\n"
    }
}

impl<'a> Makefiles<'a> {
    /// Those of `base`.
    pub(super) fn of(base: &'a Known<'a>) -> Self {
        Self {
            base,
            read: RefCell::default(),
        }
    }

    /// The families whose folder is above `path`.
    fn families(&self, path: &Path) -> impl Iterator<Item = Rc<Family>> {
        let folders = path.ancestors().skip(1);
        folders.flat_map(move |folder| {
            let roots = ROOTS.iter().map(move |name| folder.join(name));
            let roots = roots.filter(|root| self.base.has(root));
            roots.map(move |root| {
                let mut read = self.read.borrow_mut();
                let family = read
                    .entry(root)
                    .or_insert_with_key(|root| Rc::new(Family::of(folder, root, self.base)));
                Rc::clone(family)
            })
        })
    }

    /// What of how tests run a change of a makefile changes, together with those that include it; `None` where it is in no
    /// family.
    pub(super) fn changed(
        &self,
        path: &Path,
        (before, now): (Option<&[u8]>, Option<&[u8]>),
    ) -> Option<Vec<String>> {
        let family = self.families(path).find(|family| family.takes(path))?;
        let text =
            |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
        let others = family.without(path);
        let with = |bytes| format!("{others}{}", text(bytes));
        Some(changed_make(&with(before), &with(now)))
    }

    /// Whether `path` is in a family of makefiles.
    pub(super) fn take(&self, path: &Path) -> bool {
        self.families(path).any(|family| family.takes(path))
    }

    /// The target that make takes for done since a new file, or a new folder on the way to it, bears its name. Those count
    /// that speak of tests or that graders name (`asked`).
    pub(super) fn target_taken<'b>(
        &self,
        path: &'b Path,
        asked: &dyn Fn(&str) -> bool,
    ) -> Option<&'b Path> {
        let base = self.base;
        path.ancestors().find(|part| {
            let is_new = !base.has(part) && base.below(part).next().is_none();
            let name = part.file_name().and_then(|name| name.to_str());
            let matters = name.is_some_and(|name| speaks_of_tests(name) || asked(name));
            is_new
                && matters
                && self
                    .families(part)
                    .any(|family| family.believes(part, base))
        })
    }
}

impl Family {
    /// Whether make takes the target at `path` for done when it is there: nothing that the base commit has, and nothing that
    /// is made in any case, is on the way to it. Else it is made anew, since its prerequisites are younger.
    fn believes(&self, path: &Path, base: &Known<'_>) -> bool {
        let Ok(inside) = path.strip_prefix(&self.folder) else {
            return false;
        };
        let name = named(inside);
        let all = self.without(Path::new(""));
        let (rules, phony) = (make_rules(&all), phony_targets(&all));
        if !rules.contains_key(&name) || phony.contains(&name) {
            return false;
        }
        let mut seen = BTreeSet::from([name.clone()]);
        let mut waiting = vec![name];
        while let Some(target) = waiting.pop() {
            for from in rules.get(&target).into_iter().flatten() {
                let is_younger = phony.contains(from)
                    || !rules.contains_key(from)
                    || base.has(&self.folder.join(from));
                if is_younger {
                    return false;
                }
                if seen.insert(from.clone()) {
                    waiting.push(from.clone());
                }
            }
        }
        true
    }
}
