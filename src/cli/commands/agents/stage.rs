//! The little world in which an agent is probed: a suite, a script, and an MCP server planted where agents look for some.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::failure::{Failure, Outcome};
use proctor_agents::{profile, redirect};
use proctor_config::AgentKind;
use proctor_record::JOURNAL;
use proctor_supervise::{Cancel, ChildSpec, capture};

/// The longest that a probe may take.
const LIMIT: Duration = Duration::from_secs(240);

/// What the planted server is called, and its tool.
pub(super) const PLANTED: &str = "planted";

/// What its tool says.
pub(super) const HELLO: &str = "hello from the planted server";

/// What the agent is told. Each count of tokens is another, so that a wrong sum shows.
pub(super) const SCRIPT: &str = r#"
plays:
  - name: without
    when: "[without servers]"
    turns:
      - say: I look where the tool is.
        do: [{shell: "echo 42 > answer.txt; xcodebuild -version; printf 'found at '; command -v xcodebuild"}]
        usage: {input: 1201, cache_write: 0, cache_read: 0, output: 57, reasoning: 0}
      - say: I try a server that nobody gave me.
        do: [{mcp: {server: planted, tool: planted_tool}}]
        usage: {input: 317, cache_write: 0, cache_read: 1200, output: 37, reasoning: 0}
      - say: Done.
        usage: {input: 311, cache_write: 0, cache_read: 1200, output: 23, reasoning: 0}
  - name: with
    when: "[with a server]"
    turns:
      - do: [{mcp: {server: planted, tool: planted_tool}}]
        usage: {input: 1203, cache_write: 0, cache_read: 0, output: 31, reasoning: 0}
      - say: Done.
        usage: {input: 313, cache_write: 0, cache_read: 1202, output: 29, reasoning: 0}
"#;

/// A temporary folder with all of it.
pub(super) struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    pub(super) fn create() -> Outcome<Self> {
        let folder = tempfile::Builder::new()
            .prefix("proctor-probe-")
            .tempdir()
            .map_err(|error| failed(&error))?;
        let stage = Self { folder };
        for made in ["home", "tmp", "project", "bin"] {
            fs::create_dir(stage.path(made)).map_err(|error| failed(&error))?;
        }
        stage.file("project/README.md", "a project\n")?;
        // The tool that the shim stands before.
        stage.program("bin/xcodebuild", "#!/bin/sh\necho probed\n")?;
        stage.program("bin/planted", include_str!("planted.sh"))?;
        stage.plant()?;
        Ok(stage)
    }

    pub(super) fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside)
    }

    /// Settings of every agent, in the home and in the project, that name the planted server.
    fn plant(&self) -> Outcome {
        let program = self.path("bin/planted");
        let servers = json!({"mcpServers": {PLANTED: {"command": program}}}).to_string();
        let toml = format!("[mcp_servers.{PLANTED}]\ncommand = {}\n", json!(program));
        let opencode =
            json!({"mcp": {PLANTED: {"type": "local", "command": [program]}}}).to_string();
        for (file, text) in [
            ("servers.json", &servers),
            ("project/.mcp.json", &servers),
            ("home/.claude.json", &servers),
            ("home/.codex/config.toml", &toml),
            ("project/.codex/config.toml", &toml),
            ("project/.gemini/settings.json", &servers),
            ("project/.qwen/settings.json", &servers),
            ("project/opencode.json", &opencode),
            ("home/.gemini/settings.json", &servers),
            ("home/.qwen/settings.json", &servers),
            ("home/.copilot/mcp-config.json", &servers),
            ("home/.config/opencode/opencode.json", &opencode),
        ] {
            self.file(file, text)?;
        }
        Ok(())
    }

    fn file(&self, inside: &str, text: &str) -> Outcome {
        let path = self.path(inside);
        let parent = path.parent().map_or(Ok(()), fs::create_dir_all);
        parent
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| failed(&error))
    }

    fn program(&self, inside: &str, text: &str) -> Outcome {
        self.file(inside, text)?;
        fs::set_permissions(self.path(inside), fs::Permissions::from_mode(0o755))
            .map_err(|error| failed(&error))
    }

    /// Writes the suite of one agent, redirected to the model server at `url`.
    pub(super) fn suite(&self, kind: AgentKind, program: &Path, url: &str) -> Outcome {
        let redirect = redirect(kind, url);
        let command = profile(kind)
            .command
            .iter()
            .enumerate()
            .map(|(index, word)| match index {
                0 => json!(program),
                _ => json!(word),
            });
        let env: serde_json::Map<String, Value> = redirect
            .env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let arguments = json!({kind.as_str(): redirect.arguments});
        let config = json!({
            "suite": {
                "output_root": self.path("runs"), "scenarios": ["without", "with"], "timeout_sec": 100, "use_ccusage_for_codex": false,
                "trials_per_cell": 1, "retries": {"max_attempts": 1},
            },
            "project": {"template": self.path("project")},
            "scenarios": [
                {"id": "without", "prompt_prefix": "[without servers]", "agent_args": arguments},
                {"id": "with", "prompt_prefix": "[with a server]", "agent_args": arguments, "mcp_config": self.path("servers.json")},
            ],
            "agents": [{"id": "probed", "kind": kind.as_str(), "command": command.collect::<Vec<_>>(), "env": env}],
        });
        let tasks = json!([{"id": "work", "prompt": "write 42 into answer.txt", "graders": [
            {"type": "command", "argv": ["test", "-e", "README.md"]},
        ]}]);
        // JSON is YAML.
        self.file("config.yaml", &config.to_string())?;
        self.file("tasks.yaml", &tasks.to_string())
    }

    /// Runs the suite with this program; what it said on standard error.
    pub(super) async fn run(&self) -> Outcome<String> {
        let own = std::env::current_exe().map_err(|error| failed(&error))?;
        let mut words = vec![own.into_os_string()];
        words.extend(["run", "--quiet", "--config"].map(OsString::from));
        words.push(self.path("config.yaml").into_os_string());
        let mut path = self.path("bin").into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let env = vec![
            (OsString::from("PATH"), path),
            (OsString::from("HOME"), self.path("home").into_os_string()),
            (OsString::from("TMPDIR"), self.path("tmp").into_os_string()),
        ];
        let spec = ChildSpec::helper(words, self.folder.path(), env, LIMIT);
        let (ending, output) = capture(&spec, 1 << 20, &Cancel::new()).await;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(said + &ending.spawn_error.unwrap_or_default())
    }

    /// The only run, once there is one.
    pub(super) fn run_dir(&self) -> Option<PathBuf> {
        let runs = fs::read_dir(self.path("runs")).ok()?;
        let mut runs = runs.flatten().map(|entry| entry.path());
        runs.find(|path| path.join(JOURNAL).is_file())
    }

    /// Removes all of it.
    pub(super) fn remove(self) -> io::Result<()> {
        self.folder.close()
    }
}

fn failed(error: &io::Error) -> Failure {
    Failure::at("prepare the probe", error)
}

/// The lines of a file of JSON lines.
pub(super) fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}
