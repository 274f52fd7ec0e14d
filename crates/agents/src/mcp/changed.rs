//! A scenario's file of servers, changed where a trial needs it: each program marked, or met through this one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::value::{RawValue, to_raw_value};

use crate::InvocationError;
use crate::home::write_private;
use crate::mcp::further::headers;
use crate::mcp::noted::note_of;
use crate::mcp::{MCP_PROCESS, Server, on};

/// Keys of an entry and their new values; without one a key is taken away.
type Changes = Vec<(&'static str, Option<Box<RawValue>>)>;

/// The scenario's file in Claude Code's words: every program marked, and every address told for one, with all its headers.
pub(super) fn marked(config: &Path) -> Result<String, InvocationError> {
    changed(config, |_, server| {
        if server.url.is_some() {
            return addressed(server);
        }
        let mut env = server.env.clone();
        env.entry(MCP_PROCESS.0.to_owned())
            .or_insert_with(|| MCP_PROCESS.1.to_owned());
        Ok(vec![("env", Some(to_raw_value(&env)?))])
    })
}

/// Claude Code leaves out an address without a type, and knows `headers` alone.
fn addressed(server: &Server) -> Result<Changes, serde_json::Error> {
    let mut changes = Changes::new();
    if server.kind.is_none() {
        changes.push(("type", Some(to_raw_value("http")?)));
    }
    let headers = headers(server, "$");
    if headers.len() > server.headers.len() {
        changes.push(("headers", Some(to_raw_value(&headers)?)));
    }
    Ok(changes)
}

/// What of servers is met through this program.
#[derive(Debug)]
pub(crate) struct Between {
    /// The file with the servers.
    pub(crate) servers: PathBuf,
    /// Files with their variables.
    pub(crate) environments: Vec<PathBuf>,
}

/// The scenario's file with `program` (this one) before each server that is a program, so that it is noted what they tell,
/// that all begin in the folder that `cwd` names (from `workdir` on), and that their variables reach them as they are
/// written: some agents know no `cwd`, and some read `$` in a variable. Files in `private`.
///
/// # Errors
/// A file that cannot be read, is no MCP file, or cannot be written.
pub(crate) fn with_go_between(
    (config, paths): (&Path, &Paths),
    workdir: &Path,
    (program, private): (&Path, &Path),
) -> Result<Between, InvocationError> {
    let mut environments = Vec::new();
    let mut number = 0;
    let text = changed(config, |name, server| {
        let Some(command) = &server.command else {
            return Ok(Changes::new());
        };
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let note = text(note_of(private, number));
        let mut arguments = ["mcp-go-between", "--note", &note, "--server", name]
            .map(str::to_owned)
            .to_vec();
        if let Some(cwd) = &server.cwd {
            arguments.extend(["--cwd".to_owned(), text(workdir.join(cwd))]);
        }
        if !server.env.is_empty() {
            let file = environment_of(private, number);
            arguments.extend(["--env".to_owned(), text(file.clone())]);
            environments.push((file, serde_json::to_vec(&server.env)?));
        }
        number += 1;
        arguments.push("--".to_owned());
        arguments.push(resolved(command, server, paths));
        let words = server.args.iter();
        arguments.extend(words.map(|word| resolved(word, server, paths)));
        Ok(vec![
            ("command", Some(to_raw_value(program)?)),
            ("args", Some(to_raw_value(&arguments)?)),
            ("cwd", None),
            ("env", None),
        ])
    })?;
    let folder = note_of(private, 0);
    let folder = folder.parent().unwrap_or(private);
    fs::create_dir_all(folder).map_err(|source| InvocationError::Private {
        path: folder.to_owned(),
        source,
    })?;
    for (file, text) in &environments {
        write_private(file, text)?;
    }
    Ok(Between {
        servers: write_servers(private, &text)?,
        environments: environments.into_iter().map(|(file, _)| file).collect(),
    })
}

/// The scenario's file with what its words name beside the config in their place, in `private`.
///
/// # Errors
/// A file that cannot be read, is no MCP file, or cannot be written.
pub(crate) fn with_paths(
    (config, paths): (&Path, &Paths),
    private: &Path,
) -> Result<Between, InvocationError> {
    let text = changed(config, |_, server| {
        let Some(command) = &server.command else {
            return Ok(Changes::new());
        };
        let words = server.args.iter();
        let words: Vec<String> = words.map(|word| resolved(word, server, paths)).collect();
        Ok(vec![
            (
                "command",
                Some(to_raw_value(&resolved(command, server, paths))?),
            ),
            ("args", Some(to_raw_value(&words)?)),
        ])
    })?;
    Ok(Between {
        servers: write_servers(private, &text)?,
        environments: Vec::new(),
    })
}

/// Words that name something beside the config, and what they name.
type Paths = BTreeMap<String, PathBuf>;

/// A word of a server with what it names in its place; a server with `cwd` says itself where its words lead from.
fn resolved(word: &str, server: &Server, paths: &Paths) -> String {
    let path = paths.get(word).filter(|_| server.cwd.is_none());
    path.map_or_else(
        || word.to_owned(),
        |path| path.to_string_lossy().into_owned(),
    )
}

fn write_servers(private: &Path, text: &str) -> Result<PathBuf, InvocationError> {
    let servers = private.join("servers.json");
    write_private(&servers, text.as_bytes())?;
    Ok(servers)
}

/// Where the variables of a server are, by its number.
fn environment_of(private: &Path, number: usize) -> PathBuf {
    private.join("servers").join(format!("{number}.json"))
}

/// The scenario's file less the servers that are switched off, and with keys of others changed; whatever else an entry holds
/// is kept as it stands.
fn changed(
    path: &Path,
    mut change: impl FnMut(&str, &Server) -> Result<Changes, serde_json::Error>,
) -> Result<String, InvocationError> {
    type Entry = BTreeMap<String, Box<RawValue>>;
    let on = on(path)?;
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
    servers.retain(|name, _| on.contains_key(name));
    for (name, server) in &on {
        let entry = servers.entry(name.clone()).or_default();
        for (key, value) in change(name, server).map_err(|error| problem(&error))? {
            match value {
                Some(value) => entry.insert(key.to_owned(), value),
                None => entry.remove(key),
            };
        }
    }
    let servers = to_raw_value(&servers).map_err(|error| problem(&error))?;
    file.insert("mcpServers".to_owned(), servers);
    serde_json::to_string(&file).map_err(|error| problem(&error))
}
