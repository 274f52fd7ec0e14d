//! What a trial's tools amount to, once its stream has ended and the shims' log is read.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::iter::Peekable;
use std::time::Duration;

use crate::kept::{Keeps, Kept, Parts, no_such_thing};
use crate::mcp_xcode::McpXcode;
use crate::tally::{Follower, SeenError, Tally};
use crate::watched::{StreamCall, stream_only};
use crate::{ErrorClass, mcp_tools, xcode};
use proctor_model::{CallSource, CommandCall, McpServerCall, Measures, ToolErrorSeen};

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
#[derive(Debug, Default)]
pub struct Tallied {
    /// The numbers.
    pub measures: Measures,
    /// The errors; the first 10,000.
    pub errors: ToolErrors,
    /// Calls of watched commands that count although no shim saw them.
    pub stream_only_calls: Vec<CommandCall>,
    /// The MCP calls, of the first 100,000 calls.
    pub mcp_calls: Kept<McpCallSeen>,
    mcp_xcode: McpXcode,
}

/// Errors of tools, with the calls that followed each.
#[derive(Debug, Default)]
pub struct ToolErrors {
    seen: Kept<SeenError>,
    followers: Kept<Follower>,
    window: usize,
    agent_kind: String,
}

impl Keeps for McpCallSeen {
    fn put(&self, to: &mut Parts) {
        put_time(self.at, to);
        for text in [&self.server, &self.tool, &self.arguments] {
            to.text(text);
        }
    }

    fn take(from: &mut Parts) -> io::Result<Self> {
        Ok(Self {
            at: take_time(from)?,
            server: from.take_text()?,
            tool: from.take_text()?,
            arguments: from.take_text()?,
        })
    }
}

impl Keeps for Follower {
    fn put(&self, to: &mut Parts) {
        to.number(self.index as u64);
        to.text(&self.name);
        to.text(&self.arguments);
    }

    fn take(from: &mut Parts) -> io::Result<Self> {
        Ok(Self {
            index: take_place(from)?,
            name: from.take_text()?,
            arguments: from.take_text()?,
        })
    }
}

impl Keeps for SeenError {
    fn put(&self, to: &mut Parts) {
        put_time(self.at, to);
        to.number(u64::from(self.call.is_some()));
        if let Some((index, name)) = &self.call {
            to.number(*index as u64);
            to.text(name);
        }
        to.number(u64::from(self.mcp));
        to.number(u64::from(self.on_stderr));
        to.text(&self.payload);
        to.number(self.class as u64);
        to.number(self.calls_before as u64);
    }

    fn take(from: &mut Parts) -> io::Result<Self> {
        let at = take_time(from)?;
        let has_call = from.take_number()? == 1;
        Ok(Self {
            at,
            call: has_call
                .then(|| Ok::<_, io::Error>((take_place(from)?, from.take_text()?)))
                .transpose()?,
            mcp: from.take_number()? == 1,
            on_stderr: from.take_number()? == 1,
            payload: from.take_text()?,
            class: take_class(from)?,
            calls_before: take_place(from)?,
        })
    }
}

fn put_time(at: Duration, to: &mut Parts) {
    to.number(at.as_secs());
    to.number(at.subsec_nanos().into());
}

fn take_time(from: &mut Parts) -> io::Result<Duration> {
    let seconds = from.take_number()?;
    let nanos = u32::try_from(from.take_number()?).map_err(|_| no_such_thing())?;
    Ok(Duration::new(seconds, nanos))
}

fn take_place(from: &mut Parts) -> io::Result<usize> {
    usize::try_from(from.take_number()?).map_err(|_| no_such_thing())
}

fn take_class(from: &mut Parts) -> io::Result<ErrorClass> {
    let number = from.take_number()?;
    let mut classes = ErrorClass::ALL.into_iter();
    let class = classes.find(|class| *class as u64 == number);
    class.ok_or_else(no_such_thing)
}

impl Tally {
    /// Makes the measures, with what the shims saw. `agent_kind` names the source of errors.
    #[must_use]
    pub fn finish(self, calls: &[CommandCall], agent_kind: &str) -> Tallied {
        let mut measures = self.measures;
        let stream_only_calls = stream_only(calls, timed(self.stream));
        measure_commands(calls, &stream_only_calls, &self.watched, &mut measures);
        Tallied {
            errors: ToolErrors {
                seen: self.errors,
                followers: self.followers,
                window: self.window,
                agent_kind: agent_kind.to_owned(),
            },
            mcp_calls: self.mcp_calls,
            mcp_xcode: self.mcp_xcode,
            stream_only_calls,
            measures,
        }
    }
}

impl ToolErrors {
    /// Each error and its class, in their order.
    pub fn iter(&self) -> impl Iterator<Item = io::Result<(ToolErrorSeen, ErrorClass)>> + '_ {
        let mut after = After {
            coming: self.followers.iter().peekable(),
            near: VecDeque::new(),
        };
        self.seen.iter().map(move |error| {
            let error = error?;
            let until = error.calls_before.saturating_add(self.window);
            let next_calls = after.between(error.calls_before, until)?;
            let class = error.class;
            Ok((error.told(&self.agent_kind, next_calls), class))
        })
    }
}

/// Looks for the calls that follow one error after the other: few of them are in memory at a time.
struct After<I: Iterator> {
    coming: Peekable<I>,
    near: VecDeque<Follower>,
}

impl<I: Iterator<Item = io::Result<Follower>>> After<I> {
    /// The names and arguments of the calls from one place on, up to another; neither is before that of an earlier question.
    fn between(&mut self, from: usize, until: usize) -> io::Result<Vec<(String, String)>> {
        self.near.retain(|call| call.index >= from);
        let is_near = |call: &io::Result<Follower>| match call {
            Ok(call) => call.index < until,
            Err(_) => true,
        };
        while let Some(call) = self.coming.next_if(is_near) {
            self.near.push_back(call?);
        }
        let calls = self
            .near
            .iter()
            .filter(|call| (from..until).contains(&call.index));
        Ok(calls
            .map(|call| (call.name.clone(), call.arguments.clone()))
            .collect())
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
    xcode::measure(&calls().collect::<Vec<_>>(), measures);
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
                let simctl =
                    xcode::run_by_xcrun(&call.argv).is_some_and(|(tool, _)| tool == "simctl");
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
            mcp_tools::count(&mut self.measures, &call.server, &call.tool, call.at);
            let told = (
                call.server.as_str(),
                call.tool.as_str(),
                call.arguments.as_str(),
            );
            self.mcp_xcode.see(&mut self.measures, told);
            self.mcp_calls.push(&McpCallSeen {
                at: call.at.unwrap_or_default(),
                server: call.server,
                tool: call.tool,
                arguments: call.arguments,
            });
        }
    }
}
