//! What builds leave. Build tools believe it by its time, or by marks that they find in it, whatever the sources beside it
//! say: an agent could leave what other sources were built to. So what a build makes anew is not carried to graders, and no
//! other new path is newer than what it may have been built from.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use crate::trial::known::Known;
use crate::trial::telling::DEPENDENCIES;
use crate::workspace::{Age, ChangedPath, Content, LeftFile, Now};

/// Folders of caches and builds, by their names alone.
const FOLDERS: [&str; 36] = [
    "__pycache__",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    ".hypothesis",
    ".fingerprint",
    ".gradle",
    ".bloop",
    ".metals",
    "DerivedData",
    "CMakeFiles",
    "meson-private",
    ".zig-cache",
    "zig-cache",
    "zig-out",
    "dist-newstyle",
    ".stack-work",
    "elm-stuff",
    ".dart_tool",
    "buck-out",
    ".ccache",
    ".sccache",
    ".jest-cache",
    ".vite",
    ".vitest",
    ".swc",
    ".next",
    ".nuxt",
    ".turbo",
    ".angular",
    ".parcel-cache",
    ".svelte-kit",
    ".rollup.cache",
    ".nyc_output",
];

/// Folders of builds where one of these files lies beside them.
const BESIDE: [(&str, &[&str]); 8] = [
    (
        "target",
        &[
            "Cargo.toml",
            "pom.xml",
            "build.sbt",
            "project.clj",
            "deps.edn",
        ],
    ),
    (
        "build",
        &[
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "CMakeLists.txt",
            "meson.build",
            "pubspec.yaml",
        ],
    ),
    ("builddir", &["meson.build"]),
    (".build", &["Package.swift"]),
    (
        "_build",
        &["mix.exs", "rebar.config", "dune-project", "dune"],
    ),
    ("bazel-bin", BAZEL),
    ("bazel-out", BAZEL),
    ("bazel-testlogs", BAZEL),
];
const BAZEL: &[&str] = &["MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel"];

/// A new folder with one of these in it is that of a build, unless something in it says how to build it.
const MARKS: [&str; 6] = [
    "CACHEDIR.TAG",
    ".rustc_info.json",
    "CMakeCache.txt",
    ".ninja_log",
    ".ninja_deps",
    "project.assets.json",
];

/// Steps on the way to a program, by their endings: nobody delivers them.
const ENDINGS: [&str; 16] = [
    "pyc",
    "pyo",
    "o",
    "gch",
    "pch",
    "gcda",
    "gcno",
    "rlib",
    "rmeta",
    "class",
    "beam",
    "cmi",
    "cmo",
    "cmx",
    "swiftmodule",
    "tsbuildinfo",
];

/// Programs and libraries that begin like any archive, by their endings.
const ARCHIVES: [&str; 4] = ["jar", "war", "ear", "aar"];

/// How programs and libraries begin: ELF, Mach-O in its forms, PE, archives of objects.
const BEGINNINGS: [&[u8]; 9] = [
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"MZ",
    b"!<arch>\n",
    b"!<thin>\n",
];

/// What a changed path is to the tools that build.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Built {
    /// Made anew by any build: the topmost path that is nothing else.
    Again(PathBuf),
    /// The same, or a program, and the base commit tracks it.
    Tracked,
    /// A program or a library that the base commit does not have: perhaps what the task asks for.
    Program,
    /// Neither.
    Other(Age),
}

/// What the changes of a trial are to the tools that build.
pub(super) struct Builds<'a> {
    base: &'a Known<'a>,
    changed: BTreeSet<&'a Path>,
    /// Folders with a mark in them.
    marked: BTreeSet<&'a Path>,
}

impl<'a> Builds<'a> {
    /// Looks over them.
    pub(super) fn among(changed: &'a [ChangedPath], base: &'a Known<'a>) -> Self {
        let there = changed.iter().filter(|one| one.now != Now::Removed);
        let changed: BTreeSet<&Path> = there.map(|one| one.path.as_path()).collect();
        let mut marked = BTreeSet::new();
        for path in &changed {
            let marks = path.ancestors().filter(|part| {
                let name = part.file_name().unwrap_or_default();
                name == ".fingerprint" || (part == path && MARKS.iter().any(|mark| name == *mark))
            });
            marked.extend(marks.filter_map(Path::parent));
        }
        let mut builds = Self {
            base,
            changed,
            marked: BTreeSet::new(),
        };
        marked.retain(|folder| !builds.is_of_sources(folder));
        builds.marked = marked;
        builds
    }

    /// What a change is.
    pub(super) fn kind(&self, one: &ChangedPath) -> Built {
        let path = one.path.as_path();
        let is_tracked = self.base.has(path);
        let topmost = self.folder(path).or_else(|| is_step(path).then_some(path));
        if let Some(topmost) = topmost {
            let holds = is_tracked || self.base.below(topmost).next().is_some();
            return match (holds, one.now == Now::Removed) {
                (true, _) => Built::Tracked,
                (false, true) => Built::Other(Age::Now),
                (false, false) => Built::Again(topmost.to_owned()),
            };
        }
        if is_tracked {
            return if self.is_tracked_program(one) {
                Built::Tracked
            } else {
                Built::Other(Age::Now)
            };
        }
        let file = match &one.now {
            Now::Removed => return Built::Other(Age::Now),
            Now::Link(_) | Now::Special(_) => return Built::Other(Age::BeforeBase),
            Now::File(file) => file,
        };
        let head = head(file);
        match (
            is_program(path, &head),
            file.executable || head.contains(&0),
        ) {
            (true, _) => Built::Program,
            (false, true) => Built::Other(Age::BeforeAll),
            (false, false) => Built::Other(Age::BeforeBase),
        }
    }

    /// Whether what the base commit has at a path is a program, or what an agent put there is one.
    fn is_tracked_program(&self, one: &ChangedPath) -> bool {
        let was = self.base.file(&one.path);
        let was = was.is_some_and(|bytes| is_program(&one.path, &bytes));
        match &one.now {
            Now::Removed => false,
            Now::File(file) => was || is_program(&one.path, &head(file)),
            Now::Link(_) | Now::Special(_) => was,
        }
    }

    /// The topmost folder of a build that a path lies in, or is.
    fn folder<'b>(&self, path: &'b Path) -> Option<&'b Path> {
        let mut folders: Vec<&Path> = path.ancestors().collect();
        folders.reverse();
        let is_installed = folders.iter().any(|folder| {
            let name = folder.file_name().unwrap_or_default();
            DEPENDENCIES.iter().any(|known| name == *known)
        });
        let mut folders = folders.into_iter().skip(1);
        folders.find(|folder| {
            let name = folder.file_name().unwrap_or_default();
            FOLDERS.iter().any(|known| name == *known)
                || (!is_installed && (self.marked.contains(folder) || self.is_beside(folder)))
        })
    }

    fn is_beside(&self, folder: &Path) -> bool {
        let name = folder.file_name().unwrap_or_default();
        let known = BESIDE.iter().find(|(known, _)| name == *known);
        known.is_some_and(|(_, manifests)| {
            let mut manifests = manifests.iter();
            manifests.any(|manifest| self.is_there(&folder.with_file_name(manifest)))
        })
    }

    fn is_there(&self, path: &Path) -> bool {
        self.changed.contains(path) || self.base.has(path)
    }

    /// Whether a folder has a manifest in it, is the root, or the base commit has it: then people write in it.
    fn is_of_sources(&self, folder: &Path) -> bool {
        let mut manifests = BESIDE.iter().flat_map(|(_, manifests)| *manifests);
        folder.as_os_str().is_empty()
            || self.base.below(folder).next().is_some()
            || manifests.any(|manifest| self.is_there(&folder.join(manifest)))
    }
}

/// Whether what begins so at a path is a program or a library.
fn is_program(path: &Path, head: &[u8]) -> bool {
    let ending = path.extension().unwrap_or_default();
    // Text may begin with MZ, too.
    let is_meant =
        |first: &&&[u8]| head.starts_with(first) && (**first != b"MZ" || head.contains(&0));
    BEGINNINGS.iter().any(|first| is_meant(&first)) || ARCHIVES.iter().any(|known| ending == *known)
}

/// Whether a path is that of a step of a build, or of its memory, by its name.
pub(super) fn is_step(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    let name = path.components().next_back();
    ENDINGS.iter().any(|known| ending == *known)
        || name.is_some_and(|name| {
            matches!(name, Component::Normal(name) if name == ".ninja_log"
                || name == ".ninja_deps" || name == "CMakeCache.txt" || name == ".eslintcache")
        })
}

/// The first bytes of a file, as many as tell text from other things; none where they cannot be read.
fn head(file: &LeftFile) -> Vec<u8> {
    const LOOKED_AT: usize = 8000;
    if let Content::Bytes(bytes) = &file.content {
        return bytes.iter().take(LOOKED_AT).copied().collect();
    }
    let mut head = Vec::new();
    if let Ok(Some(file)) = file.content.open() {
        // A file that cannot be read is refused where it is copied.
        file.take(LOOKED_AT as u64).read_to_end(&mut head).ok();
    }
    head
}
