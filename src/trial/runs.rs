//! What graders run, as far as their commands tell.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::config::GraderSpec;
use crate::trial::folders::within;

/// Commands that write files or change their modes.
const WRITERS: [&str; 12] = [
    "chmod", "cp", "git", "install", "ln", "mv", "patch", "rm", "rsync", "sed", "tee", "touch",
];

/// The commands of a task's graders.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Their words.
    pub(super) words: BTreeSet<String>,
    /// Each of them, with the folder that it starts in, from the root.
    pub(super) lines: Vec<(PathBuf, String)>,
    /// Names of variables that are set for them.
    pub(super) set: BTreeSet<String>,
    /// What they have as PATH of their own.
    pub(super) paths: Vec<String>,
    /// Where `grader_files` are laid, from the root, and where each comes from.
    pub(super) laid: BTreeMap<PathBuf, PathBuf>,
}

impl Run {
    /// What the commands of `graders` tell for a project in `subdir`, beside the files that are `laid`.
    pub(super) fn of(
        graders: &[GraderSpec],
        subdir: &Path,
        laid: BTreeMap<PathBuf, PathBuf>,
    ) -> Self {
        let mut run = Self {
            laid,
            ..Self::default()
        };
        for grader in graders {
            if let GraderSpec::Command { argv, env, cwd, .. } = grader {
                let words = argv.iter().flat_map(|word| word.split_ascii_whitespace());
                run.words.extend(words.map(str::to_owned));
                let cwd = cwd.as_deref().unwrap_or(Path::new(""));
                run.lines.push((within(subdir, cwd), argv.join(" ")));
                run.set.extend(env.iter().map(|(name, _)| name.clone()));
                let paths = env.iter().filter(|(name, _)| name == "PATH");
                run.paths.extend(paths.map(|(_, value)| value.clone()));
            } else if grader.is_apple() {
                run.lines.push((subdir.to_owned(), "xcodebuild".to_owned()));
            }
        }
        run
    }

    /// Whether a command itself writes `path`, or changes its mode: it says so, and names it or a folder that it lies in.
    pub(super) fn writes(&self, path: &Path) -> bool {
        let mut commands = self.lines.iter().flat_map(|(_, line)| calls(line));
        commands.any(|words| {
            let is_named = |word: &&str| {
                let word = Path::new(word.trim_start_matches("./"));
                let mut parts = path.ancestors();
                !word.as_os_str().is_empty() && parts.any(|part| part.ends_with(word))
            };
            let program = words.iter().find(|word| !leads(word));
            program.is_some_and(|it| WRITERS.contains(it)) && words.iter().any(is_named)
        })
    }
}

/// The words of each command in a line.
pub(super) fn calls(line: &str) -> impl Iterator<Item = Vec<&str>> {
    let split = |it: char| it.is_ascii_whitespace() || "'\"()".contains(it);
    let calls = line.split([';', '&', '|', '\n']);
    calls.map(move |call| call.split(split).filter(|word| !word.is_empty()).collect())
}

/// Whether a word only leads to the program of a command.
pub(super) fn leads(word: &str) -> bool {
    #[rustfmt::skip]
    const LEADS: [&str; 23] = [
        "!", ".", "bash", "dash", "do", "elif", "else", "env", "exec", "if", "ksh", "nice", "nohup", "sh", "source", "sudo", "then",
        "time", "timeout", "while", "xargs", "zsh", "{",
    ];
    let is_time = |word: &str| {
        let count = word.trim_end_matches(['s', 'm', 'h', 'd']);
        !count.is_empty() && count.chars().all(|one| one.is_ascii_digit())
    };
    word.starts_with('-') || word.contains('=') || LEADS.contains(&word) || is_time(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_a_command_of_graders_writes_is_known_by_its_name() {
        let run = |line: &str| Run {
            lines: vec![(PathBuf::new(), line.to_owned())],
            ..Run::default()
        };
        for (line, path, writes) in [
            ("sh -c chmod +x gradlew && ./gradlew test", "gradlew", true),
            ("sh -c 'cd app; chmod +x ./gradlew'", "app/gradlew", true),
            (
                "sh -c cp -r \"$EVAL_SUITE_ROOT/hidden/.\" tests/ && pytest",
                "tests/a.py",
                true,
            ),
            ("pytest tests/a.py", "tests/a.py", false),
            ("sh -c chmod +x gradlew && pytest", "tests/a.py", false),
            // The program of a command counts, not any word of any command.
            ("sh -c pip install . && pytest tests/", "tests/a.py", false),
            (
                "sh -c set -e; env A=1 git apply tests/x.patch",
                "tests/a.py",
                false,
            ),
            (
                "sh -c set -e; env A=1 git checkout HEAD tests",
                "tests/a.py",
                true,
            ),
        ] {
            assert_eq!(run(line).writes(Path::new(path)), writes, "{line}");
        }
    }
}
