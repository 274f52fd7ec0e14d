//! The wire format of `events.jsonl`: one JSON object per event, apart from the model so that it can be versioned alone.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use proctor_model::{
    AgentEvent, Cut, EventKind, McpServerSeen, ProviderFault, ProviderFaultKind, Reset, ToolCall,
    ToolResult, Usage,
};

type Text<'a> = Cow<'a, str>;

/// One line: when, and what.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EventLine<'a> {
    at_ms: f64,
    #[serde(flatten)]
    kind: WireKind<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireKind<'a> {
    Started(WireStarted<'a>),
    Message {
        text: Text<'a>,
    },
    Reasoning {
        text: Text<'a>,
    },
    ToolStarted(WireCall<'a>),
    ToolEnded(WireResult<'a>),
    FilesChanged {
        changes: Cow<'a, [(String, String)]>,
        ok: bool,
    },
    Usage(WireUsage),
    Cost {
        usd: f64,
    },
    ProviderFault(WireFault<'a>),
    Warning {
        text: Text<'a>,
    },
    Finished {
        ok: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<Text<'a>>,
    },
    Unknown {
        name: Text<'a>,
    },
    Unparsed {
        reason: Text<'a>,
    },
    Cut {
        what: WireCut,
    },
    /// Not an event: so many were not kept because the log was full.
    Dropped {
        events: u64,
    },
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireCut {
    Words,
    Arguments,
    Output,
    List,
    Line,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireStarted<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Text<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cli_version: Option<Text<'a>>,
    #[serde(default)]
    mcp_servers: Vec<(Text<'a>, Text<'a>)>,
    #[serde(default)]
    tools: Cow<'a, [String]>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireCall<'a> {
    id: Text<'a>,
    name: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mcp: Option<(Text<'a>, Text<'a>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<Text<'a>>,
    arguments: Text<'a>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<Text<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireResult<'a> {
    id: Text<'a>,
    is_error: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    output: Text<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireUsage {
    uncached_input: u64,
    cached_read: u64,
    cache_write: u64,
    output: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireFault<'a> {
    kind: WireFaultKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    message: Text<'a>,
    fatal: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reset: Option<WireReset<'a>>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireReset<'a> {
    AfterSec(u64, u32),
    At(i64),
    Clock(Option<(i8, i8, Option<i16>)>, i8, i8, Option<Text<'a>>),
    Weekday(i8, i8, i8, Option<Text<'a>>),
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireFaultKind {
    RateLimited,
    Overloaded,
    Auth,
    Unreachable,
    ContextOverflow,
    Refusal,
    Other,
}

impl<'a> EventLine<'a> {
    pub(super) fn new(event: &'a AgentEvent) -> Self {
        Self {
            at_ms: event.at.as_secs_f64() * 1e3,
            kind: WireKind::new(&event.kind),
        }
    }

    pub(super) fn dropped(at: Duration, events: u64) -> Self {
        Self {
            at_ms: at.as_secs_f64() * 1e3,
            kind: WireKind::Dropped { events },
        }
    }

    /// The event, or how many events were dropped, or why it is neither.
    pub(super) fn read(self) -> Result<Result<AgentEvent, u64>, String> {
        let at = Duration::try_from_secs_f64(self.at_ms / 1e3)
            .map_err(|_| format!("at_ms: {} is no time", self.at_ms))?;
        Ok(self.kind.read().map(|kind| AgentEvent { at, kind }))
    }
}

impl<'a> WireKind<'a> {
    fn new(kind: &'a EventKind) -> Self {
        match kind {
            EventKind::Started { .. } => Self::Started(WireStarted::new(kind)),
            EventKind::Message { text } => Self::Message { text: text.into() },
            EventKind::Reasoning { text } => Self::Reasoning { text: text.into() },
            EventKind::ToolStarted(call) => Self::ToolStarted(WireCall::new(call)),
            EventKind::ToolEnded(result) => Self::ToolEnded(WireResult::new(result)),
            EventKind::FilesChanged { changes, ok } => Self::FilesChanged {
                changes: changes.into(),
                ok: *ok,
            },
            EventKind::UsageSeen(usage) => Self::Usage(WireUsage::new(usage)),
            EventKind::CostSeen(usd) => Self::Cost { usd: *usd },
            EventKind::ProviderFault(fault) => Self::ProviderFault(WireFault::new(fault)),
            EventKind::Warning { text } => Self::Warning { text: text.into() },
            EventKind::Finished { ok, answer } => Self::Finished {
                ok: *ok,
                answer: answer.as_deref().map(Into::into),
            },
            EventKind::Unknown { name } => Self::Unknown { name: name.into() },
            EventKind::Unparsed { reason } => Self::Unparsed {
                reason: reason.into(),
            },
            EventKind::Cut(what) => Self::Cut {
                what: WireCut::new(*what),
            },
        }
    }

    fn read(self) -> Result<EventKind, u64> {
        Ok(match self {
            Self::Started(started) => started.read(),
            Self::Message { text } => EventKind::Message { text: text.into() },
            Self::Reasoning { text } => EventKind::Reasoning { text: text.into() },
            Self::ToolStarted(call) => EventKind::ToolStarted(call.read()),
            Self::ToolEnded(result) => EventKind::ToolEnded(result.read()),
            Self::FilesChanged { changes, ok } => EventKind::FilesChanged {
                changes: changes.into_owned(),
                ok,
            },
            Self::Usage(usage) => EventKind::UsageSeen(usage.read()),
            Self::Cost { usd } => EventKind::CostSeen(usd),
            Self::ProviderFault(fault) => EventKind::ProviderFault(fault.read()),
            Self::Warning { text } => EventKind::Warning { text: text.into() },
            Self::Finished { ok, answer } => EventKind::Finished {
                ok,
                answer: answer.map(Into::into),
            },
            Self::Unknown { name } => EventKind::Unknown { name: name.into() },
            Self::Unparsed { reason } => EventKind::Unparsed {
                reason: reason.into(),
            },
            Self::Cut { what } => EventKind::Cut(what.read()),
            Self::Dropped { events } => return Err(events),
        })
    }
}

impl WireCut {
    fn new(what: Cut) -> Self {
        match what {
            Cut::Words => Self::Words,
            Cut::Arguments => Self::Arguments,
            Cut::Output => Self::Output,
            Cut::List => Self::List,
            Cut::Line => Self::Line,
        }
    }

    fn read(self) -> Cut {
        match self {
            Self::Words => Cut::Words,
            Self::Arguments => Cut::Arguments,
            Self::Output => Cut::Output,
            Self::List => Cut::List,
            Self::Line => Cut::Line,
        }
    }
}

impl<'a> WireStarted<'a> {
    /// `kind` is `Started`; any other kind gives an empty one.
    fn new(kind: &'a EventKind) -> Self {
        let mut wire = Self {
            session: None,
            model: None,
            cli_version: None,
            mcp_servers: Vec::new(),
            tools: Cow::Borrowed(&[]),
        };
        if let EventKind::Started {
            session,
            model,
            cli_version,
            mcp_servers,
            tools,
        } = kind
        {
            let pair = |seen: &'a McpServerSeen| ((&seen.name).into(), (&seen.status).into());
            wire.session = session.as_deref().map(Into::into);
            wire.model = model.as_deref().map(Into::into);
            wire.cli_version = cli_version.as_deref().map(Into::into);
            wire.mcp_servers = mcp_servers.iter().map(pair).collect();
            wire.tools = tools.into();
        }
        wire
    }

    fn read(self) -> EventKind {
        let seen = |(name, status): (Text<'a>, Text<'a>)| McpServerSeen {
            name: name.into(),
            status: status.into(),
        };
        EventKind::Started {
            session: self.session.map(Into::into),
            model: self.model.map(Into::into),
            cli_version: self.cli_version.map(Into::into),
            mcp_servers: self.mcp_servers.into_iter().map(seen).collect(),
            tools: self.tools.into_owned(),
        }
    }
}

impl<'a> WireCall<'a> {
    fn new(call: &'a ToolCall) -> Self {
        let mcp = call.mcp.as_ref();
        Self {
            id: (&call.id).into(),
            name: (&call.name).into(),
            mcp: mcp.map(|(server, tool)| (server.into(), tool.into())),
            command: call.command.as_deref().map(Into::into),
            arguments: (&call.arguments).into(),
            parent: call.parent.as_deref().map(Into::into),
        }
    }

    fn read(self) -> ToolCall {
        ToolCall {
            id: self.id.into(),
            name: self.name.into(),
            mcp: self.mcp.map(|(server, tool)| (server.into(), tool.into())),
            command: self.command.map(Into::into),
            arguments: self.arguments.into(),
            parent: self.parent.map(Into::into),
        }
    }
}

impl<'a> WireResult<'a> {
    fn new(result: &'a ToolResult) -> Self {
        Self {
            id: (&result.id).into(),
            is_error: result.is_error,
            exit_code: result.exit_code,
            output: (&result.output).into(),
        }
    }

    fn read(self) -> ToolResult {
        ToolResult {
            id: self.id.into(),
            is_error: self.is_error,
            exit_code: self.exit_code,
            output: self.output.into(),
        }
    }
}

impl WireUsage {
    fn new(usage: &Usage) -> Self {
        Self {
            uncached_input: usage.uncached_input,
            cached_read: usage.cached_read,
            cache_write: usage.cache_write,
            output: usage.output,
        }
    }

    fn read(&self) -> Usage {
        Usage {
            uncached_input: self.uncached_input,
            cached_read: self.cached_read,
            cache_write: self.cache_write,
            output: self.output,
        }
    }
}

impl<'a> WireFault<'a> {
    fn new(fault: &'a ProviderFault) -> Self {
        Self {
            kind: match fault.kind {
                ProviderFaultKind::RateLimited => WireFaultKind::RateLimited,
                ProviderFaultKind::Overloaded => WireFaultKind::Overloaded,
                ProviderFaultKind::Auth => WireFaultKind::Auth,
                ProviderFaultKind::Unreachable => WireFaultKind::Unreachable,
                ProviderFaultKind::ContextOverflow => WireFaultKind::ContextOverflow,
                ProviderFaultKind::Refusal => WireFaultKind::Refusal,
                ProviderFaultKind::Other => WireFaultKind::Other,
            },
            status: fault.status,
            message: (&fault.message).into(),
            fatal: fault.fatal,
            reset: fault.reset.as_ref().map(WireReset::new),
        }
    }

    fn read(self) -> ProviderFault {
        ProviderFault {
            kind: match self.kind {
                WireFaultKind::RateLimited => ProviderFaultKind::RateLimited,
                WireFaultKind::Overloaded => ProviderFaultKind::Overloaded,
                WireFaultKind::Auth => ProviderFaultKind::Auth,
                WireFaultKind::Unreachable => ProviderFaultKind::Unreachable,
                WireFaultKind::ContextOverflow => ProviderFaultKind::ContextOverflow,
                WireFaultKind::Refusal => ProviderFaultKind::Refusal,
                WireFaultKind::Other => ProviderFaultKind::Other,
            },
            status: self.status,
            message: self.message.into(),
            fatal: self.fatal,
            reset: self.reset.map(WireReset::read),
        }
    }
}

impl<'a> WireReset<'a> {
    fn new(reset: &'a Reset) -> Self {
        match reset {
            Reset::After(time) => Self::AfterSec(time.as_secs(), time.subsec_nanos()),
            Reset::At(second) => Self::At(*second),
            Reset::Clock {
                day,
                hour,
                minute,
                zone,
            } => Self::Clock(*day, *hour, *minute, zone.as_deref().map(Cow::Borrowed)),
            Reset::Weekday {
                weekday,
                hour,
                minute,
                zone,
            } => {
                let zone = zone.as_deref().map(Cow::Borrowed);
                Self::Weekday(*weekday, *hour, *minute, zone)
            }
        }
    }

    fn read(self) -> Reset {
        match self {
            Self::AfterSec(seconds, nanos) => {
                Reset::After(Duration::from_secs(seconds) + Duration::from_nanos(nanos.into()))
            }
            Self::At(second) => Reset::At(second),
            Self::Clock(day, hour, minute, zone) => Reset::Clock {
                day,
                hour,
                minute,
                zone: zone.map(Cow::into_owned),
            },
            Self::Weekday(weekday, hour, minute, zone) => Reset::Weekday {
                weekday,
                hour,
                minute,
                zone: zone.map(Cow::into_owned),
            },
        }
    }
}
