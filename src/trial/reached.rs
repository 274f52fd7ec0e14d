//! Which programs graders can come to run, as far as can be read: the words of what they start, of the files that these name, and of
//! those in which the tools that they call look up what to do.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::trial::errands::Errands;
use crate::trial::folders::within;
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

/// So many files are read.
const MOST: usize = 500;

/// What graders come to.
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

impl Reached {
    /// What `errands` come to in the base commit.
    pub(super) fn of(errands: &Errands<'_>) -> Self {
        let mut reached = Self::default();
        let mut waiting = Vec::new();
        for one in errands.started() {
            let own = one.path.as_deref().filter(|path| path.is_relative());
            reached.named.extend(own.map(Path::to_owned));
            let folders = [own.and_then(Path::parent), Some(one.folder.as_path())];
            let is_command = one.path.is_none();
            let folders = folders.into_iter().flatten();
            waiting.extend(folders.map(|folder| (folder.to_owned(), one.text.clone(), is_command)));
        }
        let mut read = 0;
        while let Some((folder, text, is_command)) = waiting.pop() {
            let mut named = reached.take(&folder, &text, errands.base);
            let looked_up = reached.looked_up(errands.base).into_iter();
            named.extend(looked_up.map(|path| (path, false)));
            for (path, is_script) in named {
                if read >= MOST || !reached.named.insert(path.clone()) {
                    continue;
                }
                let Some(text) = errands.plain_text(&path) else {
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

    /// Whether one of `programs` may be run, by what leads to it alone; [`Errands::may_run`] also asks manifests that nothing leads to.
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
