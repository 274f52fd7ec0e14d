//! Which Python a grader runs, as far as its command tells.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::test_run::guessed;
use super::tools::is_plain;
use crate::config::{GraderSpec, TestFormat};
use crate::supervise::find_program;

/// Variables that lead `python3` elsewhere.
const LEADS: [&str; 2] = ["PATH", "PYENV_VERSION"];

/// Whether a grader runs Python's own `unittest`, and so no pytest.
#[must_use]
pub fn runs_unittest(grader: &GraderSpec) -> bool {
    match grader {
        GraderSpec::Command { argv, .. } => guessed(argv) == Some(TestFormat::Unittest),
        _ => false,
    }
}

/// The Python that a `command` grader starts: its program, or what runs the script that is its program. `None` where that is another
/// program, whatever it may start, or one of the workspace.
#[must_use]
pub fn python_of(grader: &GraderSpec, path: &OsStr) -> Option<PathBuf> {
    let GraderSpec::Command { argv, env, .. } = grader else {
        return None;
    };
    if env.iter().any(|(name, _)| LEADS.contains(&name.as_str())) {
        return None;
    }
    let name = argv.first().filter(|name| is_plain(name))?;
    let program = find_program(OsStr::new(name), path, Path::new("/"))?;
    if is_python(&program) {
        return Some(program);
    }
    let head = first_line(&program)?;
    let mut words = head.strip_prefix("#!")?.split_ascii_whitespace();
    let mut runs = words.next()?;
    if Path::new(runs).file_name()? == "env" {
        runs = words.next()?;
    }
    let python = find_program(OsStr::new(runs), path, Path::new("/"))?;
    is_python(&python).then_some(python)
}

/// The second number of a version of Python 3, from what it is called or says of itself.
#[must_use]
pub fn python_version(text: &str) -> Option<u8> {
    let lower = text.to_ascii_lowercase();
    let rest = lower.strip_prefix("python")?.trim_start();
    let rest = rest.strip_prefix("3.")?;
    let end = rest.find(|character: char| !character.is_ascii_digit());
    rest[..end.unwrap_or(rest.len())].parse().ok()
}

fn is_python(program: &Path) -> bool {
    let name = program.file_name().and_then(OsStr::to_str);
    let version = name.and_then(|name| name.strip_prefix("python"));
    version.is_some_and(|version| {
        version
            .chars()
            .all(|one| one.is_ascii_digit() || one == '.')
    })
}

fn first_line(program: &Path) -> Option<String> {
    /// No kernel reads more of it.
    const LONGEST: u64 = 256;
    let mut head = Vec::new();
    let file = File::open(program).ok()?;
    file.take(LONGEST).read_to_end(&mut head).ok()?;
    let line = head.split(|byte| *byte == b'\n').next()?;
    str::from_utf8(line).ok().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::config::TestsSpec;

    fn grader(argv: &[&str], variable: Option<&str>) -> GraderSpec {
        let set = |name: &str| (name.to_owned(), "x".to_owned());
        GraderSpec::Command {
            argv: argv.iter().map(|word| (*word).to_owned()).collect(),
            cwd: None,
            expected_exit: None,
            timeout: None,
            expected_output: None,
            forbidden_output: None,
            env: variable.map(set).into_iter().collect(),
            repeats: 1,
            tests: TestsSpec::default(),
        }
    }

    #[test]
    fn the_python_of_a_grader_is_its_program_or_what_runs_its_script() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("python3.13", "\x7fELF"),
            ("pytest", "#!/usr/bin/env python3.13\n"),
            ("shim", "#!/bin/sh\n"),
            ("pythonic", "\x7fELF"),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = folder.path().as_os_str();
        let python = folder.path().join("python3.13");
        let whole = python.to_str().unwrap();
        for (argv, variable, found) in [
            (&["python3.13", "-m", "unittest"][..], None, true),
            (&[whole], None, true),
            (&["pytest"], None, true),
            (&["python3.13"], Some("PATH"), false),
            (&["python3.13"], Some("PYENV_VERSION"), false),
            (&["python3.13"], Some("PYTHONPATH"), true),
            (&["shim", "python3.13"], None, false),
            (&["pythonic"], None, false),
            (&["venv/bin/python3.13"], None, false),
            (&["absent"], None, false),
        ] {
            let found = found.then(|| python.clone());
            assert_eq!(python_of(&grader(argv, variable), path), found, "{argv:?}");
        }
        for (text, version) in [
            ("Python 3.13.0", Some(13)),
            ("python3.8", Some(8)),
            ("python3", None),
            ("Python 2.7.18", None),
            ("pypy3.10", None),
        ] {
            assert_eq!(python_version(text), version, "{text}");
        }
    }
}
