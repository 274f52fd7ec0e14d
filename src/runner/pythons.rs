//! Which Python the graders of each task run, known before the first agent starts: what its own modules are called goes by that.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::agents::version;
use crate::config::{GraderSpec, Suite, TaskSpec};
use crate::graders::{python_of, python_version, speaks_of_tests};
use crate::trial::{Guard, PythonSide};
use crate::workspace::{Source, Template};

/// The guards of all tasks; programs are looked for on `path` and asked in `home`.
///
/// # Errors
/// When a pattern is none; says which.
pub(super) async fn guards(
    suite: &Suite,
    (source, template): (&Source, &Template),
    (path, home): (&OsStr, &Path),
) -> Result<Vec<Guard>, String> {
    let side = PythonSide::of(template);
    let mut pythons = Pythons {
        path,
        home,
        is_led: side.picks_version(),
        known: BTreeMap::new(),
    };
    let mut guards = Vec::new();
    for task in &suite.tasks {
        let (versions, installed) = pythons.of(task).await;
        let side = side.with_graders(versions.unwrap_or_default(), &installed);
        let guard = Guard::of(task, &source.subdir, &side)?;
        guards.push(guard.setting(suite.settings.env.keys()));
    }
    Ok(guards)
}

/// The Pythons that were met.
struct Pythons<'a> {
    path: &'a OsStr,
    home: &'a Path,
    /// Whether a file of the project leads `python3` to some version.
    is_led: bool,
    /// The version of each, where it is known.
    known: BTreeMap<PathBuf, Option<u8>>,
}

impl Pythons<'_> {
    /// The versions of those of a task's graders, `None` where one is not known, and what is installed for them.
    async fn of(&mut self, task: &TaskSpec) -> (Option<BTreeSet<u8>>, BTreeSet<String>) {
        let (mut versions, mut installed) = (Some(BTreeSet::new()), BTreeSet::new());
        let commands = task.graders.iter();
        for grader in commands.filter(|one| matches!(one, GraderSpec::Command { .. })) {
            let mut version = None;
            if let Some(python) = python_of(grader, self.path) {
                installed.extend(installed_for(&python));
                version = self.version(python).await;
            }
            versions = versions.zip(version).map(|(mut all, version)| {
                all.insert(version);
                all
            });
        }
        (versions, installed)
    }

    /// The version of a Python: its name tells it, but of what stands for several only it can say it.
    async fn version(&mut self, python: PathBuf) -> Option<u8> {
        if let Some(version) = self.known.get(&python) {
            return *version;
        }
        let real = fs::canonicalize(&python).ok();
        let name = real.as_deref().and_then(Path::file_name);
        let mut told = name.and_then(OsStr::to_str).and_then(python_version);
        if told.is_none() && !self.is_led {
            let answer = version(&python, self.path, self.home).await;
            told = answer.as_deref().and_then(python_version);
        }
        self.known.insert(python, told);
        told
    }
}

/// The modules in a virtual environment, which has what a project needs; a Python of the system has what others need, too.
fn installed_for(python: &Path) -> BTreeSet<String> {
    let Some(home) = python.parent().and_then(Path::parent) else {
        return BTreeSet::new();
    };
    if !home.join("pyvenv.cfg").is_file() {
        return BTreeSet::new();
    }
    let inside = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let versions = inside(home.join("lib"));
    let modules = versions.flat_map(|version| inside(version.path().join("site-packages")));
    let names = modules.filter_map(|module| module.file_name().into_string().ok());
    let modules = names.filter_map(|name| {
        let (stem, ending) = name.split_once('.').unwrap_or((&name, ""));
        let is_module = ending.is_empty() || ["py", "so"].iter().any(|it| ending.ends_with(it));
        // Packages that bring their tests along leave a folder of them here.
        (is_module && !speaks_of_tests(stem)).then(|| stem.to_owned())
    });
    modules.collect()
}
