//! What graders start: their commands, and the scripts of shells that these name, whichever folder they lie in.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::graders::is_makefile;
use crate::trial::errands::{Errands, read, split};

/// Nobody has graders that run more scripts.
const MOST: usize = 200;
/// How scripts of shells end.
const SHELLS: [&str; 5] = ["sh", "bash", "dash", "ksh", "zsh"];

/// What graders start: a command, or a script of a shell that one names, or such a script.
pub(in crate::trial) struct Started {
    /// The folder that it starts in.
    pub(in crate::trial) folder: PathBuf,
    /// Where a script lies: from the root, or in the suite by an absolute path.
    pub(in crate::trial) path: Option<PathBuf>,
    pub(in crate::trial) text: String,
}

impl Started {
    /// A command, or the lines of a script without its comments, those that go on joined.
    pub(super) fn lines(&self) -> Vec<String> {
        if self.path.is_none() {
            return vec![self.text.clone()];
        }
        let text = self.text.replace("\\\n", " ");
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(str::to_owned).collect()
    }
}

impl Errands<'_> {
    /// Commands of graders, and the scripts that these name.
    pub(in crate::trial) fn started(&self) -> &[Started] {
        self.started.get_or_init(|| {
            let commands = self.run.lines.iter().map(|(folder, line)| Started {
                folder: folder.clone(),
                path: None,
                text: line.clone(),
            });
            let mut started: Vec<Started> = commands.collect();
            let names = self.names();
            let mut seen = BTreeSet::new();
            let mut next = 0;
            while next < started.len() && seen.len() < MOST {
                let folder = started[next].folder.clone();
                let lines = started[next].lines();
                let scripts = lines.iter().flat_map(|line| self.scripts(line, &names));
                for script in scripts {
                    if seen.insert(script.clone())
                        && let Some(text) = self.script(&script)
                    {
                        started.push(Started {
                            folder: folder.clone(),
                            path: Some(script),
                            text,
                        });
                    }
                }
                next += 1;
            }
            started
        })
    }

    /// The files of the base commit and those that are laid, by their names.
    fn names(&self) -> BTreeMap<&OsStr, Vec<&Path>> {
        let mut names: BTreeMap<&OsStr, Vec<&Path>> = BTreeMap::new();
        for path in self.base.paths().iter().chain(self.run.laid.keys()) {
            let name = path.file_name().unwrap_or_default();
            names.entry(name).or_default().push(path);
        }
        names
    }

    /// The files that a line may name: of the project, or of the suite by absolute paths.
    fn scripts(&self, line: &str, names: &BTreeMap<&OsStr, Vec<&Path>>) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for word in split(line) {
            if let Some((_, inside)) = word.split_once("EVAL_SUITE_ROOT") {
                let inside = inside.trim_start_matches(['}', '/']);
                found.push(self.spot.suite.join(inside));
                continue;
            }
            let word = Path::new(word.trim_start_matches("./"));
            if word.is_absolute() {
                found.extend(word.starts_with(self.spot.suite).then(|| word.to_owned()));
                continue;
            }
            let alike = word.file_name().and_then(|name| names.get(name));
            let alike = alike.into_iter().flatten();
            found.extend(
                alike
                    .filter(|path| path.ends_with(word))
                    .map(|it| (*it).to_owned()),
            );
        }
        found
    }

    /// The text of a script of a shell.
    fn script(&self, path: &Path) -> Option<String> {
        let name = path.file_name()?.to_str()?;
        let ending = path.extension().and_then(OsStr::to_str);
        if is_makefile(name) || ending.is_some_and(|ending| !SHELLS.contains(&ending)) {
            return None;
        }
        let text = if path.is_absolute() {
            read(path)?
        } else {
            self.plain_text(path)?
        };
        let other = text.strip_prefix("#!").is_some_and(|rest| {
            let first = rest.lines().next().unwrap_or_default();
            !first.contains("sh")
        });
        (!other).then_some(text)
    }
}
