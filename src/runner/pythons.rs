//! Which Python the graders of each task run, known before the first agent starts: what its own modules are called goes by that.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::agents::version;
use crate::config::{GraderSpec, Suite, TaskSpec};
use crate::graders::{python_of, python_version};
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
        let versions = pythons.versions(task).await.unwrap_or_default();
        let side = side.with_versions(versions);
        guards.push(Guard::of(task, &source.subdir, &side)?);
    }
    Ok(guards)
}

/// The versions of the Pythons that were met.
struct Pythons<'a> {
    path: &'a OsStr,
    home: &'a Path,
    /// Whether a file of the project leads `python3` to some version.
    is_led: bool,
    known: BTreeMap<PathBuf, Option<u8>>,
}

impl Pythons<'_> {
    /// Those of a task's graders; `None` where one of them is not known.
    async fn versions(&mut self, task: &TaskSpec) -> Option<BTreeSet<u8>> {
        let mut versions = BTreeSet::new();
        let commands = task.graders.iter();
        for grader in commands.filter(|one| matches!(one, GraderSpec::Command { .. })) {
            let python = python_of(grader, self.path)?;
            let version = match self.known.get(&python) {
                Some(version) => *version,
                None => self.ask(python).await,
            };
            versions.insert(version?);
        }
        Some(versions)
    }

    /// The version of a Python: its name tells it, but of what stands for several only it can say it.
    async fn ask(&mut self, python: PathBuf) -> Option<u8> {
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
