//! Which programs graders can come to run, as far as can be read: the words of their commands, of the scripts that these name, and of the
//! files in which the tools that they call look up what to do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::config::{GraderSpec, TaskSpec};
use crate::trial::known::Known;

/// Tools that run what a file says, and the names of such files.
const TOLD_BY: [(&[&str], &[&str]); 11] = [
    (&["make", "gmake"], &["Makefile", "makefile", "GNUmakefile"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["tox"], &["tox.ini", "setup.cfg", "pyproject.toml"]),
    (&["nox"], &["noxfile.py"]),
    (&["npm", "npx", "pnpm", "yarn", "bun"], &["package.json"]),
    (&["rake"], &["Rakefile"]),
    (&["grunt"], &["Gruntfile.js"]),
    (&["gulp"], &["gulpfile.js"]),
    (&["task"], &["Taskfile.yml", "Taskfile.yaml"]),
    (&["invoke", "inv"], &["tasks.py"]),
    (&["hatch", "poetry", "pdm", "uv"], &["pyproject.toml"]),
];

/// How scripts end.
const SCRIPTS: [&str; 8] = ["sh", "bash", "zsh", "py", "rb", "js", "mjs", "mk"];

/// No script that people write is longer.
const LONGEST: u64 = 1 << 20;

/// So many files are read.
const MOST: usize = 500;

/// What graders start with.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// Each command, with the folder that it starts in.
    lines: Vec<(PathBuf, String)>,
    /// Where `grader_files` are laid, from the root, and from where they come.
    laid: Vec<(PathBuf, PathBuf)>,
}

/// What they come to.
#[derive(Debug, Default)]
pub(super) struct Reached {
    words: BTreeSet<String>,
    /// Folders that they start in, or that something of this names.
    folders: BTreeSet<PathBuf>,
    /// Paths that something names.
    named: BTreeSet<PathBuf>,
    /// Whether they run something that cannot be read.
    is_unknown: bool,
}

impl Commands {
    /// Those of a task whose project lies in `subdir`.
    pub(super) fn of(task: &TaskSpec, subdir: &Path) -> Self {
        let lines = task.graders.iter().filter_map(|grader| match grader {
            GraderSpec::Command { argv, cwd, .. } => {
                let folder = within(subdir, cwd.as_deref().unwrap_or(Path::new("")));
                Some((folder, argv.join(" ")))
            }
            _ => None,
        });
        let laid = task.grader_files.iter();
        Self {
            lines: lines.collect(),
            laid: laid
                .map(|(from, to)| (within(subdir, to), from.clone()))
                .collect(),
        }
    }
}

impl Reached {
    /// What `commands` come to in the base commit.
    pub(super) fn of(commands: &Commands, base: &Known<'_>) -> Self {
        let mut reached = Self::default();
        let first = commands.lines.iter().cloned();
        let mut waiting: Vec<_> = first.map(|(folder, line)| (folder, line, true)).collect();
        let mut read = 0;
        while let Some((folder, text, is_command)) = waiting.pop() {
            let mut named = reached.take(&folder, &text, base);
            let looked_up = reached.looked_up(base).into_iter();
            named.extend(looked_up.map(|path| (path, false)));
            for (path, is_script) in named {
                if read >= MOST || !reached.named.insert(path.clone()) {
                    continue;
                }
                let Some(text) = text_of(&path, commands, base) else {
                    reached.is_unknown |= is_command && is_script;
                    continue;
                };
                read += 1;
                let own = path.parent().unwrap_or(Path::new(""));
                waiting.push((own.to_owned(), text.clone(), false));
                waiting.push((folder.clone(), text, false));
            }
        }
        reached
    }

    /// Takes in the words of a text that is read in `folder`; gives the paths that it may name, and whether each is that of a script.
    fn take(&mut self, folder: &Path, text: &str, base: &Known<'_>) -> Vec<(PathBuf, bool)> {
        self.folders.insert(folder.to_owned());
        let mut named = Vec::new();
        for word in words(text) {
            self.words.insert(program(word).to_owned());
            let path = within(folder, Path::new(word));
            if base.below(&path).next().is_some() {
                self.folders.insert(path);
            } else {
                named.push((path, is_script(word)));
            }
        }
        named
    }

    /// The files in which the tools found so far look up what to do: where something starts, and above.
    fn looked_up(&self, base: &Known<'_>) -> Vec<PathBuf> {
        let tools = TOLD_BY.iter().filter(|(tools, _)| {
            let mut tools = tools.iter();
            tools.any(|tool| self.words.contains(*tool))
        });
        let names = tools.flat_map(|(_, names)| *names);
        let paths = names.flat_map(|name| {
            let above = self.folders.iter().flat_map(|folder| folder.ancestors());
            above.map(move |folder| folder.join(name))
        });
        paths.filter(|path| base.has(path)).collect()
    }

    /// Whether one of `programs` may be run.
    pub(super) fn may_run(&self, programs: &[&str]) -> bool {
        self.is_unknown || programs.iter().any(|program| self.words.contains(*program))
    }

    /// Whether something names `path`.
    pub(super) fn names(&self, path: &Path) -> bool {
        self.named.contains(path)
    }

    /// Whether something starts in the folder of `path` or below it.
    pub(super) fn starts_below(&self, path: &Path) -> bool {
        let folder = path.parent().unwrap_or(Path::new(""));
        self.folders.iter().any(|start| start.starts_with(folder))
    }
}

fn text_of(path: &Path, commands: &Commands, base: &Known<'_>) -> Option<String> {
    let laid = commands.laid.iter().find_map(|(to, from)| {
        let inside = path.strip_prefix(to).ok()?;
        let from = if inside.as_os_str().is_empty() {
            from.clone()
        } else {
            from.join(inside)
        };
        let is_short =
            fs::metadata(&from).is_ok_and(|about| about.is_file() && about.len() <= LONGEST);
        is_short.then(|| fs::read(from).ok()).flatten()
    });
    let bytes = laid.or_else(|| base.file(path))?;
    String::from_utf8(bytes).ok()
}

/// The words of a command or a script.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_of_word = |one: char| one.is_alphanumeric() || "_-./+$".contains(one);
    let words = text.split(move |one: char| !is_of_word(one));
    words.filter(|word| word.chars().any(char::is_alphanumeric))
}

/// The name of a program without folders and version: `pip` of `.venv/bin/pip3.11`.
fn program(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    let plain = name.trim_end_matches(|one: char| one.is_ascii_digit() || one == '.' || one == '-');
    if plain.is_empty() { name } else { plain }
}

fn is_script(word: &str) -> bool {
    let ending = Path::new(word)
        .extension()
        .and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| SCRIPTS.contains(&ending))
}

/// The path of `name` from the root, where it is named in `folder`.
pub(super) fn within(folder: &Path, name: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for part in folder.join(name).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(part) => path.push(part),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    path
}
