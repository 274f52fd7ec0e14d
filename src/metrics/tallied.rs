//! What a trial's tools amount to, once its stream has ended and the shims' log is read.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::metrics::tally::{SeenCall, SeenError, Tally};
use crate::metrics::watched::{StreamCall, stream_only};
use crate::metrics::{ErrorClass, mcp_tools, xcode};
use crate::model::{CallSource, CommandCall, ErrorContext, McpServerCall, Measures, ToolErrorSeen};

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
            source: if self.on_stderr {
                format!("{agent_kind}/stderr")
            } else {
                agent_kind.to_owned()
            },
            payload: self.payload.clone(),
            call_index: self.call.unwrap_or(self.calls_before),
        }
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

impl Tallied {
    /// Takes in calls that an MCP server logged itself, in their order: for agents whose stream shows no MCP calls.
    pub fn add_server_calls(&mut self, calls: Vec<McpServerCall>) {
        for call in calls {
            mcp_tools::count(&mut self.measures, (&call.server, &call.tool), call.at);
            self.mcp_calls.push(McpCallSeen {
                at: call.at.unwrap_or_default(),
                server: call.server,
                tool: call.tool,
                arguments: call.arguments,
            });
        }
    }
}
