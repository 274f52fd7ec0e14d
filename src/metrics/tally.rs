//! Counts what an agent's stream tells, event by event in bounded memory, and makes the measures of a trial.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::metrics::shell::{base_name, shell_commands};
use crate::metrics::watched::{StreamCall, stream_only};
use crate::metrics::{Drives, ErrorClass, classify, mcp_server_and_tool, mcp_tool, xcode};
use crate::model::{
    AgentEvent, CallSource, CommandCall, ErrorContext, EventKind, Measures, ToolCall,
    ToolErrorSeen, ToolResult,
};

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
    measures: Measures,
    watched: Vec<String>,
    calls: Vec<SeenCall>,
    by_id: HashMap<String, usize>,
    stream: Vec<(usize, StreamCall)>,
    errors: Vec<SeenError>,
    spent: usize,
    last_at: Duration,
}

#[derive(Debug)]
struct SeenCall {
    at: Duration,
    until: Option<Duration>,
    name: String,
    mcp: Option<(String, String)>,
    arguments: String,
}

#[derive(Debug)]
struct SeenError {
    at: Duration,
    call: Option<usize>,
    mcp: bool,
    payload: String,
    class: ErrorClass,
    /// How many calls had been shown when the error came.
    calls_before: usize,
}

/// An MCP tool call of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpCallSeen {
    /// When, since the agent's start.
    pub at: Duration,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The arguments as JSON text; empty if they were too long to keep.
    pub arguments: String,
}

/// What a trial's tools amount to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tallied {
    /// The numbers.
    pub measures: Measures,
    /// The errors; the first 10,000.
    pub errors: Vec<ToolErrorSeen>,
    /// The class of each error.
    pub classes: Vec<ErrorClass>,
    /// The calls that followed each error.
    pub contexts: Vec<ErrorContext>,
    /// Calls of watched commands that count although no shim saw them.
    pub stream_only_calls: Vec<CommandCall>,
    /// The MCP calls, of the first 100,000 calls.
    pub mcp_calls: Vec<McpCallSeen>,
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
            self.count_mcp(server, tool, at);
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

    fn count_mcp(&mut self, server: &str, tool: &str, at: Duration) {
        let measures = &mut self.measures;
        measures.mcp_tool_calls += 1;
        let Some(tool) = mcp_tool(server, tool) else {
            return;
        };
        match tool.drives {
            Drives::Xcodebuild => measures.mcp_xcodebuild_calls += 1,
            Drives::Simctl => measures.mcp_simctl_calls += 1,
        }
        if tool.builds && measures.time_to_first_mcp_build_sec.is_none() {
            measures.time_to_first_mcp_build_sec = Some(at.as_secs_f64());
        }
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

    /// Makes the measures, with what the shims saw. `agent_kind` names the source of errors, and
    /// `context_calls` is how many calls after each error are kept.
    #[must_use]
    pub fn finish(self, calls: &[CommandCall], agent_kind: &str, context_calls: usize) -> Tallied {
        let mut measures = self.measures;
        let stream = timed(self.stream, &self.calls);
        let stream_only_calls = stream_only(calls, stream);
        measure_commands(calls, &stream_only_calls, &self.watched, &mut measures);
        let errors: Vec<ToolErrorSeen> = self
            .errors
            .iter()
            .map(|error| error.told(&self.calls, agent_kind))
            .collect();
        let after = |error: &SeenError| next_calls(&self.calls, error.calls_before, context_calls);
        let contexts = errors
            .iter()
            .zip(&self.errors)
            .map(|(told, error)| ErrorContext {
                error: told.clone(),
                next_calls: after(error),
            });
        Tallied {
            contexts: contexts.collect(),
            classes: self.errors.iter().map(|error| error.class).collect(),
            mcp_calls: self
                .calls
                .into_iter()
                .filter_map(SeenCall::into_mcp)
                .collect(),
            errors,
            stream_only_calls,
            measures,
        }
    }
}

impl SeenCall {
    fn into_mcp(self) -> Option<McpCallSeen> {
        let (server, tool) = self.mcp?;
        Some(McpCallSeen {
            at: self.at,
            server,
            tool,
            arguments: self.arguments,
        })
    }
}

impl SeenError {
    fn told(&self, calls: &[SeenCall], agent_kind: &str) -> ToolErrorSeen {
        let call = self.call.and_then(|index| calls.get(index));
        ToolErrorSeen {
            at_sec: self.at.as_secs_f64(),
            tool_name: call.map_or_else(|| "unknown".to_owned(), |call| call.name.clone()),
            mcp: self.mcp,
            source: agent_kind.to_owned(),
            payload: self.payload.clone(),
            call_index: self.call.unwrap_or(self.calls_before),
        }
    }
}

/// Server and tool of an MCP call, by what the adapter says or by the name.
fn mcp_parts(call: &ToolCall) -> Option<(&str, &str)> {
    match &call.mcp {
        Some((server, tool)) => Some((server, tool)),
        None => mcp_server_and_tool(&call.name),
    }
}

/// Gives the calls of the stream the end of their tool call. A CLI that shows a call only when it is over shows
/// start and end at once: the call may then have begun as early as the event before.
fn timed(stream: Vec<(usize, StreamCall)>, calls: &[SeenCall]) -> Vec<StreamCall> {
    const AT_ONCE: Duration = Duration::from_millis(5);
    let timed = stream.into_iter().map(|(index, mut call)| {
        call.until = calls.get(index).and_then(|call| call.until);
        let at_once = call
            .until
            .is_some_and(|until| until.saturating_sub(call.at) <= AT_ONCE);
        if !at_once {
            call.since = call.at;
        }
        call
    });
    timed.collect()
}

fn measure_commands(
    shims: &[CommandCall],
    stream_only: &[CommandCall],
    watched: &[String],
    measures: &mut Measures,
) {
    let by_agent = |call: &&CommandCall| call.source == CallSource::Agent;
    let calls = || shims.iter().filter(by_agent).chain(stream_only);
    xcode::measure(
        calls().filter(|call| call.command == "xcodebuild"),
        measures,
    );
    let mut further: BTreeMap<String, u64> = watched
        .iter()
        .skip(2)
        .map(|name| (name.clone(), 0))
        .collect();
    for call in calls() {
        match call.command.as_str() {
            "xcodebuild" => {}
            "xcrun" => {
                measures.xcrun_calls += 1;
                let simctl = call.argv.first().is_some_and(|word| word == "simctl");
                measures.simctl_calls += u64::from(simctl);
            }
            name => *further.entry(name.to_owned()).or_default() += 1,
        }
    }
    measures.command_calls = further.into_iter().collect();
}

fn next_calls(calls: &[SeenCall], from: usize, count: usize) -> Vec<(String, String)> {
    let pair = |call: &SeenCall| (call.name.clone(), call.arguments.clone());
    calls.iter().skip(from).take(count).map(pair).collect()
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
