//! The dialects of Gemini CLI, Qwen Code, opencode and Copilot CLI.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::agents::InvocationError;
use crate::agents::home::{set, write_private};
use crate::agents::jsonc::plain_json;
use crate::agents::mcp::{MCP_PROCESS, Server, on};

/// A name that no server has: Gemini CLI takes an empty list for none at all.
const NOBODY: &str = "proctor-allows-no-server";

/// Gemini CLI's arguments: only the scenario's servers may be used, wherever others are named. The servers themselves, and
/// what else is given as `further`, are put into the settings of the trial's own folder `own`; without one nothing is given.
///
/// # Errors
/// A file that cannot be read, is no MCP file, or cannot be written.
pub(in crate::agents) fn gemini_arguments(
    config: Option<&Path>,
    own: Option<&Path>,
    further: Option<(&str, Value)>,
) -> Result<Vec<String>, InvocationError> {
    let servers = url_servers(config)?;
    if let (Some(own), true) = (own, !servers.is_empty() || further.is_some()) {
        let file = own.join("settings.json");
        let known = fs::read_to_string(&file).unwrap_or_default();
        let mut settings: Map<String, Value> =
            serde_json::from_str(&plain_json(&known)).unwrap_or_default();
        if !servers.is_empty() {
            settings.insert("mcpServers".to_owned(), Value::Object(servers.clone()));
        }
        if let Some((name, values)) = further {
            set(&mut settings, name, &values);
        }
        let text = format!("{:#}\n", Value::Object(settings));
        write_private(&file, text.as_bytes())?;
    }
    let names: Vec<&str> = if servers.is_empty() {
        vec![NOBODY]
    } else {
        servers.keys().map(String::as_str).collect()
    };
    Ok(allowed(&names))
}

/// Qwen Code's arguments, and the file with the servers, if there are any.
///
/// # Errors
/// A file that cannot be read, is no MCP file, or cannot be written.
pub(in crate::agents) fn qwen_arguments(
    config: Option<&Path>,
    private: &Path,
) -> Result<(Vec<String>, Option<PathBuf>), InvocationError> {
    let servers = url_servers(config)?;
    if servers.is_empty() {
        // An empty name is dropped, and then none is allowed.
        return Ok((allowed(&[""]), None));
    }
    let names: Vec<&str> = servers.keys().map(String::as_str).collect();
    let mut arguments = allowed(&names);
    let (path, file) = servers_file(&servers, private)?;
    arguments.extend(["--mcp-config".to_owned(), path]);
    Ok((arguments, Some(file)))
}

/// Copilot CLI's arguments, and the file with the servers, if there are any. Its own folder is the trial's, so that no
/// others are there but the built-in ones.
///
/// # Errors
/// A file that cannot be read, is no MCP file, or cannot be written.
pub(in crate::agents) fn copilot_arguments(
    config: Option<&Path>,
    private: &Path,
) -> Result<(Vec<String>, Option<PathBuf>), InvocationError> {
    let mut arguments = vec!["--disable-builtin-mcps".to_owned()];
    let Some(config) = config else {
        return Ok((arguments, None));
    };
    let mut servers = Map::new();
    for (name, server) in on(config)? {
        let mut entry = match &server.url {
            Some(url) => json!({"type": "http", "url": url, "headers": headers(&server, "$")}),
            None => program(&server),
        };
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("tools".to_owned(), json!(["*"]));
            timeout(&server, entry);
        }
        servers.insert(name, entry);
    }
    let (path, file) = servers_file(&servers, private)?;
    arguments.extend(["--additional-mcp-config".to_owned(), format!("@{path}")]);
    Ok((arguments, Some(file)))
}

/// What goes into `OPENCODE_CONFIG_CONTENT`, over all other settings: the scenario's servers. `given` is what the config of the suite
/// itself puts there, `further` what else it is to hold.
///
/// # Errors
/// A file that cannot be read or is no MCP file.
pub(in crate::agents) fn opencode_content(
    config: Option<&Path>,
    given: Option<&str>,
    further: Option<(&str, Value)>,
) -> Result<String, InvocationError> {
    let given = given.and_then(|text| serde_json::from_str(&plain_json(text)).ok());
    let mut content: Map<String, Value> = given.unwrap_or_default();
    let servers = config.map(on).transpose()?.unwrap_or_default();
    let servers = servers.iter();
    let servers = servers.map(|(name, server)| (name.clone(), opencode_entry(server)));
    content.insert("mcp".to_owned(), servers.collect());
    if let Some((name, values)) = further {
        set(&mut content, name, &values);
    }
    // It asks its model for a title beside the work, and its stream tells nothing of that request.
    if content
        .get("agent")
        .is_none_or(|agents| agents["title"].is_null())
    {
        set(&mut content, "agent", &json!({"title": {"disable": true}}));
    }
    content.insert("autoupdate".to_owned(), json!(false));
    content.insert("share".to_owned(), json!("disabled"));
    Ok(Value::Object(content).to_string())
}

/// A server in the words of opencode.
fn opencode_entry(server: &Server) -> Value {
    let command: Vec<&String> = server.command.iter().chain(&server.args).collect();
    let mut entry = match &server.url {
        Some(url) => json!({"type": "remote", "url": url, "headers": headers(server, "env:")}),
        None => json!({"type": "local", "command": command, "environment": marked(server)}),
    };
    entry["enabled"] = json!(true);
    if let Some(entry) = entry.as_object_mut() {
        timeout(server, entry);
    }
    entry
}

/// The servers in the words of Gemini CLI, which Qwen Code shares.
fn url_servers(config: Option<&Path>) -> Result<Map<String, Value>, InvocationError> {
    let mut servers = Map::new();
    for (name, server) in config.map(on).transpose()?.unwrap_or_default() {
        let mut entry = match &server.url {
            Some(url) => json!({"httpUrl": url, "headers": headers(&server, "$")}),
            None => program(&server),
        };
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("trust".to_owned(), json!(true));
            timeout(&server, entry);
        }
        servers.insert(name, entry);
    }
    Ok(servers)
}

fn program(server: &Server) -> Value {
    json!({"command": server.command, "args": server.args, "env": marked(server)})
}

/// The variables of a server, with the mark by which its calls are told from the agent's.
fn marked(server: &Server) -> Map<String, Value> {
    let env = server.env.iter();
    let mut env: Map<String, Value> = env
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    env.entry(MCP_PROCESS.0)
        .or_insert_with(|| json!(MCP_PROCESS.1));
    env
}

/// The headers of a server; a bearer's token is named by its variable, in the agent's own way.
pub(super) fn headers(server: &Server, mark: &str) -> Map<String, Value> {
    let all = server.headers.iter().chain(&server.http_headers);
    let mut headers: Map<String, Value> = all
        .map(|(name, value)| (name.clone(), json!(value)))
        .collect();
    if let Some(variable) = &server.bearer_token_env_var {
        let value = match mark {
            "$" => format!("Bearer ${{{variable}}}"),
            _ => format!("Bearer {{{mark}{variable}}}"),
        };
        headers.insert("Authorization".to_owned(), json!(value));
    }
    headers
}

/// All four count a tool's time in milliseconds.
fn timeout(server: &Server, entry: &mut Map<String, Value>) {
    if let Some(seconds) = server.tool_timeout_sec {
        entry.insert("timeout".to_owned(), json!((seconds * 1000.0).round()));
    }
}

/// One argument a name: a list of several would take in what follows.
fn allowed(names: &[&str]) -> Vec<String> {
    let names = names.iter();
    names
        .map(|name| format!("--allowed-mcp-server-names={name}"))
        .collect()
}

fn servers_file(
    servers: &Map<String, Value>,
    private: &Path,
) -> Result<(String, PathBuf), InvocationError> {
    let file = private.join("mcp.json");
    let text = json!({"mcpServers": servers}).to_string();
    write_private(&file, text.as_bytes())?;
    let path = file
        .to_str()
        .ok_or_else(|| InvocationError::NotText { path: file.clone() })?;
    Ok((path.to_owned(), file))
}
