//! Counts what an agent's stream tells, event by event in bounded memory, and makes the measures of a trial.

use std::ops::Range;
use std::time::Duration;

use crate::kept::Kept;
use crate::mcp_xcode::McpXcode;
use crate::shell::{base_name, shell_commands};
use crate::watched::StreamCall;
use crate::{ErrorClass, McpCallSeen, classify, mcp_server_and_tool, mcp_tools};
use proctor_model::{
    AgentEvent, ById, EventKind, Measures, STDERR_CALL, SeenIds, Side, ToolCall, ToolResult,
    id_hash,
};

/// So many MCP calls, watched commands and calls that follow an error are kept; further ones are counted.
const MOST_CALLS: usize = 100_000;
/// So many calls can be under way at once; an error of a further one has no name.
const MOST_OPEN: usize = 1_024;
/// Details of so many errors are kept; further ones are counted.
const MOST_ERRORS: usize = 10_000;
/// Arguments, command lines and payloads are kept up to this many bytes in all.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// Arguments of calls that are no MCP calls are kept up to here, in characters.
const LONGEST_ARGUMENTS: usize = 2_000;
/// The contract's limit of a payload, in characters.
const LONGEST_PAYLOAD: usize = 2_000;

/// Collects what a stream tells of tools. Of a call that is over, only what some row needs is kept.
#[derive(Debug, Default)]
pub struct Tally {
    pub(super) measures: Measures,
    pub(super) watched: Vec<String>,
    /// How many calls after an error are kept with it.
    pub(super) window: usize,
    /// The calls so far.
    pub(super) shown: usize,
    started: SeenIds,
    /// Calls that have not ended: few as a rule, and many where calls of a stream are never answered.
    open: ById<OpenCall>,
    /// Calls that follow an error.
    pub(super) followers: Kept<Follower>,
    /// Where the calls end that follow the last error.
    follow_until: usize,
    pub(super) mcp_calls: Kept<McpCallSeen>,
    pub(super) mcp_xcode: McpXcode,
    pub(super) stream: Vec<StreamCall>,
    pub(super) errors: Kept<SeenError>,
    pub(super) spent: usize,
    pub(super) last_at: Duration,
}

/// A call that has not ended.
#[derive(Debug)]
struct OpenCall {
    index: usize,
    name: String,
    is_mcp: bool,
    /// The watched commands in it, as places in `stream`.
    commands: Range<usize>,
}

/// A call that follows an error.
#[derive(Debug, Clone)]
pub(super) struct Follower {
    /// Its place among all calls.
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) arguments: String,
}

#[derive(Debug)]
pub(super) struct SeenError {
    pub(super) at: Duration,
    /// The call's place among all calls, and the name of its tool.
    pub(super) call: Option<(usize, String)>,
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
        Self::watching(&[], 0)
    }

    /// The same and of further commands, which are listed even if nobody calls them. So many calls are kept with an error that
    /// they follow.
    #[must_use]
    pub fn watching(further: &[String], window: usize) -> Self {
        let mut watched = vec!["xcodebuild".to_owned(), "xcrun".to_owned()];
        watched.extend_from_slice(further);
        Self {
            watched,
            window,
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
        if !call.id.is_empty() && !self.started.is_new(&call.id, Side::Begin) {
            return;
        }
        self.measures.tool_calls += 1;
        let index = self.shown;
        self.shown += 1;
        let mcp = mcp_parts(call);
        if let Some((server, tool)) = mcp {
            mcp_tools::count(&mut self.measures, server, tool, Some(at));
            let told = (server, tool, &*call.arguments);
            self.mcp_xcode.see(&mut self.measures, told);
            self.keep_mcp(server, tool, call, at);
        }
        if index < self.follow_until && self.followers.len() < MOST_CALLS {
            let longest = if mcp.is_some() {
                usize::MAX
            } else {
                LONGEST_ARGUMENTS
            };
            let arguments = self.kept(&call.arguments, longest);
            self.followers.push(&Follower {
                index,
                name: call.name.clone(),
                arguments,
            });
        }
        let first = self.stream.len();
        if let Some(command) = &call.command {
            self.look_into(command, at);
        }
        if !call.id.is_empty() && self.open.len() < MOST_OPEN {
            let open = OpenCall {
                index,
                name: call.name.clone(),
                is_mcp: mcp.is_some(),
                commands: first..self.stream.len(),
            };
            self.open.insert(id_hash(&call.id), open);
        }
    }

    fn keep_mcp(&mut self, server: &str, tool: &str, call: &ToolCall, at: Duration) {
        if self.mcp_calls.len() >= MOST_CALLS {
            return;
        }
        let arguments = self.kept(&call.arguments, usize::MAX);
        self.mcp_calls.push(&McpCallSeen {
            at,
            server: server.to_owned(),
            tool: tool.to_owned(),
            arguments,
        });
    }

    /// Finds the watched commands in a shown command line.
    fn look_into(&mut self, command: &str, at: Duration) {
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
            self.stream.push(StreamCall {
                at,
                since: self.last_at.min(at),
                until: None,
                command: name.clone(),
                argv: words,
                by_path: program.contains('/'),
            });
        }
    }

    fn tool_ended(&mut self, result: &ToolResult, at: Duration) {
        let call = self.open.remove(&id_hash(&result.id));
        if let Some(call) = &call {
            for command in &mut self.stream[call.commands.clone()] {
                command.until = Some(at);
            }
        } else if self.started.contains(&result.id, Side::Begin) {
            // It has ended before.
            return;
        }
        if result.is_error {
            self.count_error(call, result, at);
        }
    }

    fn count_error(&mut self, call: Option<OpenCall>, result: &ToolResult, at: Duration) {
        let mcp = call.as_ref().is_some_and(|call| call.is_mcp);
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
        self.follow_until = self.shown.saturating_add(self.window);
        self.errors.push(&SeenError {
            at,
            call: call.map(|call| (call.index, call.name)),
            mcp,
            on_stderr: result.id.starts_with(STDERR_CALL),
            payload,
            class,
            calls_before: self.shown,
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
    let mcp = call.mcp.as_ref();
    let told = mcp.map(|(server, tool)| (server.as_str(), tool.as_str()));
    told.or_else(|| mcp_server_and_tool(&call.name))
}

/// At most `longest` characters from the front.
fn prefix(text: &str, longest: usize) -> &str {
    if text.len() <= longest {
        return text;
    }
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
