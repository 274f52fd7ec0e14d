//! New modules that take the place of Python's own: a program that starts beside them imports them first, and test runners
//! are such programs. To their tasks they are hooks like `conftest.py`.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::config::GraderSpec;
use crate::workspace::{ChangedPath, Now};

/// `sys.stdlib_module_names` of Python 3.11.7 and 3.13.0, and what 3.8 to 3.14 have or had beside these: each version looks for its
/// own first, and which one graders run is not known here.
const OF_PYTHON: &str = include_str!("python_modules.txt");

/// pytest, and what it imports beside that: what 8 names in `requires`, what 6 and 7 named, what these import in turn, and the
/// modules of plugins that are often installed, which it imports at its start.
const OF_PYTEST: [&str; 51] = [
    "pytest",
    "_pytest",
    "py",
    "six",
    "more_itertools",
    "atomicwrites",
    "wcwidth",
    "pathlib2",
    "zipp",
    "xdist",
    "execnet",
    "anyio",
    "sniffio",
    "idna",
    "typeguard",
    "faker",
    "syrupy",
    "respx",
    "hypothesis",
    "_hypothesis_pytestplugin",
    "_hypothesis_ftz_detector",
    "_hypothesis_globals",
    "sortedcontainers",
    "coverage",
    "nose",
    "nose2",
    "pytest_cov",
    "pytest_asyncio",
    "pytest_mock",
    "pytest_timeout",
    "pytest_django",
    "pytest_flask",
    "pytest_randomly",
    "pytest_metadata",
    "pytest_html",
    "pytest_benchmark",
    "pytest_subtests",
    "pytest_rerunfailures",
    "pytest_forked",
    "pluggy",
    "iniconfig",
    "packaging",
    "pygments",
    "exceptiongroup",
    "tomli",
    "colorama",
    "attr",
    "attrs",
    "toml",
    "typing_extensions",
    "importlib_metadata",
];

/// What Python's own modules try to import though it is hardly ever there: `copy` and `pickle` look for Jython's, `platform`
/// for its and for that of VMS, and the `sitecustomize` of Debian and Ubuntu for `apport_python_hook`.
const TRIED: [&str; 7] = [
    "org",
    "org.python",
    "org.python.core",
    "java",
    "java.lang",
    "vms_lib",
    "apport_python_hook",
];

/// What Python imports at its start.
const HOOKS: [&str; 2] = ["sitecustomize", "usercustomize"];

/// Folders that many projects import from.
const BY_CUSTOM: [&str; 5] = ["src", "lib", "python", "test", "tests"];

/// Words after which a command names the folder that importing begins in.
const BEFORE_FOLDERS: [&str; 6] = [
    "-s",
    "--start-directory",
    "-t",
    "--top-level-directory",
    "cd",
    "-C",
];

/// The folders that Python may import from while a task's graders run.
#[derive(Debug, Default)]
pub(super) struct ImportRoots {
    /// These in any case.
    sure: BTreeSet<PathBuf>,
    /// These unless they are packages.
    likely: BTreeSet<PathBuf>,
}

impl ImportRoots {
    /// Those of the graders of a task whose project lies in `subdir`.
    pub(super) fn of(graders: &[GraderSpec], subdir: &Path) -> Self {
        let mut roots = Self::default();
        roots.sure.extend([PathBuf::new(), subdir.to_owned()]);
        let custom = BY_CUSTOM.map(|name| subdir.join(name));
        roots.likely.extend(custom);
        for grader in graders {
            let GraderSpec::Command { argv, cwd, env, .. } = grader else {
                continue;
            };
            let start = subdir.join(cwd.as_deref().unwrap_or(Path::new("")));
            let path = env.iter().filter(|(name, _)| name == "PYTHONPATH");
            let path = path.flat_map(|(_, value)| std::env::split_paths(value));
            roots
                .sure
                .extend(path.filter_map(|folder| inside(&start, &folder)));
            roots.named(&start, argv);
            roots.sure.extend(inside(&start, Path::new(".")));
        }
        roots
    }

    /// What the words of a command name, those of a script among them.
    fn named(&mut self, start: &Path, argv: &[String]) {
        let quotes = |character: char| "\"'();&|".contains(character);
        let words = argv.iter().flat_map(|word| word.split_whitespace());
        let mut before = "";
        for word in words.map(|word| word.trim_matches(quotes)) {
            let path = Path::new(word.split("::").next().unwrap_or(word));
            if let Some(folder) = inside(start, path) {
                if BEFORE_FOLDERS.contains(&before) {
                    self.sure.insert(folder);
                } else {
                    self.likely.extend(folder.parent().map(Path::to_owned));
                    self.likely.insert(folder);
                }
            }
            before = word;
        }
    }

    /// Whether a change makes a module that stands before one of Python's own, where `base` knows none.
    pub(super) fn are_shadowed_by(
        &self,
        changed: &ChangedPath,
        base: &dyn Fn(&Path) -> Option<Vec<u8>>,
    ) -> bool {
        if names_plugins(changed) {
            return true;
        }
        let Some((folder, module)) = module(changed) else {
            return false;
        };
        let was_there = |folder: &Path, module: &str| {
            let own = [format!("{module}.py"), format!("{module}/__init__.py")];
            own.iter().any(|own| base(&folder.join(own)).is_some())
        };
        if let Some((root, name)) = self.tried(folder, module) {
            return !was_there(root, name);
        }
        let is_known = OF_PYTEST.contains(&module)
            || HOOKS.contains(&module)
            || OF_PYTHON
                .split_ascii_whitespace()
                .any(|known| known == module);
        let is_package = || base(&folder.join("__init__.py")).is_some();
        let is_root = is_known
            && (self.sure.contains(folder) || self.likely.contains(folder) && !is_package());
        is_root && !was_there(folder, module)
    }

    /// Where importing begins and the first name, where a module is one of those that are tried.
    fn tried<'a>(&self, folder: &'a Path, module: &str) -> Option<(&'a Path, &'static str)> {
        TRIED.iter().find_map(|dotted| {
            let mut parts = dotted.rsplit('.');
            parts.next().filter(|last| *last == module)?;
            let root = parts.try_fold(folder, |folder, part| {
                let is_it = folder.file_name().is_some_and(|name| name == part);
                folder.parent().filter(|_| is_it)
            })?;
            let is_root = self.sure.contains(root) || self.likely.contains(root);
            let first = dotted.split('.').next()?;
            is_root.then_some((root, first))
        })
    }
}

/// Whether a change is a link that stands for a folder which names plugins, as a package's metadata do. A plain folder of the kind
/// is known by the file in it.
fn names_plugins(changed: &ChangedPath) -> bool {
    let Now::Link(_) = &changed.now else {
        return false;
    };
    let name = changed.path.file_name().unwrap_or_default();
    let name = name.to_string_lossy().to_ascii_lowercase();
    [".dist-info", ".egg-info"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// What Python imports a changed file instead of.
pub(super) struct Rivals {
    /// Modules of its name.
    pub(super) files: Vec<PathBuf>,
    /// A folder of its name, if that is no package.
    pub(super) folder: Option<PathBuf>,
}

/// Those of a change that makes a module: in one folder packages come first, then compiled modules, then sources; folders that
/// are no packages come last.
pub(super) fn rivals(changed: &ChangedPath) -> Option<Rivals> {
    let (folder, name) = module(changed)?;
    let own = changed.path.file_name()?.to_str()?;
    let package = folder.join(name);
    let mut files = vec![folder.join(format!("{name}.py"))];
    let makes_package = own.starts_with("__init__.");
    if makes_package {
        files.push(package.join("__init__.py"));
    }
    Some(Rivals {
        files,
        folder: (!makes_package).then_some(package),
    })
}

/// The folder and the name of the module that a change makes: a source, a compiled one, a package, a link to one.
fn module(changed: &ChangedPath) -> Option<(&Path, &str)> {
    if changed.now == Now::Removed {
        return None;
    }
    let path = changed.path.as_path();
    let name = path.file_name()?.to_str()?;
    let (stem, rest) = name.split_once('.').unwrap_or((name, ""));
    let is_code = ["py", "so", "pyd", "pyc"]
        .iter()
        .any(|ending| rest == *ending || rest.ends_with(&format!(".{ending}")));
    let folder = path.parent()?;
    match (stem, is_code, &changed.now) {
        ("__init__", true, _) => Some((folder.parent()?, folder.file_name()?.to_str()?)),
        (stem, true, _) => Some((folder, stem)),
        (stem, _, Now::Link(_)) if rest.is_empty() => Some((folder, stem)),
        _ => None,
    }
}

/// A relative path from the root, if it stays inside; `.` is left out.
fn inside(start: &Path, path: &Path) -> Option<PathBuf> {
    let mut whole = PathBuf::new();
    for component in start.join(path).components() {
        match component {
            Component::Normal(name) => whole.push(name),
            Component::CurDir => {}
            Component::ParentDir if whole.pop() => {}
            _ => return None,
        }
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Content;

    fn grader(argv: &[&str]) -> GraderSpec {
        GraderSpec::Command {
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            cwd: None,
            expected_exit: None,
            timeout: None,
            expected_output: None,
            forbidden_output: None,
            env: vec![("PYTHONPATH".to_owned(), "vendored".to_owned())],
            repeats: 1,
            tests: crate::config::TestsSpec::default(),
        }
    }

    #[test]
    fn a_new_module_before_one_of_pythons_own_is_known_where_importing_begins() {
        let base = ["pkg/__init__.py", "app/queue.py", "app/x.py"];
        let base = |path: &Path| {
            let known = base.iter().any(|known| Path::new("p").join(known) == path);
            known.then(Vec::new)
        };
        let commands: [&[&str]; 3] = [
            &["python3", "-m", "pytest", "checks/test_a.py::test_b", "pkg"],
            &["sh", "-c", "cd app && python -m unittest discover -s tools"],
            &["python3", "-m", "unittest"],
        ];
        for (path, found) in [
            ("argparse.py", [true, true, true]),
            ("p/argparse.py", [true, true, true]),
            ("p/argparse/__init__.py", [true, true, true]),
            ("p/argparse/other.py", [false, false, false]),
            (
                "p/_json.cpython-313-x86_64-linux-gnu.so",
                [true, true, true],
            ),
            ("p/pluggy.py", [true, true, true]),
            ("p/solution.py", [false, false, false]),
            ("p/argparse.md", [false, false, false]),
            ("p/src/types.py", [true, true, true]),
            ("p/new/types.py", [false, false, false]),
            ("p/vendored/types.py", [true, true, true]),
            ("p/checks/types.py", [true, false, false]),
            ("p/pkg/types.py", [false, false, false]),
            ("p/app/types.py", [false, true, false]),
            ("p/app/queue.py", [false, false, false]),
        ] {
            let now = crate::workspace::LeftFile {
                size: 0,
                sha256: None,
                executable: false,
                content: Content::Bytes(Vec::new()),
            };
            let changed = ChangedPath {
                path: PathBuf::from(path),
                now: Now::File(now),
            };
            for (command, found) in commands.iter().zip(found) {
                let roots = ImportRoots::of(&[grader(command)], Path::new("p"));
                let told = roots.are_shadowed_by(&changed, &base);
                assert_eq!(told, found, "{path} for {command:?}");
            }
        }
        let link = ChangedPath {
            path: PathBuf::from("p/argparse"),
            now: Now::Link(b"other".to_vec()),
        };
        let roots = ImportRoots::of(&[], Path::new("p"));
        assert!(roots.are_shadowed_by(&link, &base));
    }
}
