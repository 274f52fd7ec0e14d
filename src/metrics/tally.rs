//! Counts what an agent's stream tells, event by event in bounded memory, and makes the measures of a trial.

use std::collections::HashMap;
use std::time::Duration;

use crate::metrics::shell::{base_name, shell_commands};
use crate::metrics::watched::StreamCall;
use crate::metrics::{ErrorClass, classify, mcp_server_and_tool, mcp_tools};
use crate::model::{AgentEvent, EventKind, Measures, STDERR_CALL, ToolCall, ToolResult};

/// Details of so many calls are kept; further ones are counted.
const MOST_CALLS: usize = 100_000;
/// Details of so many errors are kept; further ones are counted.
const MOST_ERRORS: usize = 10_000;
/// Arguments, command lines and payloads are kept up to this many bytes in all.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// Arguments of calls that are no MCP calls are kept up to here, in characters.
const LONGEST_ARGUMENTS: usize = 2_000;
/// The contract's limit of a payload, in characters.
const LONGEST_PAYLOAD: usize = 2_000;

/// Collects what a stream tells of tools.
#[derive(Debug, Default)]
pub struct Tally {
    pub(super) measures: Measures,
    pub(super) watched: Vec<String>,
    pub(super) calls: Vec<SeenCall>,
    pub(super) by_id: HashMap<String, usize>,
    pub(super) stream: Vec<(usize, StreamCall)>,
    pub(super) errors: Vec<SeenError>,
    pub(super) spent: usize,
    pub(super) last_at: Duration,
}

#[derive(Debug)]
pub(super) struct SeenCall {
    pub(super) at: Duration,
    pub(super) until: Option<Duration>,
    pub(super) name: String,
    pub(super) mcp: Option<(String, String)>,
    pub(super) arguments: String,
}

#[derive(Debug)]
pub(super) struct SeenError {
    pub(super) at: Duration,
    pub(super) call: Option<usize>,
    pub(super) mcp: bool,
    /// Whether standard error alone told it.
    pub(super) on_stderr: bool,
    pub(super) payload: String,
    pub(super) class: ErrorClass,
    /// How many calls had been shown when the error came.
    pub(super) calls_before: usize,
}

impl Tally {
    /// Counts calls of `xcodebuild` and `xcrun` in shown command lines.
    #[must_use]
    pub fn new() -> Self {
        Self::watching(&[])
    }

    /// The same and of further commands, which are listed even if nobody calls them.
    #[must_use]
    pub fn watching(further: &[String]) -> Self {
        let mut watched = vec!["xcodebuild".to_owned(), "xcrun".to_owned()];
        watched.extend_from_slice(further);
        Self {
            watched,
            ..Self::default()
        }
    }

    /// Takes in the next event.
    pub fn see(&mut self, event: &AgentEvent) {
        match &event.kind {
            EventKind::ToolStarted(call) => self.tool_started(call, event.at),
            EventKind::ToolEnded(result) => self.tool_ended(result, event.at),
            _ => {}
        }
        self.last_at = event.at;
    }

    fn tool_started(&mut self, call: &ToolCall, at: Duration) {
        if self.by_id.contains_key(&call.id) {
            return;
        }
        self.measures.tool_calls += 1;
        let mcp = mcp_parts(call);
        if let Some((server, tool)) = mcp {
            mcp_tools::count(&mut self.measures, (server, tool), Some(at));
        }
        if self.calls.len() >= MOST_CALLS {
            return;
        }
        let index = self.calls.len();
        if let Some(command) = &call.command {
            self.look_into(index, command, at);
        }
        let longest = if mcp.is_some() {
            usize::MAX
        } else {
            LONGEST_ARGUMENTS
        };
        let arguments = self.kept(&call.arguments, longest);
        if !call.id.is_empty() {
            self.by_id.insert(call.id.clone(), index);
        }
        self.calls.push(SeenCall {
            at,
            until: None,
            name: call.name.clone(),
            mcp: mcp.map(|(server, tool)| (server.to_owned(), tool.to_owned())),
            arguments,
        });
    }

    /// Finds the watched commands in a shown command line.
    fn look_into(&mut self, index: usize, command: &str, at: Duration) {
        for mut words in shell_commands(command) {
            if words.is_empty() || self.stream.len() >= MOST_CALLS {
                continue;
            }
            let program = words.remove(0);
            let Some(name) = self
                .watched
                .iter()
                .find(|name| *name == base_name(&program))
            else {
                continue;
            };
            let size: usize = words.iter().map(String::len).sum();
            if self.spent + size > MOST_BYTES {
                continue;
            }
            self.spent += size;
            let call = StreamCall {
                at,
                since: self.last_at.min(at),
                until: None,
                command: name.clone(),
                argv: words,
                by_path: program.contains('/'),
            };
            self.stream.push((index, call));
        }
    }

    fn tool_ended(&mut self, result: &ToolResult, at: Duration) {
        let index = self.by_id.get(&result.id).copied();
        let call = index.and_then(|index| self.calls.get_mut(index));
        if let Some(call) = call
            && call.until.replace(at).is_some()
        {
            return;
        }
        if result.is_error {
            self.count_error(index, result, at);
        }
    }

    fn count_error(&mut self, index: Option<usize>, result: &ToolResult, at: Duration) {
        let mcp = index.is_some_and(|index| self.calls[index].mcp.is_some());
        let class = classify(mcp, &result.output);
        let measures = &mut self.measures;
        measures.tool_error_total += 1;
        measures.tool_error_mcp += u64::from(mcp);
        measures.tool_error_non_mcp += u64::from(!mcp);
        measures.tool_error_discovery += u64::from(class == ErrorClass::Discovery);
        if self.errors.len() >= MOST_ERRORS {
            return;
        }
        let payload = self.kept(&payload(&result.output), LONGEST_PAYLOAD);
        self.errors.push(SeenError {
            at,
            call: index,
            mcp,
            on_stderr: result.id.starts_with(STDERR_CALL),
            payload,
            class,
            calls_before: self.calls.len(),
        });
    }

    /// As much of `text` as may be kept, or nothing once too much is.
    fn kept(&mut self, text: &str, longest: usize) -> String {
        let text = prefix(text, longest);
        if self.spent + text.len() > MOST_BYTES {
            return String::new();
        }
        self.spent += text.len();
        text.to_owned()
    }
}

/// Server and tool of an MCP call, by what the adapter says or by the name.
fn mcp_parts(call: &ToolCall) -> Option<(&str, &str)> {
    match &call.mcp {
        Some((server, tool)) => Some((server, tool)),
        None => mcp_server_and_tool(&call.name),
    }
}

/// At most `longest` characters from the front.
fn prefix(text: &str, longest: usize) -> &str {
    match text.char_indices().nth(longest) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

/// What a tool printed, within the contract's limit: of long outputs both ends, as the reason may stand at either.
fn payload(output: &str) -> String {
    const CUT: &str = "\n[...]\n";
    const EACH: usize = (LONGEST_PAYLOAD - CUT.len()) / 2;
    if prefix(output, LONGEST_PAYLOAD).len() == output.len() {
        return output.to_owned();
    }
    let tail = output.char_indices().rev().nth(EACH - 1);
    let tail = tail.map_or(output, |(start, _)| &output[start..]);
    format!("{}{CUT}{tail}", prefix(output, EACH))
}

#[cfg(test)]
#[path = "tally_tests.rs"]
mod tests;
