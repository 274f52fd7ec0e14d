//! The command line as a person meets it: help, exit codes, words, files that are written.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The built program in a folder of its own, with a scrubbed environment.
struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("create a folder"),
        }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, words: &[&str]) -> Command {
        #[expect(clippy::disallowed_methods, reason = "tests drive the built program")]
        let mut command = Command::new(env!("CARGO_BIN_EXE_proctor"));
        command
            .args(words)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        Ran::of(self.command(words).output().expect("start proctor"))
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("create the folder");
        std::fs::write(&path, text).expect("write a file");
        path
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).expect("read a file")
    }
}

/// How a call ended, and what it said.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("results are UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
        }
    }

    #[track_caller]
    fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }
}

const COMMANDS: [&str; 9] = [
    "run",
    "validate",
    "rebuild",
    "estimate",
    "init",
    "doctor",
    "schema",
    "cassette",
    "completions",
];

#[test]
fn every_help_fits_a_screen_and_ends_with_two_examples() {
    let sandbox = Sandbox::new();
    let mut calls: Vec<Vec<&str>> = COMMANDS
        .iter()
        .map(|command| vec![*command, "--help"])
        .collect();
    calls.push(vec!["--help"]);
    for words in calls {
        let help = sandbox.run(&words).ended(0);
        let lines: Vec<&str> = help.stdout.lines().collect();
        assert!(lines.len() <= 30, "{words:?} has {} lines", lines.len());
        for line in &lines {
            assert!(line.len() <= 100, "{words:?}: {line}");
        }
        let examples = lines
            .iter()
            .position(|line| *line == "Examples:")
            .expect("examples");
        let rest = &lines[examples + 1..];
        assert!(
            rest.len() == 2 && rest.iter().all(|line| line.starts_with("  proctor ")),
            "{words:?}: {rest:?}"
        );
        assert!(help.stderr.is_empty());
    }
}

#[test]
fn the_examples_of_run_help_are_understood() {
    let sandbox = Sandbox::new();
    let help = sandbox.run(&["run", "--help"]).stdout;
    for group in ["What to run:", "How to run:", "What to show:"] {
        assert!(help.contains(group), "{help}");
    }
    for flag in [
        "--config",
        "--tasks",
        "--task-ids",
        "--agents",
        "--scenarios",
        "--trials",
        "--validate-tasks",
        "--validate-tasks-only",
        "--resume",
        "--dry-run",
        "--stream",
        "--jobs",
        "--quiet",
        "--json",
        "--no-color",
    ] {
        assert!(help.contains(flag), "{flag} is missing:\n{help}");
    }
}

#[test]
fn a_mistake_on_the_command_line_ends_with_2_and_says_what_is_meant() {
    let sandbox = Sandbox::new();
    let cases: [(&[&str], &str); 6] = [
        (&["runn"], "run"),
        (&["run", "--job", "2"], "--jobs"),
        (&["run", "--trials", "0"], "1..=100000"),
        (&["run", "--stream", "--quiet"], "cannot be used with"),
        (&["rebuild"], "--run <DIR>"),
        (&["schema", "both"], "config, tasks"),
    ];
    for (words, said) in cases {
        let ran = sandbox.run(words).ended(2);
        assert!(ran.stderr.contains(said), "{words:?}: {}", ran.stderr);
        assert!(ran.stdout.is_empty());
    }
}

#[test]
fn no_command_is_answered_with_the_help() {
    let ran = Sandbox::new().run(&[]).ended(2);
    assert!(ran.stderr.contains("Commands:"), "{}", ran.stderr);
}

#[test]
fn schemas_are_json_with_a_dialect() {
    let sandbox = Sandbox::new();
    for file in ["config", "tasks"] {
        let ran = sandbox.run(&["schema", file]).ended(0);
        let schema: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert!(
            schema["$schema"]
                .as_str()
                .is_some_and(|dialect| dialect.contains("json-schema.org")),
            "{file}"
        );
    }
}

#[test]
fn shells_get_completions_that_know_the_commands_but_not_the_hidden_one() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = sandbox.run(&["completions", shell]).ended(0).stdout;
        for command in COMMANDS {
            assert!(script.contains(command), "{shell} lacks {command}");
        }
    }
}

/// Runs `proctor WORDS | head -c 1`.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let sandbox = Sandbox::new();
    // More than a pipe holds, so that writing meets the closed end.
    for words in [&["schema", "config"][..], &["completions", "bash"]] {
        let mut child = sandbox
            .command(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("start proctor");
        drop(child.stdout.take());
        let ran = Ran::of(child.wait_with_output().expect("wait"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{words:?}");
    }
}

#[test]
fn init_writes_a_suite_once() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run(&["init", "evals"]).ended(0);
    assert!(
        ran.stdout.contains("wrote evals/config.yaml"),
        "{}",
        ran.stdout
    );
    assert!(sandbox.read("evals/tasks.yaml").contains("tasks:"));

    sandbox.write("evals/config.yaml", "mine");
    let ran = sandbox.run(&["init", "evals"]).ended(2);
    assert!(
        ran.stderr.contains("already there: evals/config.yaml") && ran.stderr.contains("--force"),
        "{}",
        ran.stderr
    );
    assert_eq!(sandbox.read("evals/config.yaml"), "mine");

    sandbox.run(&["init", "evals", "--force"]).ended(0);
    assert!(
        sandbox
            .read("evals/config.yaml")
            .starts_with("# A suite of proctor")
    );
}

#[test]
fn what_is_no_run_directory_is_said_so() {
    let sandbox = Sandbox::new();
    for words in [
        &["rebuild", "--run", "nowhere"][..],
        &["estimate", "--run", "nowhere", "--trials", "3"],
    ] {
        let ran = sandbox.run(words).ended(2);
        assert!(
            ran.stderr.starts_with("error: open the run: ") && ran.stderr.contains("nowhere"),
            "{}",
            ran.stderr
        );
    }
}
