//! A scenario's file of servers, changed where a trial needs it: each program marked, or started in its folder and noted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::value::{RawValue, to_raw_value};

use crate::agents::InvocationError;
use crate::agents::home::write_private;
use crate::agents::mcp::further::headers;
use crate::agents::mcp::noted::note_of;
use crate::agents::mcp::{MCP_PROCESS, Server, on};

/// Keys of an entry and their new values; without one a key is taken away.
type Changes = Vec<(&'static str, Option<Box<RawValue>>)>;

/// A server of a file that is on.
struct ServerEntry<'a> {
    number: usize,
    name: &'a str,
    server: &'a Server,
}

/// The scenario's file in Claude Code's words: every program marked, and every address with its type and all its headers.
pub(super) fn marked(config: &Path) -> Result<String, InvocationError> {
    changed(config, |entry| {
        let server = entry.server;
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

/// The servers of a scenario, for one trial.
#[derive(Debug)]
pub(in crate::agents) struct TrialServers<'a> {
    /// The scenario's file.
    pub(in crate::agents) config: &'a Path,
    /// Words of servers that name something beside the config, and what they name.
    pub(in crate::agents) paths: &'a BTreeMap<String, PathBuf>,
    /// Where the agent works.
    pub(in crate::agents) workdir: &'a Path,
    /// This program, if it is to start each server and note what it says.
    pub(in crate::agents) go_between: Option<&'a Path>,
    /// The trial's private folder.
    pub(in crate::agents) private: &'a Path,
}

/// What was written for a trial.
#[derive(Debug)]
pub(in crate::agents) struct Written {
    /// The file with the servers.
    pub(in crate::agents) servers: PathBuf,
    /// Files with their variables.
    pub(in crate::agents) environments: Vec<PathBuf>,
}

impl TrialServers<'_> {
    /// Writes a file in which each server that is a program starts in its folder, since some agents know no `cwd`. Behind this
    /// program its variables reach it as they are written, since some agents read `$` in them.
    ///
    /// # Errors
    /// A file that cannot be read, is no MCP file, or cannot be written.
    pub(in crate::agents) fn write(&self) -> Result<Written, InvocationError> {
        let mut environments = Vec::new();
        let text = changed(self.config, |entry| {
            let Some(command) = &entry.server.command else {
                return Ok(Changes::new());
            };
            let mut words = self.starter(entry);
            let own = std::iter::once(command).chain(&entry.server.args);
            words.extend(own.map(|word| self.resolved(word, entry.server)));
            let mut changes = vec![
                ("command", Some(to_raw_value(&words[0])?)),
                ("args", Some(to_raw_value(&words[1..])?)),
                ("cwd", None),
            ];
            if self.go_between.is_some() {
                changes.push(("env", None));
                let env = &entry.server.env;
                environments.push((self.environment_of(entry), serde_json::to_vec(env)?));
            }
            Ok(changes)
        })?;
        for (file, text) in &environments {
            write_private(file, text)?;
        }
        if self.go_between.is_some() {
            make_folder_of_notes(self.private)?;
        }
        let servers = self.private.join("servers.json");
        write_private(&servers, text.as_bytes())?;
        Ok(Written {
            servers,
            environments: environments.into_iter().map(|(file, _)| file).collect(),
        })
    }

    /// The words before those of a server that start it.
    fn starter(&self, entry: &ServerEntry<'_>) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let cwd = entry.server.cwd.as_deref();
        let Some(program) = self.go_between else {
            // A wrapper may show the workspace elsewhere: the agent's own folder is where it begins.
            let enter =
                |cwd: &str| ["sh", "-c", "cd \"$0\" && exec \"$@\"", cwd].map(str::to_owned);
            return cwd.map(enter).into_iter().flatten().collect();
        };
        let mut words = vec![text(program)];
        let note = text(&note_of(self.private, entry.number));
        let environment = text(&self.environment_of(entry));
        for word in ["mcp-go-between", "--note", &note, "--server", entry.name] {
            words.push(word.to_owned());
        }
        if let Some(cwd) = cwd {
            words.extend(["--cwd".to_owned(), text(&self.workdir.join(cwd))]);
        }
        words.extend(["--env".to_owned(), environment, "--".to_owned()]);
        words
    }

    /// A word of a server with what it names in its place; a server with `cwd` says itself where its words lead from.
    fn resolved(&self, word: &str, server: &Server) -> String {
        let path = self.paths.get(word).filter(|_| server.cwd.is_none());
        path.map_or_else(
            || word.to_owned(),
            |path| path.to_string_lossy().into_owned(),
        )
    }

    /// Where the variables of a server are.
    fn environment_of(&self, entry: &ServerEntry<'_>) -> PathBuf {
        let file = format!("{}.json", entry.number);
        self.private.join("servers").join(file)
    }
}

fn make_folder_of_notes(private: &Path) -> Result<(), InvocationError> {
    let note = note_of(private, 0);
    let folder = note.parent().unwrap_or(private);
    fs::create_dir_all(folder).map_err(|source| InvocationError::Private {
        path: folder.to_owned(),
        source,
    })
}

/// The scenario's file less the servers that are switched off, and with keys of others changed; whatever else an entry holds
/// is kept as it stands.
fn changed(
    path: &Path,
    mut change: impl FnMut(&ServerEntry<'_>) -> Result<Changes, serde_json::Error>,
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
    for (number, (name, server)) in on.iter().enumerate() {
        let entry = servers.entry(name.clone()).or_default();
        let changes = change(&ServerEntry {
            number,
            name,
            server,
        });
        for (key, value) in changes.map_err(|error| problem(&error))? {
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
