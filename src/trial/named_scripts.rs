//! The scripts of the project that the commands of graders name themselves: `sh scripts/ci.sh`, `./run_tests`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::trial::folders::within;
use crate::trial::runs::{Run, calls, leads};

/// What runs the file that comes next.
const SHELLS: [&str; 7] = [".", "bash", "dash", "ksh", "sh", "source", "zsh"];

/// Where the scripts of such commands lie, from the root. What a shell runs counts, and a program that is named with its folder; what other
/// interpreters run cannot be told from the code under test.
pub(super) fn named_scripts(run: &Run) -> BTreeSet<PathBuf> {
    let lines = run.lines.iter();
    lines
        .flat_map(|(folder, line)| in_line(folder.clone(), line))
        .collect()
}

fn in_line(mut folder: PathBuf, line: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for words in calls(line) {
        let Some(place) = words.iter().position(|word| !leads(word)) else {
            continue;
        };
        let (before, program) = (&words[..place], words[place]);
        if program == "cd" {
            match words.get(place + 1) {
                Some(to) if !to.contains('$') => folder = within(&folder, Path::new(to)),
                // Nobody knows what is named from there.
                _ => break,
            }
        } else if !program.starts_with('/') && (program.contains('/') || is_read(before)) {
            found.push(within(&folder, Path::new(program)));
        }
    }
    found
}

/// Whether what follows these words is a file that a shell reads, and no text of a command.
fn is_read(before: &[&str]) -> bool {
    let is_text = |word: &&str| word.starts_with('-') && word.ends_with('c');
    before.iter().any(|word| SHELLS.contains(word)) && !before.iter().any(is_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_what_a_shell_runs_or_what_is_named_with_its_folder() {
        for (line, scripts) in [
            ("sh scripts/ci.sh all", "app/scripts/ci.sh"),
            ("bash -eu ci.sh", "app/ci.sh"),
            ("./run_tests -v", "app/run_tests"),
            ("sh -c cd sub && ./ci.sh || exit 1", "app/sub/ci.sh"),
            ("sh -c if ! timeout 60 ../ci.sh; then false; fi", "ci.sh"),
            ("sh -c . ./env.sh; A=1 tools/x", "app/env.sh app/tools/x"),
            ("sh -c cd \"$X\" && ./ci.sh", ""),
            ("sh -c ci.sh", ""),
            ("grep -q 42 scripts/ci.sh", ""),
            ("python3 scripts/ci.py", ""),
            ("/bin/true ./ci.sh", ""),
        ] {
            let found = in_line(PathBuf::from("app"), line);
            let found: Vec<_> = found.iter().map(|path| path.to_string_lossy()).collect();
            assert_eq!(found.join(" "), scripts, "{line}");
        }
    }
}
