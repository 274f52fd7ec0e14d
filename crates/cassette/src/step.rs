//! One line of a cassette, read and checked.

use std::collections::BTreeMap;
use std::path::{Component, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::Signal;
use serde::Deserialize;
use serde_json::value::RawValue;

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
    /// Makes a symbolic link.
    Link { path: PathBuf, target: String },
    /// Removes a file or folder.
    Delete(PathBuf),
    /// Runs a command.
    Run {
        argv: Vec<String>,
        cwd: Option<PathBuf>,
        env: std::collections::BTreeMap<String, String>,
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
    link: Option<String>,
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

/// Reads a step that stands in line `line`.
///
/// # Errors
/// What is wrong with it.
pub(super) fn step(line: usize, text: &str) -> Result<Step, String> {
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
    let bytes = match (wire.text, wire.base64, wire.link) {
        (Some(text), None, None) => text.into_bytes(),
        (None, Some(text), None) => base64_bytes(&text)?,
        (None, None, Some(target)) if wire.mode.is_none() => {
            return Ok(Action::Link {
                path: inside(wire.path)?,
                target,
            });
        }
        _ => {
            return Err(
                "write: needs either `text`, `base64` or `link`, the last without `mode`"
                    .to_owned(),
            );
        }
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
    STANDARD
        .decode(text)
        .map_err(|_| "the text is no base64".to_owned())
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
