//! Which programs an agent's command line really starts: the one that it names, and those behind launchers.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use proctor_supervise::find_program;

/// Native programs behind one launcher.
const MOST_NATIVES: usize = 8;
/// A smaller file beside a launcher is not what it launches.
const SMALLEST_NATIVE: u64 = 1 << 20;
/// Programs of one command line that are looked at.
const MOST_PROGRAMS: usize = 16;
/// A launcher that is written by hand is shorter.
const LONGEST_WRAPPER: u64 = 64 << 10;
/// Interpreters whose scripts are read for what they start.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];
/// How scripts end that an interpreter is given.
const SCRIPTS: [&str; 5] = ["js", "mjs", "cjs", "py", "sh"];
/// How a script names its own folder.
const OWN_FOLDER: [&str; 5] = [
    "$(dirname \"$0\")",
    "$(dirname -- \"$0\")",
    "$(dirname $0)",
    "${0%/*}",
    "`dirname $0`",
];

/// Where names of programs are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// `PATH`.
    pub path: &'a OsStr,
    /// The folder that the agent begins in.
    pub cwd: &'a Path,
}

/// The programs, links followed, the one that is named first; none where it is not there.
#[must_use]
pub fn programs_started(argv: &[OsString], search: Search<'_>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let named = argv.first().and_then(|name| program(name, search));
    let Some(named) = named else { return found };
    let is_env = named.file_name() == Some(OsStr::new("env"));
    found.push(named);
    let second = argv.get(1);
    found.extend(second.and_then(|word| real_file(Path::new(word))));
    if is_env {
        found.extend(second.and_then(|name| program(name, search)));
        found.extend(argv.get(2).and_then(|word| real_file(Path::new(word))));
    }
    let mut looked_at = 0;
    while let Some(one) = found.get(looked_at).cloned() {
        looked_at += 1;
        for behind in wrapped(&one, search).into_iter().chain(natives(&one)) {
            if found.len() < MOST_PROGRAMS && !found.contains(&behind) {
                found.push(behind);
            }
        }
    }
    let mut seen = Vec::new();
    found.retain(|one| !seen.contains(one) && (seen.push(one.clone()), true).1);
    found
}

fn program(name: &OsStr, search: Search<'_>) -> Option<PathBuf> {
    let found = find_program(name, search.path, search.cwd)?;
    fs::canonicalize(found).ok()
}

/// A file that is named by its whole path, links followed.
fn real_file(path: &Path) -> Option<PathBuf> {
    let real = path.is_absolute().then(|| fs::canonicalize(path))?;
    real.ok().filter(|real| real.is_file())
}

/// What a launcher that is a shell script starts, as far as its words tell: programs by their whole paths or beside it, and
/// names behind `exec`.
fn wrapped(launcher: &Path, search: Search<'_>) -> Vec<PathBuf> {
    let Some(text) = shell_script(launcher) else {
        return Vec::new();
    };
    let folder = launcher.parent().unwrap_or(launcher).to_string_lossy();
    let mut found = Vec::new();
    for line in text.lines().skip(1) {
        if line.trim_start().starts_with('#') {
            continue;
        }
        let whole = OWN_FOLDER.iter().fold(line.to_owned(), |line, own| {
            line.replace(own, folder.as_ref())
        });
        let ends = |letter: char| letter.is_whitespace() || "\"';&|()=".contains(letter);
        let mut words = whole.split(ends).filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            let started = if word == "exec" {
                words.next().and_then(|name| program(name.as_ref(), search))
            } else {
                real_file(Path::new(word)).filter(|file| is_program(file))
            };
            found.extend(started.filter(|file| file != launcher && !is_shell(file)));
        }
    }
    found
}

/// The text of a script that a shell runs.
fn shell_script(file: &Path) -> Option<String> {
    let about = fs::metadata(file).ok()?;
    let is_short = about.is_file() && about.len() <= LONGEST_WRAPPER;
    let text = is_short.then(|| fs::read_to_string(file).ok())??;
    let first = text.lines().next()?.strip_prefix("#!")?;
    let by_shell = first
        .split_whitespace()
        .any(|word| is_shell(Path::new(word)));
    by_shell.then_some(text)
}

fn is_shell(program: &Path) -> bool {
    let name = program.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| SHELLS.contains(&name))
}

/// Whether a file is one that is run: by itself, or by an interpreter.
fn is_program(file: &Path) -> bool {
    let ending = file.extension().and_then(OsStr::to_str);
    ending.is_some_and(|ending| SCRIPTS.contains(&ending))
        || fs::metadata(file).is_ok_and(|about| about.mode() & 0o111 != 0)
}

/// The native programs of the npm packages that belong to a launcher's own: `<name>-<system>` beside or below `<name>`.
fn natives(launcher: &Path) -> Vec<PathBuf> {
    let mut start = [0; 2];
    let is_script = launcher.extension().is_some_and(|name| name == "js")
        || File::open(launcher)
            .and_then(|mut file| file.read_exact(&mut start))
            .is_ok_and(|()| start == *b"#!");
    if !is_script {
        return Vec::new();
    }
    let package = launcher
        .ancestors()
        .find(|folder| folder.join("package.json").is_file());
    let Some(package) = package else {
        return Vec::new();
    };
    let Some(name) = package.file_name().and_then(OsStr::to_str) else {
        return Vec::new();
    };
    let scope = package
        .parent()
        .and_then(Path::file_name)
        .filter(|scope| scope.to_str().is_some_and(|scope| scope.starts_with('@')));
    let inside = package.join("node_modules");
    let inside = scope.map_or_else(|| inside.clone(), |scope| inside.join(scope));
    let mut natives = Vec::new();
    for folder in [package.parent(), Some(inside.as_path())]
        .into_iter()
        .flatten()
    {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let belongs = entry.file_name().to_str().is_some_and(|other| {
                other
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with('-'))
            });
            if belongs {
                collect_natives(&entry.path(), 6, &mut natives);
            }
        }
    }
    natives.sort();
    natives
}

fn collect_natives(folder: &Path, depth: u32, natives: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(about) = entry.metadata() else {
            continue;
        };
        if about.is_dir() && depth > 0 {
            collect_natives(&entry.path(), depth - 1, natives);
        }
        let runs = about.is_file() && about.mode() & 0o111 != 0 && about.len() >= SMALLEST_NATIVE;
        if runs && natives.len() < MOST_NATIVES {
            natives.push(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn file(at: &Path, text: &str) -> PathBuf {
        fs::create_dir_all(at.parent().expect("a folder")).expect("make folders");
        fs::write(at, text).expect("write a file");
        fs::set_permissions(at, fs::Permissions::from_mode(0o755)).expect("let it be run");
        fs::canonicalize(at).expect("its real path")
    }

    #[test]
    fn what_a_shell_wrapper_starts_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let real = file(&at("lib/real"), "#!/usr/bin/env python3\n");
        let script = file(&at("lib/cli.mjs"), "1");
        let named = file(&at("bin/by-name"), "x");
        let settings = at("lib/settings.json");
        fs::write(&settings, "{}").expect("write a file");
        let own = format!("exec {} \"$@\"", real.display());
        let beside = "exec \"$(dirname \"$0\")/../lib/real\" \"$@\"".to_owned();
        let quoted = format!(
            "# exec /bin/ls\nSETTINGS='{}'\nnode \"{}\" \"$@\"",
            settings.display(),
            script.display()
        );
        let cases = [
            (own, vec![&real]),
            (beside, vec![&real]),
            (quoted, vec![&script]),
            ("exec by-name --flag \"$@\"".to_owned(), vec![&named]),
            ("echo none".to_owned(), vec![]),
        ];
        let path = at("bin").into_os_string();
        let search = Search {
            path: &path,
            cwd: folder.path(),
        };
        for (body, behind) in cases {
            let wrapper = file(&at("bin/agent"), &format!("#!/bin/sh\n{body}\n"));
            let found = programs_started(&["agent".into()], search);
            let expected: Vec<&PathBuf> = [&wrapper].into_iter().chain(behind).collect();
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{body}");
        }
        // Behind `env`, and a wrapper behind a wrapper that leads back.
        let outer = file(
            &at("bin/outer"),
            &format!("#!/bin/bash\nexec {}\n", at("bin/agent").display()),
        );
        let inner = file(
            &at("bin/agent"),
            &format!(
                "#!/bin/bash\n{}\nexec {}\n",
                outer.display(),
                real.display()
            ),
        );
        let words = ["/usr/bin/env".into(), "outer".into()];
        let found = programs_started(&words, search);
        assert_eq!(found[1..], [outer, inner, real]);
    }
}
