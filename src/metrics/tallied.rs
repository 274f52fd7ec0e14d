//! What a trial's tools amount to, once its stream has ended and the shims' log is read.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::metrics::tally::{SeenError, Tally};
use crate::metrics::watched::{StreamCall, stream_only};
use crate::metrics::{ErrorClass, mcp_tools, xcode};
use crate::model::{CallSource, CommandCall, McpServerCall, Measures, ToolErrorSeen};

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
    /// Calls of watched commands that count although no shim saw them.
    pub stream_only_calls: Vec<CommandCall>,
    /// The MCP calls, of the first 100,000 calls.
    pub mcp_calls: Vec<McpCallSeen>,
}

impl Tally {
    /// Makes the measures, with what the shims saw. `agent_kind` names the source of errors.
    #[must_use]
    pub fn finish(self, calls: &[CommandCall], agent_kind: &str) -> Tallied {
        let mut measures = self.measures;
        let stream_only_calls = stream_only(calls, timed(self.stream));
        measure_commands(calls, &stream_only_calls, &self.watched, &mut measures);
        let after = |error: &SeenError| {
            let until = error.calls_before.saturating_add(self.window);
            let calls = self.followers.range(error.calls_before..until);
            calls.map(|(_, call)| call.clone()).collect()
        };
        let classes = self.errors.iter().map(|error| error.class).collect();
        let errors = self.errors.into_iter().map(|error| {
            let next_calls = after(&error);
            error.told(agent_kind, next_calls)
        });
        Tallied {
            errors: errors.collect(),
            classes,
            mcp_calls: self.mcp_calls,
            stream_only_calls,
            measures,
        }
    }
}

impl SeenError {
    fn told(self, agent_kind: &str, next_calls: Vec<(String, String)>) -> ToolErrorSeen {
        let unknown = (self.calls_before, "unknown".to_owned());
        let (call_index, tool_name) = self.call.unwrap_or(unknown);
        ToolErrorSeen {
            at_sec: self.at.as_secs_f64(),
            tool_name,
            mcp: self.mcp,
            source: if self.on_stderr {
                format!("{agent_kind}/stderr")
            } else {
                agent_kind.to_owned()
            },
            payload: self.payload,
            call_index,
            next_calls,
        }
    }
}

/// A CLI that shows a call only when it is over shows start and end at once: the call may then have begun as early as the
/// event before.
fn timed(stream: Vec<StreamCall>) -> Vec<StreamCall> {
    const AT_ONCE: Duration = Duration::from_millis(5);
    let timed = stream.into_iter().map(|mut call| {
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
