//! The little world of a self-test: a project, a home, suites, and this program run in them as a person would.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::failure::{Failure, Outcome};
use crate::record::JOURNAL;
use crate::supervise::{Cancel, CapturedOutput, ChildSpec, capture};

/// The longest that one run in it may take.
const LIMIT: Duration = Duration::from_secs(120);

/// A key of the operator that agents need, and one that is none of their business. Neither may be in a file of a run.
pub(super) const KEY: (&str, &str) = ("ANTHROPIC_API_KEY", "selftest-canary-of-a-key");
pub(super) const OTHER_KEY: (&str, &str) = ("SELFTEST_OTHER_KEY", "selftest-canary-not-lent");

/// What a run of this program said.
pub(super) struct Said {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// A temporary folder with all that the faults need.
pub(super) struct World {
    folder: tempfile::TempDir,
    program: PathBuf,
    /// Part of every long `sleep` of an agent, so that its processes are found again.
    mark: String,
}

impl World {
    pub(super) fn create() -> Outcome<Self> {
        let failed = |error: io::Error| Failure::at("create the folder of the self-test", error);
        let folder = tempfile::Builder::new()
            .prefix("proctor-selftest-")
            .tempdir()
            .map_err(failed)?;
        let world = Self {
            program: std::env::current_exe().map_err(failed)?,
            mark: format!("{:07}", std::process::id()),
            folder,
        };
        for made in ["home", "tmp", "project", "project/tests"] {
            fs::create_dir(world.path(made)).map_err(failed)?;
        }
        let files = [
            ("project/README.md", "a project\n"),
            ("project/tests/t.txt", "expected\n"),
            ("home/.secret", "selftest-canary-of-a-home\n"),
        ];
        for (name, text) in files {
            fs::write(world.path(name), text).map_err(failed)?;
        }
        Ok(world)
    }

    pub(super) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn path(&self, inside: &str) -> PathBuf {
        self.root().join(inside)
    }

    /// The time for which an agent's process sleeps, and by which it is known.
    pub(super) fn nap(&self) -> String {
        format!("61.{}", self.mark)
    }

    /// Writes a suite of these agents, each a shell script with a name; gives the path of its config.
    pub(super) fn suite(
        &self,
        name: &str,
        agents: &[(&str, String)],
        further: Value,
    ) -> Outcome<PathBuf> {
        let failed = |error: io::Error| Failure::at("write the suite of the self-test", error);
        let folder = self.path(name);
        fs::create_dir(&folder).map_err(failed)?;
        let agents: Vec<Value> = agents
            .iter()
            .map(|(id, script)| {
                json!({"id": id, "kind": "claude_code_cli", "command": ["/bin/sh", "-c", script, "agent", "{EXTRA_ARGS}", "{PROMPT}"]})
            })
            .collect();
        let mut suite = json!({
            "output_root": folder.join("runs"), "scenarios": ["shell_unprimed"], "timeout_sec": 8, "stall_timeout_sec": 4, "retries": {"max_attempts": 1},
            "stop_grace_sec": 0.5, "linger_sec": 1, "drain_sec": 1, "jobs": 4,
        });
        if let (Value::Object(suite), Value::Object(further)) = (&mut suite, further) {
            suite.extend(further);
        }
        let config = json!({"suite": suite, "project": {"template": self.path("project")}, "agents": agents});
        let tasks = json!([{"id": "work", "prompt": "write 42 into answer.txt", "graders": [
            {"type": "git_diff_forbidden", "forbidden_globs": ["tests/**"]},
            {"type": "command", "argv": ["grep", "-qx", "42", "answer.txt"]},
        ]}]);
        // JSON is YAML.
        let path = folder.join("config.yaml");
        fs::write(&path, config.to_string()).map_err(failed)?;
        fs::write(folder.join("tasks.yaml"), tasks.to_string()).map_err(failed)?;
        Ok(path)
    }

    /// Runs this program in the world.
    pub(super) async fn proctor(&self, words: &[&str]) -> Said {
        let mut argv = vec![self.program.clone().into_os_string()];
        argv.extend(words.iter().map(OsString::from));
        self.run(argv).await
    }

    /// Runs a shell script in the world; `$0` is this program.
    pub(super) async fn shell(&self, script: &str) -> Said {
        let argv = ["/bin/sh", "-c", script].map(OsString::from).to_vec();
        let argv = argv
            .into_iter()
            .chain([self.program.clone().into_os_string()]);
        self.run(argv.collect()).await
    }

    async fn run(&self, argv: Vec<OsString>) -> Said {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut env = vec![
            (OsString::from("PATH"), path),
            (OsString::from("HOME"), self.path("home").into_os_string()),
            (OsString::from("TMPDIR"), self.path("tmp").into_os_string()),
        ];
        env.extend([KEY, OTHER_KEY].map(|(name, value)| (name.into(), value.into())));
        let spec = ChildSpec::helper(argv, self.root(), env, LIMIT);
        let (ending, output) = capture(&spec, 1 << 20, &Cancel::new()).await;
        let CapturedOutput { stdout, stderr, .. } = output;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Said {
            code: ending.exit.map(|exit| exit.shell_code()),
            stdout: text(stdout),
            stderr: text(stderr) + &ending.spawn_error.unwrap_or_default(),
        }
    }

    /// The only run of a suite.
    pub(super) fn run_dir(&self, suite: &str) -> Option<PathBuf> {
        let runs = fs::read_dir(self.path(suite).join("runs")).ok()?;
        runs.flatten()
            .map(|entry| entry.path())
            .find(|path| path.join(JOURNAL).is_file())
    }

    /// All rows of the only run of a suite.
    pub(super) fn rows(&self, suite: &str) -> Vec<Value> {
        let journal = self.run_dir(suite).map(|run| run.join(JOURNAL));
        let text = journal
            .and_then(|path| fs::read_to_string(path).ok())
            .unwrap_or_default();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Command lines of agents' processes that still run (Linux).
    pub(super) fn alive(&self) -> Vec<String> {
        let nap = self.nap();
        let own = std::process::id().to_string();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let lines = processes
            .filter(|entry| entry.file_name() != own.as_str())
            .filter_map(|entry| {
                let line = fs::read(entry.path().join("cmdline")).ok()?;
                let line = String::from_utf8_lossy(&line).replace('\0', " ");
                line.contains(&nap).then(|| line.chars().take(80).collect())
            });
        lines.collect()
    }

    pub(super) fn remove(self) -> io::Result<()> {
        self.folder.close()
    }
}

/// The first file below a folder that holds one of these texts.
pub(in crate::cli::commands) fn file_with(folder: &Path, texts: &[&str]) -> Option<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = entry.file_type().ok()?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let bytes = fs::read(&path).unwrap_or_default();
                let text = String::from_utf8_lossy(&bytes);
                if texts.iter().any(|secret| text.contains(secret)) {
                    return Some(path);
                }
            }
        }
    }
    None
}
