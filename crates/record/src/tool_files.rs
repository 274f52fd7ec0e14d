//! The small files about tools that lie beside a trial: errors, what followed them, MCP calls, calls seen only in the stream.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::error::Doing as _;
use crate::line_file::LineFile;
use crate::lines::{Found, LineReader};
use crate::{RecordError, Redactor, TrialClock, TrialDir, json_text, private};
use proctor_failpoints::reach;
use proctor_model::{CommandCall, McpServerCall, ToolErrorSeen};

/// What the tool-error files of a trial are made of.
#[derive(Debug, Clone, Copy)]
pub struct ToolErrorLines<F> {
    /// Gives the errors as `metrics` found them, each with its class; asked once for each file.
    pub errors: F,
    /// All errors, MCP errors: more than `errors` gives if there were too many to keep.
    pub totals: (u64, u64),
}

/// One MCP tool call, for `mcp_tool_calls.jsonl`.
#[derive(Debug, Clone)]
pub struct McpCallLine {
    /// Time since the agent's start.
    pub at: Duration,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The arguments as JSON text; written as `null` if they are no JSON.
    pub arguments: String,
}

#[derive(Serialize)]
struct ErrorLine {
    ts: String,
    tool_name: String,
    tool_kind: &'static str,
    source: String,
    payload: String,
    at_sec: f64,
    call_index: usize,
    class: &'static str,
}

#[derive(Serialize)]
struct ContextLine {
    ts: String,
    tool_name: String,
    tool_kind: &'static str,
    call_index: usize,
    next_calls: Vec<NextCall>,
}

#[derive(Serialize)]
struct NextCall {
    tool_name: String,
    arguments: String,
}

#[derive(Serialize)]
struct McpLine {
    ts: String,
    server: String,
    tool: String,
    arguments: Option<Box<RawValue>>,
    at_sec: f64,
}

#[derive(Serialize)]
struct StreamCallLine<'a> {
    ts: String,
    cmd: &'a str,
    argv: &'a [String],
    source: &'static str,
    seen_by: &'static str,
    at_sec: f64,
}

/// Writes `tool_errors.jsonl` and `tool_error_context.jsonl` where there are errors, and `tool_error_summary.json`.
///
/// # Errors
/// When a file cannot be written, or the errors cannot be read back from where they wait.
pub fn write_tool_errors<I>(
    trial: &TrialDir,
    lines: &ToolErrorLines<impl Fn() -> I>,
    clock: TrialClock,
    redactor: &Redactor,
) -> Result<(), RecordError>
where
    I: Iterator<Item = io::Result<(ToolErrorSeen, &'static str)>>,
{
    let (total, mcp) = lines.totals;
    let summary =
        serde_json::json!({"total": total, "mcp": mcp, "non_mcp": total.saturating_sub(mcp)});
    private::write_file(
        &trial.tool_error_summary(),
        format!("{summary}\n").as_bytes(),
    )?;
    let errors = (lines.errors)().map(|error| error.map(|error| error_line(error, clock)));
    write_lines(&trial.tool_errors(), errors, redactor)?;
    let errors = (lines.errors)();
    let contexts = errors.map(|error| error.map(|(error, _)| context_line(error, clock)));
    write_lines(&trial.tool_error_context(), contexts, redactor)
}

/// Writes `mcp_tool_calls.jsonl` where there were calls.
///
/// # Errors
/// When the file cannot be written, or the calls cannot be read back from where they wait.
pub fn write_mcp_tool_calls(
    trial: &TrialDir,
    calls: impl IntoIterator<Item = io::Result<McpCallLine>>,
    clock: TrialClock,
    redactor: &Redactor,
) -> Result<(), RecordError> {
    let line = |call: McpCallLine| McpLine {
        ts: clock.label(call.at),
        server: call.server,
        tool: call.tool,
        arguments: json_text::one_line(&call.arguments),
        at_sec: call.at.as_secs_f64(),
    };
    let lines = calls.into_iter().map(|call| call.map(line));
    write_lines(&trial.mcp_tool_calls(), lines, redactor)
}

/// Appends the calls that no shim saw to `cmd_log.jsonl`, marked `"seen_by":"stream"` so that they are never
/// taken for a shim's.
///
/// # Errors
/// When the file cannot be written.
pub fn append_stream_calls(
    trial: &TrialDir,
    calls: &[CommandCall],
    clock: TrialClock,
    redactor: &Redactor,
) -> Result<(), RecordError> {
    let path = trial.cmd_log();
    let lines = calls.iter().map(|call| StreamCallLine {
        ts: clock.label(call.at),
        cmd: &call.command,
        argv: &call.argv,
        source: call.source.as_str(),
        seen_by: "stream",
        at_sec: call.at.as_secs_f64(),
    });
    put_lines(&path, lines.map(Ok), || {
        let file = private::append_file(&path)?;
        Ok(LineFile::at_end_of(file, &path, redactor.clone()))
    })?;
    Ok(())
}

/// How long the log of an MCP server is: what is there before an agent starts is not of its trial.
#[must_use]
pub fn mcp_server_log_length(path: &Path) -> u64 {
    let found = path.symlink_metadata();
    found.map_or(0, |found| if found.is_file() { found.len() } else { 0 })
}

/// The calls that an MCP server logged itself, `from` this place on; all of them where the file has become shorter than that.
/// Lines that are none are left out; a file that is missing or no regular file holds none.
///
/// # Errors
/// When the file cannot be read.
pub fn read_mcp_server_log(
    path: &Path,
    from: u64,
    clock: TrialClock,
) -> Result<Vec<McpServerCall>, RecordError> {
    #[derive(serde::Deserialize)]
    struct Line {
        #[serde(default)]
        ts: Option<String>,
        #[serde(default)]
        server: Option<String>,
        #[serde(alias = "name", alias = "tool_name")]
        tool: String,
        #[serde(default, alias = "args")]
        arguments: Option<Box<RawValue>>,
    }
    let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
    if !is_file {
        return Ok(Vec::new());
    }
    let mut lines = LineReader::open(path)?;
    if mcp_server_log_length(path) >= from {
        lines.skip_to(from)?;
    }
    let mut calls = Vec::new();
    while calls.len() < MOST_SERVER_CALLS {
        match lines.advance() {
            Found::End => break,
            Found::Bad(_) => {}
            Found::Line(_) => {
                if let Ok(line) = serde_json::from_slice::<Line>(&lines.line) {
                    let arguments = line.arguments.map(|raw| raw.get().to_owned());
                    calls.push(McpServerCall {
                        at: line.ts.and_then(|ts| clock.since_start(&ts)),
                        server: line.server.unwrap_or_default(),
                        tool: line.tool,
                        arguments: arguments.unwrap_or_default(),
                    });
                }
            }
        }
    }
    Ok(calls)
}

/// More calls than this are not read from a server's log.
const MOST_SERVER_CALLS: usize = 100_000;

fn error_line((error, class): (ToolErrorSeen, &'static str), clock: TrialClock) -> ErrorLine {
    ErrorLine {
        ts: clock.label(moment(&error)),
        tool_kind: kind(&error),
        tool_name: error.tool_name,
        source: error.source,
        payload: error.payload,
        at_sec: error.at_sec,
        call_index: error.call_index,
        class,
    }
}

fn context_line(error: ToolErrorSeen, clock: TrialClock) -> ContextLine {
    let next_call = |(tool_name, arguments)| NextCall {
        tool_name,
        arguments,
    };
    ContextLine {
        ts: clock.label(moment(&error)),
        tool_kind: kind(&error),
        tool_name: error.tool_name,
        call_index: error.call_index,
        next_calls: error.next_calls.into_iter().map(next_call).collect(),
    }
}

fn moment(error: &ToolErrorSeen) -> Duration {
    Duration::try_from_secs_f64(error.at_sec).unwrap_or_default()
}

fn kind(error: &ToolErrorSeen) -> &'static str {
    if error.mcp { "mcp" } else { "non_mcp" }
}

/// Replaces `path` by the lines; without lines there is no file.
fn write_lines(
    path: &Path,
    lines: impl Iterator<Item = io::Result<impl Serialize>>,
    redactor: &Redactor,
) -> Result<(), RecordError> {
    let written = put_lines(path, lines, || {
        reach("artifacts.write").doing("write", path)?;
        LineFile::create(path, redactor.clone(), Redactor::redact_json_line)
    })?;
    if written {
        return Ok(());
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).doing("remove", path),
        _ => Ok(()),
    }
}

/// Writes lines to the file that `open` opens at the first one; whether there were any.
fn put_lines(
    path: &Path,
    lines: impl Iterator<Item = io::Result<impl Serialize>>,
    open: impl FnOnce() -> Result<LineFile, RecordError>,
) -> Result<bool, RecordError> {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return Ok(false);
    }
    let mut file = open()?;
    for line in lines {
        file.put(&line.doing("read back what is for", path)?)?;
    }
    file.put_down()?;
    Ok(true)
}

#[cfg(test)]
#[path = "tool_files_tests.rs"]
mod tests;
