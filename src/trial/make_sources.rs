//! New files of which make makes the same as of others: by its own rules, by patterns of makefiles, and in folders that it searches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::graders::{UNKNOWN, Variables, pattern_list, searched_by_make, stem};
use crate::trial::make_family::within;
use crate::trial::makefiles::Makefiles;
use crate::trial::shadowing::Doubt;

/// Endings of which make's own rules make `X.o`, by GNU make 4.3: `make -p -f /dev/null`.
const SOURCES: [&str; 13] = [
    "c", "cc", "C", "cpp", "p", "f", "F", "m", "r", "s", "S", "mod", "c++",
];
/// A header is what sources are made with, not from.
const HEADERS: [&str; 6] = ["h", "hh", "hpp", "hxx", "inc", "def"];

/// By which rule, and from which of its parts, something is made.
type Way = (usize, usize);

/// What make makes of which files.
#[derive(Debug)]
pub(super) struct Sources {
    /// The folder of the makefile, and those that are searched, from the root.
    folders: Vec<PathBuf>,
    /// Whether more folders are searched that nobody knows.
    is_open: bool,
    /// Targets with what each rule makes them from.
    rules: Vec<(String, Vec<String>)>,
    /// What is made of protected files.
    protected: BTreeMap<String, Vec<Way>>,
}

impl Sources {
    /// Those of a makefile in `folder`, in a project with these `protected` files.
    fn of((folder, text): (&Path, &str), protected: &[PathBuf]) -> Self {
        let own = SOURCES.map(|ending| ("%.o".to_owned(), vec![format!("%.{ending}")]));
        let expanded = Variables::of(text).rules(text);
        let searched = searched_by_make(text);
        let (open, known): (Vec<String>, _) =
            { searched.into_iter() }.partition(|name| name.contains(UNKNOWN));
        let known = known.iter().map(|name| PathBuf::from(within(folder, name)));
        let mut sources = Self {
            folders: [folder.to_owned()].into_iter().chain(known).collect(),
            is_open: !open.is_empty(),
            rules: own.into_iter().chain(pattern_list(&expanded)).collect(),
            protected: BTreeMap::new(),
        };
        for path in protected {
            for (made, way) in sources.made(path) {
                sources.protected.entry(made).or_default().push(way);
            }
        }
        sources
    }

    /// What make makes of a file, or looks for under its name.
    fn made(&self, path: &Path) -> Vec<(String, Way)> {
        let mut found = Vec::new();
        for folder in &self.folders {
            let Some(name) = path.strip_prefix(folder).ok().and_then(Path::to_str) else {
                continue;
            };
            if self.folders.len() > 1 {
                found.push((name.to_owned(), (usize::MAX, 0)));
            }
            for (number, (target, parts)) in self.rules.iter().enumerate() {
                let parts = parts
                    .iter()
                    .enumerate()
                    .filter(|(_, part)| !is_header(part));
                found.extend(parts.filter_map(|(place, part)| {
                    let made = target.replacen('%', stem(part, name)?, 1);
                    Some((made, (number, place)))
                }));
            }
        }
        found
    }

    /// Whether make may take a new file for a protected one. What one rule makes of several files it makes of all of them.
    fn takes(&self, path: &Path) -> bool {
        self.made(path).iter().any(|(made, way)| {
            let of_protected = self.protected.get(made).into_iter().flatten();
            { of_protected }.any(|other| other.0 != way.0 || other == way)
        })
    }
}

fn is_header(part: &str) -> bool {
    let ending = part.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| HEADERS.contains(&ending))
}

impl Makefiles<'_> {
    /// Whether make may take a new path, which may be a `link`, for a file of `protected`.
    pub(super) fn twin(
        &self,
        (path, is_link): (&Path, bool),
        protected: &[PathBuf],
    ) -> Option<Doubt> {
        let sources = self.sources.get_or_init(|| {
            let plain = Sources::of((Path::new(""), ""), protected);
            let families = self.families().iter();
            let families = families.map(|family| {
                let text = family.text();
                Sources::of((&family.folder, &text), protected)
            });
            families.chain([plain]).collect()
        });
        if sources.iter().any(|sources| sources.takes(path)) {
            return Some(Doubt::Certain);
        }
        let ending = path.extension().and_then(|ending| ending.to_str());
        let is_source = ending.is_some_and(|ending| SOURCES.contains(&ending));
        let has_name = || {
            protected
                .iter()
                .any(|it| it.file_name() == path.file_name())
        };
        let may_be = sources.iter().any(|sources| {
            let mut searched = sources.folders.iter().skip(1);
            is_link && searched.any(|folder| folder.starts_with(path))
                || sources.is_open && is_source && has_name()
        });
        may_be.then_some(Doubt::Possible)
    }
}

/// The files that make's own rules make of a file of this path by copying it: `X` of `X.sh`, and of what RCS and SCCS keep it in.
pub(super) fn copies(path: &Path) -> Vec<PathBuf> {
    /// Nobody goes further round.
    const DEEPEST: usize = 3;
    let mut found: Vec<PathBuf> = Vec::new();
    let mut last = vec![path.to_owned()];
    for _ in 0..DEEPEST {
        last = last.iter().flat_map(|path| copied(path)).collect();
        found.extend(last.iter().cloned());
    }
    found
}

fn copied(path: &Path) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return Vec::new();
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let is_in = |keeper: &str| folder.file_name().is_some_and(|name| name == keeper);
    let above = || folder.parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    let plain = [
        name.strip_suffix(".sh"),
        name.strip_suffix(",v"),
        name.strip_prefix("s."),
    ];
    let plain = plain.into_iter().flatten().filter(|name| !name.is_empty());
    for name in plain {
        found.push(folder.join(name));
        if is_in("RCS") || is_in("SCCS") {
            found.push(above().join(name));
        }
    }
    if is_in("RCS") {
        found.push(above().join(name));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(folder: &str, text: &str, path: &str) -> bool {
        let protected =
            ["tests/test_a.c", "tests.cpp", "m/tests/t.cxx", "docs/a.md"].map(PathBuf::from);
        Sources::of((Path::new(folder), text), &protected).takes(Path::new(path))
    }

    #[test]
    fn a_file_of_which_make_makes_what_it_makes_of_a_protected_one_is_known() {
        let patterns = "%.o: src/%.c src/%.h x.c\n%.o: tests/%.c\ntest_%: tests/test_%.c lib/%.c\n";
        for (folder, text, path, taken) in [
            ("", "", "tests.c", true),
            ("", "", "tests.S", true),
            ("", "", "tests.h", false),
            ("", "", "tests.txt", false),
            ("", "", "src/tests.c", false),
            ("", "", "src/test_a.c", false),
            ("", "VPATH = src:tests", "src/test_a.c", true),
            ("", "VPATH = src:tests", "src/test_a.cpp", true),
            ("", "VPATH = src:tests", "test_a.c", true),
            ("", "VPATH = src:tests", "lib/test_a.c", false),
            ("", "VPATH = src:tests", "src/b.c", false),
            ("", "VPATH = . docs", "a.md", true),
            ("", patterns, "src/test_a.c", true),
            ("", patterns, "src/test_a.h", false),
            ("", patterns, "lib/a.c", false),
            ("", patterns, "lib/test_a.c", false),
            ("m", "vpath %.cxx tests gen", "m/gen/t.cxx", true),
            ("m", "vpath %.cxx tests gen", "m/gen/u.cxx", false),
            ("m", ".cxx.o:\n\tc++ $<", "m/tests/t.c", true),
        ] {
            assert_eq!(takes(folder, text, path), taken, "{text}: {path}");
        }
    }

    #[test]
    fn what_makes_own_rules_copy_is_known_by_its_name() {
        for (path, made) in [
            ("config.mk.sh", "config.mk"),
            ("a/RCS/x,v", "a/RCS/x a/x a/x"),
            ("a/SCCS/s.x", "a/SCCS/x a/x"),
            ("x.c", ""),
        ] {
            let found: Vec<String> = copies(Path::new(path))
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            let told = found.join(" ");
            assert!(
                told.starts_with(made) && told.is_empty() == made.is_empty(),
                "{path}: {told}"
            );
        }
    }
}
