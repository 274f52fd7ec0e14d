//! New paths that have the names of others where compilers and shells look first: headers of the system, or protected ones, and programs that graders call.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::graders::{Variables, is_makefile, put_on_path, searched_by_compilers};
use crate::trial::errands::{Errands, MAKE_TOOLS};
use crate::trial::headers::is_of_system;
use crate::trial::known::Known;
use crate::trial::makefiles::Makefiles;
use crate::trial::places::Place;
use crate::workspace::{ChangedPath, Now};

/// How headers end.
const ENDINGS: [&str; 5] = ["h", "hh", "hpp", "hxx", "h++"];
/// Files beside makefiles that tell compilers where headers are.
#[rustfmt::skip]
const BUILD_FILES: [&str; 13] = [
    "CMakeLists.txt", "meson.build", "setup.py", "pyproject.toml", "build.rs", "Package.swift", "BUILD", "BUILD.bazel", "configure.ac",
    "SConstruct", "SConscript", "binding.gyp", "project.pbxproj",
];
const BUILD_ENDINGS: [&str; 4] = ["cmake", "xcconfig", "vcxproj", "pro"];
/// No project has more of these.
const MOST: usize = 2000;

/// Where compilers and shells look, in the project as the base commit has it.
pub(super) struct Namesakes<'a> {
    base: &'a Known<'a>,
    errands: &'a Errands<'a>,
    headers: OnceCell<Vec<Place>>,
    programs: OnceCell<Vec<Place>>,
}

impl<'a> Namesakes<'a> {
    /// Those of `base`, of which graders run `errands`.
    pub(super) fn of(base: &'a Known<'a>, errands: &'a Errands<'a>) -> Self {
        Self {
            base,
            errands,
            headers: OnceCell::new(),
            programs: OnceCell::new(),
        }
    }

    /// Whether a new header may be included instead of one of the system's or of one that is `protected`.
    pub(super) fn header(
        &self,
        one: &ChangedPath,
        (makefiles, protected): (&Makefiles<'_>, &[PathBuf]),
    ) -> bool {
        let path = one.path.as_path();
        if self.base.has(path) || one.now == Now::Removed {
            return false;
        }
        let searched = || self.headers.get_or_init(|| self.header_folders(makefiles));
        let is_link = matches!(one.now, Now::Link(_));
        if is_link && !is_header(path) {
            let links = |place: &Place| !self.is_there(place) && place.is_below(path);
            return searched().iter().any(links);
        }
        let may_be_header = is_header(path) || path.extension().is_none();
        let mut folders = path.ancestors().skip(1);
        folders.any(|folder| {
            let name = path.strip_prefix(folder).unwrap_or(path);
            let is_taken = |other: &PathBuf| is_header(other) && other.ends_with(name);
            (may_be_header && is_of_system(name)
                || is_header(path) && protected.iter().any(is_taken))
                && searched().iter().any(|place| place.is(folder))
        })
    }

    /// Whether the base commit has something in a folder.
    fn is_there(&self, place: &Place) -> bool {
        matches!(place, Place::Is(folder) if self.base.below(Path::new(folder)).next().is_some())
    }

    fn header_folders(&self, makefiles: &Makefiles<'_>) -> Vec<Place> {
        let mut found = Vec::new();
        for family in makefiles.families() {
            let names = searched_by_compilers(&family.text());
            found.extend(
                names
                    .iter()
                    .filter_map(|name| Place::of(&family.folder, name)),
            );
        }
        let root = Path::new("");
        let names = searched_by_compilers(&self.errands.lines().join("\n"));
        let names = names.iter().filter(|name| !name.starts_with('/'));
        found.extend(names.map(|name| Place::anywhere(root, name)));
        for (path, bytes) in self.base.files(MOST, &is_build_file) {
            let folder = path.parent().unwrap_or(root);
            let folder = if folder.extension().is_some_and(|it| it == "xcodeproj") {
                folder.parent().unwrap_or(root)
            } else {
                folder
            };
            let names = header_words(&String::from_utf8_lossy(&bytes));
            found.extend(names.iter().filter_map(|name| Place::of(folder, name)));
        }
        found
    }

    /// Whether a change may be started instead of a program that graders find, or of one of the project on the same PATH.
    pub(super) fn program(&self, one: &ChangedPath, makefiles: &Makefiles<'_>) -> bool {
        let path = one.path.as_path();
        let places = || {
            self.programs
                .get_or_init(|| self.program_folders(makefiles))
        };
        let is_link = match &one.now {
            Now::File(file) if file.executable => false,
            Now::Link(_) => true,
            _ => return false,
        };
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return false;
        };
        if is_link && !self.base.has(path) && places().iter().any(|place| place.is_below(path)) {
            return true;
        }
        let of_project = || {
            let known = places().iter().filter(|place| **place != Place::Any);
            let mut others = known.flat_map(|place| {
                self.base.paths().iter().filter(|other| {
                    other.file_name() == Some(name) && other.parent().is_some_and(|it| place.is(it))
                })
            });
            others.any(|other| other != path)
        };
        places().iter().any(|place| place.is(folder)) && (self.errands.finds(name) || of_project())
    }

    fn program_folders(&self, makefiles: &Makefiles<'_>) -> Vec<Place> {
        let mut found = Vec::new();
        let root = Path::new("");
        if self.errands.may_run(&MAKE_TOOLS) {
            for family in makefiles.families() {
                let text = family.text();
                let variables = Variables::of(&text);
                let names = put_on_path(&text, &|part| variables.expand(part));
                found.extend(
                    names
                        .iter()
                        .map(|name| Place::anywhere(&family.folder, name)),
                );
            }
        }
        let own = self
            .errands
            .run
            .paths
            .iter()
            .map(|value| format!("PATH={value}"));
        let lines = own.chain([self.errands.lines().join("\n")]);
        let texts = lines.map(|text| (root, text));
        for (folder, text) in texts {
            let names = put_on_path(&text, &str::to_owned);
            found.extend(names.iter().map(|name| Place::anywhere(folder, name)));
        }
        for (path, text) in self.errands.texts() {
            let name = path.file_name().and_then(OsStr::to_str);
            if !name.is_some_and(is_makefile) {
                let folder = path.parent().unwrap_or(root);
                let names = put_on_path(text, &str::to_owned);
                found.extend(names.iter().map(|name| Place::anywhere(folder, name)));
            }
        }
        found
    }
}

fn is_header(path: &Path) -> bool {
    let ending = path.extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

fn is_build_file(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let ending = path.extension().and_then(OsStr::to_str);
    name.is_some_and(|name| BUILD_FILES.contains(&name))
        || ending.is_some_and(|ending| BUILD_ENDINGS.contains(&ending))
}

/// The words of a build file that may be folders of headers: of lines that speak of these, and of what follows in the same brackets.
fn header_words(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_open = false;
    for line in text
        .lines()
        .filter(|line| !line.trim_start().starts_with(['#', '/']))
    {
        let lower = line.to_ascii_lowercase();
        let speaks = ["include", "header_search", "headersearch", "-i"]
            .iter()
            .any(|it| lower.contains(it));
        if !speaks && !is_open {
            continue;
        }
        let line = without_references(line);
        let words =
            line.split(|it: char| it.is_ascii_whitespace() || "\"'`,;:<>()[]{}=".contains(it));
        let words = words.map(|word| word.strip_prefix("-I").unwrap_or(word));
        let is_path = |word: &&str| !word.is_empty() && !word.contains(['$', '*', '|', '\\']);
        found.extend(words.filter(is_path).map(str::to_owned));
        is_open = (is_open || line.contains(['(', '[', '{'])) && !line.contains([')', ']', '}']);
    }
    found
}

/// A line of `CMake` and others with `.` for each reference to a variable.
fn without_references(line: &str) -> String {
    let mut found = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('$') {
        found.push_str(before);
        let close = match after.chars().next() {
            Some('{') => '}',
            Some('(') => ')',
            _ => {
                rest = after;
                continue;
            }
        };
        found.push('.');
        rest = after.split_once(close).map_or("", |(_, rest)| rest);
    }
    found + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_headers_are_read_from_build_files() {
        let text = "project(x)\ninclude_directories(inc ${CMAKE_SOURCE_DIR}/more)\ntarget_include_directories(core PUBLIC\n  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/deep>\n  ${X})\nadd_library(core src/a.c)\n";
        let words = header_words(text);
        for (word, there) in [
            ("inc", true),
            ("./more", true),
            ("./deep", true),
            (".", true),
            ("src/a.c", false),
        ] {
            assert_eq!(
                words.iter().any(|it| it == word),
                there,
                "{word}: {words:?}"
            );
        }
    }
}
