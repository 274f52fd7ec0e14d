//! MCP per agent: switched off hard, or the scenario's servers in each agent's own dialect.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::agents::InvocationError;
use crate::agents::toml::{toml_key, toml_string, toml_strings};
use crate::config::MCP_TOOL_LOG;
use crate::record::looks_secret;

mod changed;
mod further;
mod noted;

pub(super) use changed::with_go_between;
pub(super) use further::{
    copilot_arguments, gemini_arguments, opencode_content, opencode_servers, qwen_arguments,
};
pub use noted::{Met, ServerNoted, ServerNotes, servers_noted};

use changed::marked;

/// The mark that makes a server's calls of watched commands count as the server's, not as the agent's.
const MCP_PROCESS: (&str, &str) = ("EVAL_MCP_PROCESS", "1");

/// Logged in with `ChatGPT`, Codex (0.169) offers the account's apps as one more server. Versions without that feature take its
/// name for nothing.
const NO_APPS: [&str; 2] = ["-c", "features.apps=false"];

/// Variables of a trial that servers may ask for; Codex hands on only what it is told to.
const TRIAL_VARIABLES: [&str; 10] = [
    "DEVELOPER_DIR",
    "EVAL_CMD_LOG",
    "EVAL_MCP_ENABLED",
    MCP_TOOL_LOG,
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

/// The command lines of the servers that a file starts; none where it cannot be read, which stops a trial later.
#[must_use]
pub fn mcp_commands(config: &Path) -> Vec<Vec<String>> {
    let servers = read(config).map(|file| file.servers).unwrap_or_default();
    let servers = servers.into_values();
    servers
        .filter_map(|server| {
            let program = server.command?;
            Some(std::iter::once(program).chain(server.args).collect())
        })
        .collect()
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

/// What Codex is started with for its MCP servers.
#[derive(Debug, Default)]
pub(super) struct CodexServers {
    /// `-c` and a value, again and again.
    pub(super) arguments: Vec<String>,
    /// Secrets of the servers: everybody can read a command line, so Codex finds them in its own environment.
    pub(super) env: BTreeMap<String, String>,
}

/// Codex's arguments: one `-c` per value, but secrets only by the names of variables.
///
/// A server that Codex starts sees only HOME, LANG, PATH and TERM, so each program is also given the mark and the names of
/// the trial's variables and of `mcp_env` (`mcp.env` of the config), whose values Codex takes from its own environment.
///
/// # Errors
/// A file that cannot be read or is no MCP file, or two servers with one variable of two secret values.
pub(super) fn codex_servers<'a>(
    config: Option<&Path>,
    mcp_env: impl Iterator<Item = &'a String>,
) -> Result<CodexServers, InvocationError> {
    let mut made = CodexServers {
        arguments: NO_APPS.map(str::to_owned).to_vec(),
        ..CodexServers::default()
    };
    let Some(config) = config else {
        let none = ["-c", "mcp_servers={}"].map(str::to_owned);
        made.arguments.extend(none);
        return Ok(made);
    };
    let mut inherited: Vec<String> = TRIAL_VARIABLES.map(str::to_owned).to_vec();
    inherited.extend(mcp_env.cloned());
    for (name, mut server) in read(config)?.servers {
        let hidden = hide_secrets(&mut server, &mut made.env);
        let hidden = hidden.map_err(|variable| InvocationError::Mcp {
            path: config.to_owned(),
            problem: format!("mcpServers.{name}.env.{variable}: another server has another value of it, and Codex hands on only one"),
        })?;
        for (key, value) in hidden.into_iter().chain(codex_values(&server, &inherited)) {
            made.arguments.push("-c".to_owned());
            made.arguments
                .push(format!("mcp_servers.{}.{key}={value}", toml_key(&name)));
        }
    }
    Ok(made)
}

/// Moves the secrets of a server into variables of Codex itself; gives the values that lead to those of headers.
///
/// # Errors
/// The name of a variable that has another value already.
fn hide_secrets(
    server: &mut Server,
    env: &mut BTreeMap<String, String>,
) -> Result<Vec<(String, String)>, String> {
    let (secret, plain): (BTreeMap<_, _>, _) = std::mem::take(&mut server.env)
        .into_iter()
        .partition(|(name, _)| looks_secret(name));
    server.env = plain;
    for (name, value) in secret {
        if env.get(&name).is_some_and(|known| *known != value) {
            return Err(name);
        }
        server.env_vars.push(name.clone());
        env.insert(name, value);
    }
    let mut values = Vec::new();
    for headers in [&mut server.headers, &mut server.http_headers] {
        let (secret, plain): (BTreeMap<_, _>, _) = std::mem::take(headers)
            .into_iter()
            .partition(|(name, _)| looks_secret(name));
        *headers = plain;
        for (name, value) in secret {
            let variable = format!("PROCTOR_MCP_HEADER_{}", env.len());
            let key = format!("env_http_headers.{}", toml_key(&name));
            values.push((key, toml_string(&variable)));
            env.insert(variable, value);
        }
    }
    Ok(values)
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
    // Otherwise Codex begins before a slow server has told its tools, and says nothing of one that is broken.
    set("required", server.required.unwrap_or(true).to_string());
    values
}

/// The variables and headers that a file of servers holds, by name; none where it cannot be read.
///
/// Of a header with a scheme (`Bearer x`) only the word after it is given: that is the secret.
#[must_use]
pub fn server_variables(path: &Path) -> Vec<(String, String)> {
    let servers = read(path).map(|file| file.servers).unwrap_or_default();
    let mut found = Vec::new();
    for server in servers.into_values() {
        found.extend(server.env);
        for (name, value) in server.headers.into_iter().chain(server.http_headers) {
            let word = value.split_whitespace().last().unwrap_or_default();
            found.push((name, word.to_owned()));
        }
    }
    found
}

/// Names of the servers in a file that are not switched off; none where it cannot be read.
#[must_use]
pub fn server_names(path: &Path) -> Vec<String> {
    let servers = read(path).map(|file| file.servers).unwrap_or_default();
    let on = servers
        .into_iter()
        .filter(|(_, server)| server.enabled != Some(false) && server.disabled != Some(true));
    on.map(|(name, _)| name).collect()
}

/// Name and program of each server in a file that is a program and not switched off; none where it cannot be read.
#[must_use]
pub fn server_programs(path: &Path) -> Vec<(String, OsString)> {
    let on = server_names(path);
    let servers = read(path).map(|file| file.servers).unwrap_or_default();
    let programs = servers
        .into_iter()
        .filter_map(|(name, server)| Some((name, OsString::from(server.command?))));
    programs.filter(|(name, _)| on.contains(name)).collect()
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

#[cfg(test)]
mod tests;
