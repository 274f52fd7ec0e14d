//! MCP per agent: switched off hard, or the scenario's servers in each agent's own dialect.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agents::InvocationError;

/// The mark that makes a server's calls of watched commands count as the server's, not as the agent's.
const MCP_PROCESS: (&str, &str) = ("EVAL_MCP_PROCESS", "1");

/// Variables of a trial that servers may ask for; Codex hands on only what it is told to.
const TRIAL_VARIABLES: [&str; 10] = [
    "DEVELOPER_DIR",
    "EVAL_CMD_LOG",
    "EVAL_MCP_ENABLED",
    "EVAL_MCP_TOOL_LOG",
    "EVAL_REPO_ROOT",
    "EVAL_REPO_SUBDIR",
    "EVAL_REPO_WORKDIR",
    "EVAL_RUN_ID",
    "PROCTOR_TRIAL",
    "TMPDIR",
];

/// A file with `mcpServers`.
#[derive(Debug, Deserialize)]
struct McpFile {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, Server>,
}

/// One entry: a program, or an address.
#[derive(Debug, Deserialize)]
struct Server {
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    env_vars: Vec<String>,
    cwd: Option<String>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    http_headers: BTreeMap<String, String>,
    bearer_token_env_var: Option<String>,
    tool_timeout_sec: Option<f64>,
    startup_timeout_sec: Option<f64>,
    enabled: Option<bool>,
    disabled: Option<bool>,
    required: Option<bool>,
}

/// Claude Code's arguments: only the servers of one file, which lies in the trial-private folder `private`.
///
/// Without servers that file is empty. With them it is the scenario's, in which each program is marked with
/// `EVAL_MCP_PROCESS=1`, since Claude Code hands a server its own environment, where the mark must not stand.
///
/// # Errors
/// A file that cannot be read or is no MCP file, or a folder that cannot be written.
pub(super) fn claude_arguments(
    config: Option<&Path>,
    private: &Path,
) -> Result<(Vec<String>, PathBuf), InvocationError> {
    let text = match config {
        None => "{\"mcpServers\":{}}\n".to_owned(),
        Some(config) => marked(config)?,
    };
    let file = private.join("mcp.json");
    crate::agents::home::write_private(&file, text.as_bytes())?;
    let path = file
        .to_str()
        .ok_or_else(|| InvocationError::NotText { path: file.clone() })?;
    let arguments = ["--strict-mcp-config", "--mcp-config", path].map(str::to_owned);
    Ok((arguments.to_vec(), file))
}

/// Codex's arguments: one `-c` per value.
///
/// A server that Codex starts sees only HOME, LANG, PATH and TERM, so each program is also given the mark and the names of
/// the trial's variables and of `mcp_env` (`mcp.env` of the config), whose values Codex takes from its own environment.
///
/// # Errors
/// A file that cannot be read or is no MCP file.
pub(super) fn codex_arguments<'a>(
    config: Option<&Path>,
    mcp_env: impl Iterator<Item = &'a String>,
) -> Result<Vec<String>, InvocationError> {
    let Some(config) = config else {
        return Ok(vec!["-c".to_owned(), "mcp_servers={}".to_owned()]);
    };
    let mut inherited: Vec<String> = TRIAL_VARIABLES.map(str::to_owned).to_vec();
    inherited.extend(mcp_env.cloned());
    let mut arguments = Vec::new();
    for (name, server) in read(config)?.servers {
        for (key, value) in codex_values(&server, &inherited) {
            arguments.push("-c".to_owned());
            arguments.push(format!("mcp_servers.{}.{key}={value}", toml_key(&name)));
        }
    }
    Ok(arguments)
}

/// Keys below `mcp_servers.<name>` and their TOML values.
fn codex_values(server: &Server, inherited: &[String]) -> Vec<(String, String)> {
    let mut values = Vec::new();
    let mut set = |key: &str, value: String| values.push((key.to_owned(), value));
    if let Some(command) = &server.command {
        set("command", toml_string(command));
        set("args", toml_strings(server.args.iter()));
        let mut env = server.env.clone();
        env.entry(MCP_PROCESS.0.to_owned())
            .or_insert_with(|| MCP_PROCESS.1.to_owned());
        for (key, value) in &env {
            set(&format!("env.{}", toml_key(key)), toml_string(value));
        }
        let mut names: Vec<&String> = server.env_vars.iter().chain(inherited).collect();
        names.retain(|name| !env.contains_key(*name));
        names.sort();
        names.dedup();
        set("env_vars", toml_strings(names.into_iter()));
    }
    if let Some(cwd) = &server.cwd {
        set("cwd", toml_string(cwd));
    }
    if let Some(url) = &server.url {
        set("url", toml_string(url));
        for (key, value) in server.headers.iter().chain(&server.http_headers) {
            set(
                &format!("http_headers.{}", toml_key(key)),
                toml_string(value),
            );
        }
        if let Some(name) = &server.bearer_token_env_var {
            set("bearer_token_env_var", toml_string(name));
        }
    }
    for (key, seconds) in [
        ("tool_timeout_sec", server.tool_timeout_sec),
        ("startup_timeout_sec", server.startup_timeout_sec),
    ] {
        if let Some(seconds) = seconds {
            set(key, seconds.to_string());
        }
    }
    if let Some(enabled) = server.enabled.or(server.disabled.map(|disabled| !disabled)) {
        set("enabled", enabled.to_string());
    }
    if let Some(required) = server.required {
        set("required", required.to_string());
    }
    values
}

fn read(path: &Path) -> Result<McpFile, InvocationError> {
    let problem = |problem: String| InvocationError::Mcp {
        path: path.to_owned(),
        problem,
    };
    let bytes = fs::read(path).map_err(|error| problem(error.to_string()))?;
    let mut json = serde_json::Deserializer::from_slice(&bytes);
    let file: McpFile = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| problem(format!("{}: {}", error.path(), error.inner())))?;
    json.end().map_err(|error| problem(error.to_string()))?;
    for (name, server) in &file.servers {
        if server.command.is_none() == server.url.is_none() {
            let text = format!("mcpServers.{name}: needs either `command` or `url`");
            return Err(problem(text));
        }
    }
    Ok(file)
}

/// The scenario's file with every program marked; whatever else an entry holds is kept.
fn marked(path: &Path) -> Result<String, InvocationError> {
    type Entry = BTreeMap<String, Box<RawValue>>;
    let programs = read(path)?.servers;
    let problem = |error: &dyn std::fmt::Display| InvocationError::Mcp {
        path: path.to_owned(),
        problem: error.to_string(),
    };
    let text = fs::read_to_string(path).map_err(|error| problem(&error))?;
    let mut file: BTreeMap<String, Box<RawValue>> =
        serde_json::from_str(&text).map_err(|error| problem(&error))?;
    let mut servers: BTreeMap<String, Entry> = match file.get("mcpServers") {
        Some(servers) => serde_json::from_str(servers.get()).map_err(|error| problem(&error))?,
        None => BTreeMap::new(),
    };
    for (name, server) in programs
        .into_iter()
        .filter(|(_, server)| server.command.is_some())
    {
        let mut env = server.env;
        env.entry(MCP_PROCESS.0.to_owned())
            .or_insert_with(|| MCP_PROCESS.1.to_owned());
        let env = serde_json::value::to_raw_value(&env).map_err(|error| problem(&error))?;
        servers
            .entry(name)
            .or_default()
            .insert("env".to_owned(), env);
    }
    let servers = serde_json::value::to_raw_value(&servers).map_err(|error| problem(&error))?;
    file.insert("mcpServers".to_owned(), servers);
    serde_json::to_string(&file).map_err(|error| problem(&error))
}

/// A key of a dotted path: bare where TOML allows, else quoted.
fn toml_key(key: &str) -> String {
    let is_bare = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_bare {
        key.to_owned()
    } else {
        toml_string(key)
    }
}

/// A TOML basic string.
pub(super) fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            control if control.is_control() => {
                // Writing to a String cannot fail.
                _ = write!(quoted, "\\U{:08X}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn toml_strings<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    let quoted: Vec<String> = texts.map(|text| toml_string(text)).collect();
    format!("[{}]", quoted.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"mcpServers": {
        "XcodeBuildMCP-Dev": {"type": "stdio", "command": "npx", "args": ["-y", "a \"b\"\\c"],
            "env": {"MODE": "x=1\n", "odd key": "é"}, "tool_timeout_sec": 600, "x": [1, 2.50]},
        "off.one": {"command": "/bin/true", "enabled": false},
        "far": {"type": "http", "url": "https://example.invalid/mcp", "headers": {"A": "b"}}}}"#;

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("servers.json");
        fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn codex_gets_one_toml_value_per_entry() {
        let (_folder, path) = file(FILE);
        let suite_key = "SUITE_KEY".to_owned();
        let arguments = codex_arguments(Some(&path), std::iter::once(&suite_key)).unwrap();
        let values: Vec<&str> = arguments
            .iter()
            .filter(|argument| *argument != "-c")
            .map(String::as_str)
            .collect();
        for expected in [
            r#"mcp_servers.XcodeBuildMCP-Dev.command="npx""#,
            r#"mcp_servers.XcodeBuildMCP-Dev.args=["-y", "a \"b\"\\c"]"#,
            r#"mcp_servers.XcodeBuildMCP-Dev.env.MODE="x=1\n""#,
            r#"mcp_servers.XcodeBuildMCP-Dev.env."odd key"="é""#,
            r#"mcp_servers.XcodeBuildMCP-Dev.env.EVAL_MCP_PROCESS="1""#,
            "mcp_servers.XcodeBuildMCP-Dev.tool_timeout_sec=600",
            r#"mcp_servers."off.one".enabled=false"#,
            r#"mcp_servers.far.url="https://example.invalid/mcp""#,
            r#"mcp_servers.far.http_headers.A="b""#,
        ] {
            assert!(
                values.contains(&expected),
                "{expected} is not in {values:#?}"
            );
        }
        let inherited = values
            .iter()
            .find(|value| value.starts_with("mcp_servers.XcodeBuildMCP-Dev.env_vars"));
        let inherited = inherited.expect("names to hand on");
        assert!(inherited.contains("\"EVAL_CMD_LOG\"") && inherited.contains("\"SUITE_KEY\""));
        assert!(
            !values
                .iter()
                .any(|value| value.starts_with("mcp_servers.far.env"))
        );
    }

    #[test]
    fn a_shell_scenario_switches_mcp_off() {
        let none = std::iter::empty::<&String>();
        assert_eq!(
            codex_arguments(None, none).unwrap(),
            ["-c", "mcp_servers={}"]
        );
        let folder = tempfile::tempdir().unwrap();
        let (arguments, file) = claude_arguments(None, folder.path()).unwrap();
        assert_eq!(arguments[..2], ["--strict-mcp-config", "--mcp-config"]);
        assert_eq!(Path::new(&arguments[2]), file);
        assert_eq!(fs::read_to_string(file).unwrap(), "{\"mcpServers\":{}}\n");
    }

    #[test]
    fn claude_gets_the_scenarios_file_with_its_programs_marked() {
        let (folder, path) = file(FILE);
        let (_, copy) = claude_arguments(Some(&path), folder.path()).unwrap();
        let given: serde_json::Value = serde_json::from_str(FILE).unwrap();
        let mut copied: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(copy).unwrap()).unwrap();
        for name in ["XcodeBuildMCP-Dev", "off.one"] {
            let env = copied["mcpServers"][name]["env"].as_object_mut().unwrap();
            assert_eq!(env.remove("EVAL_MCP_PROCESS").unwrap(), "1");
        }
        copied["mcpServers"]["off.one"]
            .as_object_mut()
            .unwrap()
            .remove("env");
        assert_eq!(copied, given);
    }

    #[test]
    fn a_malformed_file_is_named_with_its_problem() {
        let cases = [
            ("{", "EOF"),
            ("[]", "invalid"),
            ("{}", "mcpServers"),
            (
                r#"{"mcpServers": {"a": {"command": 1}}}"#,
                "mcpServers.a.command",
            ),
            (r#"{"mcpServers": {"a": {}}}"#, "needs either"),
            (
                r#"{"mcpServers": {"a": {"command": "x", "command": "y"}}}"#,
                "duplicate field",
            ),
        ];
        for (text, word) in cases {
            let (_folder, path) = file(text);
            let none = std::iter::empty::<&String>();
            let message = codex_arguments(Some(&path), none).unwrap_err().to_string();
            assert!(
                message.contains("servers.json") && message.contains(word),
                "{text}: {message}"
            );
        }
        let message = claude_arguments(Some(Path::new("/nowhere/x.json")), Path::new("/tmp"))
            .unwrap_err()
            .to_string();
        assert!(message.contains("/nowhere/x.json"), "{message}");
    }
}
