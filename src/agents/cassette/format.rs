//! The cassette file: read whole and checked before anything is played.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agents::cassette::base64;
use crate::config::AgentKind;

/// The version of the format.
const VERSION: u32 = 1;

/// A cassette that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file cannot be read.
    #[error("read the cassette {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A line is wrong.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Its line, from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A step could not be done.
    #[error("{}:{line}: {step}", path.display())]
    Step {
        /// The file.
        path: PathBuf,
        /// The step's line, from 1.
        line: usize,
        /// What was to be done.
        step: String,
        /// Why it was not.
        source: io::Error,
    },
}

/// The first line of a cassette.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Whose stream format the cassette holds.
    pub plays: AgentKind,
    /// When it was recorded.
    pub recorded: Option<String>,
    /// What it shows.
    pub note: Option<String>,
    /// How long the recorded trial took.
    pub duration_ms: Option<u64>,
}

/// A whole cassette.
#[derive(Debug)]
pub(super) struct Cassette {
    /// What it is of.
    pub(super) header: Header,
    /// What is done.
    pub(super) steps: Vec<Step>,
}

/// One step.
#[derive(Debug)]
pub(super) struct Step {
    /// Its line in the file, from 1.
    pub(super) line: usize,
    /// When, since the start, as recorded.
    pub(super) at: Duration,
    /// What.
    pub(super) action: Action,
}

/// What a step does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Prints on standard output.
    Out(Text),
    /// Prints on standard error.
    Err(Text),
    /// Writes a file.
    Write {
        path: PathBuf,
        bytes: Vec<u8>,
        mode: Option<u32>,
    },
    /// Removes a file or folder.
    Delete(PathBuf),
    /// Runs a command.
    Run {
        argv: Vec<String>,
        cwd: Option<PathBuf>,
        env: BTreeMap<String, String>,
        expect: Option<i32>,
    },
    /// Says and does nothing any more.
    Hang,
    /// Prints the same line for ever.
    Chatter { text: Text, every: Duration },
    /// Ends.
    Exit(i32),
    /// Ends by a signal.
    KillSelf(String),
}

/// A line to print.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Text {
    /// Its bytes, without the line end.
    pub(super) bytes: Vec<u8>,
    /// Whether placeholders are left alone.
    pub(super) literal: bool,
    /// Whether no line end follows.
    pub(super) no_newline: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderWire {
    cassette: u32,
    plays: String,
    recorded: Option<String>,
    note: Option<String>,
    duration_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepWire {
    at_ms: u64,
    out: Option<String>,
    out_json: Option<Box<RawValue>>,
    out_base64: Option<String>,
    err: Option<String>,
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    no_newline: bool,
    write: Option<WriteWire>,
    delete: Option<PathBuf>,
    run: Option<RunWire>,
    hang: Option<bool>,
    chatter_ms: Option<u64>,
    exit: Option<i32>,
    kill_self: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteWire {
    path: PathBuf,
    text: Option<String>,
    base64: Option<String>,
    mode: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunWire {
    argv: Vec<String>,
    cwd: Option<PathBuf>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    expect: Option<i32>,
}

/// Checks all of a cassette without playing it, and tells what it is of.
///
/// # Errors
/// A file that cannot be read; the first line that is wrong.
pub fn check(path: &Path) -> Result<Header, CassetteError> {
    read(path).map(|cassette| cassette.header)
}

/// Reads a cassette and checks all of it.
///
/// # Errors
/// A file that cannot be read; the first line that is wrong.
pub(super) fn read(path: &Path) -> Result<Cassette, CassetteError> {
    let text = fs::read_to_string(path).map_err(|source| CassetteError::Read {
        path: path.to_owned(),
        source,
    })?;
    let wrong = |line: usize, problem: String| CassetteError::Line {
        path: path.to_owned(),
        line,
        problem,
    };
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, text)| (index + 1, text));
    let (_, first) = lines.next().unwrap_or((1, ""));
    let header = header(first).map_err(|problem| wrong(1, problem))?;
    let mut steps = Vec::new();
    for (line, text) in lines.filter(|(_, text)| !text.trim().is_empty()) {
        steps.push(step(line, text).map_err(|problem| wrong(line, problem))?);
    }
    Ok(Cassette { header, steps })
}

fn header(text: &str) -> Result<Header, String> {
    let wire: HeaderWire =
        serde_json::from_str(text).map_err(|error| format!("no cassette header: {error}"))?;
    if wire.cassette != VERSION {
        return Err(format!(
            "a cassette of version {}; this program plays version {VERSION}",
            wire.cassette
        ));
    }
    let plays = AgentKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == wire.plays && *kind != AgentKind::Replay)
        .ok_or_else(|| {
            format!(
                "plays: unknown kind `{}`; codex_cli, claude_code_cli or command",
                wire.plays
            )
        })?;
    Ok(Header {
        plays,
        recorded: wire.recorded,
        note: wire.note,
        duration_ms: wire.duration_ms,
    })
}

fn step(line: usize, text: &str) -> Result<Step, String> {
    let wire: StepWire = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let at = Duration::from_millis(wire.at_ms);
    let mut actions = actions(wire)?;
    match (actions.pop(), actions.len()) {
        (Some(action), 0) => Ok(Step { line, at, action }),
        _ => Err("a step needs exactly one thing to do".to_owned()),
    }
}

/// What the keys of a step ask for; one thing, if it is a good step.
fn actions(wire: StepWire) -> Result<Vec<Action>, String> {
    let print = |bytes: Vec<u8>| Text {
        bytes,
        literal: wire.literal,
        no_newline: wire.no_newline,
    };
    let mut actions = Vec::new();
    let bytes = wire
        .out_base64
        .map(|text| base64_bytes(&text))
        .transpose()?;
    let json = wire.out_json.map(|json| json.get().as_bytes().to_vec());
    let lines = [wire.out.map(String::into_bytes), json, bytes];
    for bytes in lines.into_iter().flatten() {
        let text = print(bytes);
        actions.push(match wire.chatter_ms {
            Some(every) => Action::Chatter {
                text,
                every: Duration::from_millis(every.max(1)),
            },
            None => Action::Out(text),
        });
    }
    if wire.chatter_ms.is_some() && actions.is_empty() {
        return Err("chatter_ms needs a line in `out`".to_owned());
    }
    actions.extend(wire.err.map(|line| Action::Err(print(line.into_bytes()))));
    actions.extend(wire.write.map(write).transpose()?);
    actions.extend(wire.delete.map(inside).transpose()?.map(Action::Delete));
    actions.extend(wire.run.map(run).transpose()?);
    actions.extend(wire.hang.filter(|hang| *hang).map(|_| Action::Hang));
    actions.extend(wire.exit.map(Action::Exit));
    actions.extend(wire.kill_self.map(Action::KillSelf));
    if let Some(Action::KillSelf(name)) = actions.last() {
        signal(name)?;
    }
    Ok(actions)
}

/// The signal of this name, with or without `SIG`.
///
/// # Errors
/// A name that is not known.
pub(super) fn signal(name: &str) -> Result<Signal, String> {
    match name.strip_prefix("SIG").unwrap_or(name) {
        "KILL" => Ok(Signal::KILL),
        "TERM" => Ok(Signal::TERM),
        "INT" => Ok(Signal::INT),
        "HUP" => Ok(Signal::HUP),
        "QUIT" => Ok(Signal::QUIT),
        "ABRT" => Ok(Signal::ABORT),
        "SEGV" => Ok(Signal::SEGV),
        _ => Err(format!(
            "kill_self: unknown signal `{name}`; KILL, TERM, INT, HUP, QUIT, ABRT or SEGV"
        )),
    }
}

fn write(wire: WriteWire) -> Result<Action, String> {
    let bytes = match (wire.text, wire.base64) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(text)) => base64_bytes(&text)?,
        _ => return Err("write: needs either `text` or `base64`".to_owned()),
    };
    let mode = wire
        .mode
        .map(|mode| {
            u32::from_str_radix(&mode, 8)
                .ok()
                .filter(|mode| *mode <= 0o777)
                .ok_or_else(|| format!("write: mode `{mode}` is no octal mode such as 755"))
        })
        .transpose()?;
    Ok(Action::Write {
        path: inside(wire.path)?,
        bytes,
        mode,
    })
}

fn run(wire: RunWire) -> Result<Action, String> {
    if wire.argv.first().is_none_or(String::is_empty) {
        return Err("run: argv is empty".to_owned());
    }
    Ok(Action::Run {
        argv: wire.argv,
        cwd: wire.cwd.map(inside).transpose()?,
        env: wire.env,
        expect: wire.expect,
    })
}

fn base64_bytes(text: &str) -> Result<Vec<u8>, String> {
    base64::decode(text).ok_or_else(|| "the text is no base64".to_owned())
}

/// A path that is relative and leads nowhere but down.
fn inside(path: PathBuf) -> Result<PathBuf, String> {
    let is_inside = path.components().next().is_some()
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        && !path.as_os_str().as_encoded_bytes().contains(&0);
    if is_inside {
        Ok(path)
    } else {
        Err(format!(
            "`{}` leads out of the workspace; only relative paths without `..` can be used",
            path.display()
        ))
    }
}
