//! A scenario's file of servers, changed where a trial needs it: each program marked, or met through this one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::value::{RawValue, to_raw_value};

use crate::agents::InvocationError;
use crate::agents::home::write_private;
use crate::agents::mcp::noted::note_of;
use crate::agents::mcp::{MCP_PROCESS, Server, read};

/// Keys of an entry and their new values.
type Changes = Vec<(&'static str, Box<RawValue>)>;

/// The scenario's file with every program marked.
pub(super) fn marked(config: &Path) -> Result<String, InvocationError> {
    changed(config, |_, server| {
        let mut env = server.env.clone();
        env.entry(MCP_PROCESS.0.to_owned())
            .or_insert_with(|| MCP_PROCESS.1.to_owned());
        Ok(vec![("env", to_raw_value(&env)?)])
    })
}

/// The scenario's file with `program` (this one) before each server that is a program, so that it is noted what they tell;
/// a file in `private`.
///
/// # Errors
/// A file that cannot be read, is no MCP file, or cannot be written.
pub(in crate::agents) fn with_go_between(
    config: &Path,
    (program, private): (&Path, &Path),
) -> Result<PathBuf, InvocationError> {
    let mut number = 0;
    let text = changed(config, |name, server| {
        let note = note_of(private, number);
        number += 1;
        let note = note.to_string_lossy();
        let mut arguments = vec!["mcp-go-between", "--note", &note, "--server", name, "--"];
        let words = server.command.iter().chain(&server.args);
        arguments.extend(words.map(String::as_str));
        Ok(vec![
            ("command", to_raw_value(program)?),
            ("args", to_raw_value(&arguments)?),
        ])
    })?;
    let folder = note_of(private, 0);
    let folder = folder.parent().unwrap_or(private);
    fs::create_dir_all(folder).map_err(|source| InvocationError::Private {
        path: folder.to_owned(),
        source,
    })?;
    let file = private.join("servers.json");
    write_private(&file, text.as_bytes())?;
    Ok(file)
}

/// The scenario's file with keys of its programs changed; whatever else an entry holds is kept as it stands.
fn changed(
    path: &Path,
    mut change: impl FnMut(&str, &Server) -> Result<Changes, serde_json::Error>,
) -> Result<String, InvocationError> {
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
    let programs = programs.iter().filter(|(_, one)| one.command.is_some());
    for (name, server) in programs {
        let changes = change(name, server).map_err(|error| problem(&error))?;
        let entry = servers.entry(name.clone()).or_default();
        entry.extend(
            changes
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value)),
        );
    }
    let servers = to_raw_value(&servers).map_err(|error| problem(&error))?;
    file.insert("mcpServers".to_owned(), servers);
    serde_json::to_string(&file).map_err(|error| problem(&error))
}
