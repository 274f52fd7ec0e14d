//! The wire format of `events.jsonl`: one JSON object per event, apart from the model so that it can be versioned alone.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use proctor_model::{
    AgentEvent, Cut, EventKind, McpServerSeen, ProviderFault, ProviderFaultKind, Reset, ToolCall,
    ToolResult, Usage,
};

/// One line: when, and what.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EventLine {
    at_ms: f64,
    #[serde(flatten)]
    kind: WireKind,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum WireKind {
    Started {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cli_version: Option<String>,
        #[serde(default, with = "servers")]
        mcp_servers: Vec<McpServerSeen>,
        #[serde(default)]
        tools: Vec<String>,
    },
    Message {
        text: String,
    },
    Reasoning {
        text: String,
    },
    ToolStarted(#[serde(with = "WireCall")] ToolCall),
    ToolEnded(#[serde(with = "WireResult")] ToolResult),
    FilesChanged {
        changes: Vec<(String, String)>,
        ok: bool,
    },
    Usage(#[serde(with = "WireUsage")] Usage),
    Cost {
        usd: f64,
    },
    ProviderFault(#[serde(with = "WireFault")] ProviderFault),
    Warning {
        text: String,
    },
    Finished {
        ok: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
    },
    Unknown {
        name: String,
    },
    Unparsed {
        reason: String,
    },
    Cut {
        #[serde(with = "WireCut")]
        what: Cut,
    },
    /// Not an event: so many were not kept because the log was full.
    Dropped {
        events: u64,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Cut", rename_all = "snake_case")]
enum WireCut {
    Words,
    Arguments,
    Output,
    List,
    Line,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolCall")]
struct WireCall {
    id: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mcp: Option<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    arguments: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolResult")]
struct WireResult {
    id: String,
    is_error: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    output: String,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Usage")]
struct WireUsage {
    uncached_input: u64,
    cached_read: u64,
    cache_write: u64,
    output: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ProviderFault")]
struct WireFault {
    #[serde(with = "WireFaultKind")]
    kind: ProviderFaultKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    message: String,
    fatal: bool,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "reset")]
    reset: Option<Reset>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ProviderFaultKind", rename_all = "snake_case")]
enum WireFaultKind {
    RateLimited,
    Overloaded,
    Auth,
    Unreachable,
    ContextOverflow,
    Refusal,
    Other,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireReset {
    AfterSec(u64, u32),
    At(i64),
    Clock(Option<(i8, i8, Option<i16>)>, i8, i8, Option<String>),
    Weekday(i8, i8, i8, Option<String>),
}

/// Servers as pairs of name and status.
mod servers {
    use super::{Deserialize, Deserializer, McpServerSeen, Serializer};

    pub(super) fn serialize<S: Serializer>(
        servers: &[McpServerSeen],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(servers.iter().map(|seen| (&seen.name, &seen.status)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<McpServerSeen>, D::Error> {
        let pairs = Vec::<(String, String)>::deserialize(deserializer)?.into_iter();
        Ok(pairs
            .map(|(name, status)| McpServerSeen { name, status })
            .collect())
    }
}

/// When a limit ends, as [`WireReset`].
mod reset {
    use super::{Deserialize, Deserializer, Reset, Serialize, Serializer, WireReset};

    #[expect(clippy::ref_option, reason = "serde gives the field as it is")]
    pub(super) fn serialize<S: Serializer>(
        reset: &Option<Reset>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        reset.clone().map(WireReset::new).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Reset>, D::Error> {
        let reset = Option::<WireReset>::deserialize(deserializer)?;
        Ok(reset.map(WireReset::read))
    }
}

impl EventLine {
    pub(super) fn new(event: &AgentEvent) -> Self {
        Self {
            at_ms: event.at.as_secs_f64() * 1e3,
            kind: WireKind::new(event.kind.clone()),
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

impl WireKind {
    fn new(kind: EventKind) -> Self {
        match kind {
            EventKind::Started {
                session,
                model,
                cli_version,
                mcp_servers,
                tools,
            } => Self::Started {
                session,
                model,
                cli_version,
                mcp_servers,
                tools,
            },
            EventKind::Message { text } => Self::Message { text },
            EventKind::Reasoning { text } => Self::Reasoning { text },
            EventKind::ToolStarted(call) => Self::ToolStarted(call),
            EventKind::ToolEnded(result) => Self::ToolEnded(result),
            EventKind::FilesChanged { changes, ok } => Self::FilesChanged { changes, ok },
            EventKind::UsageSeen(usage) => Self::Usage(usage),
            EventKind::CostSeen(usd) => Self::Cost { usd },
            EventKind::ProviderFault(fault) => Self::ProviderFault(fault),
            EventKind::Warning { text } => Self::Warning { text },
            EventKind::Finished { ok, answer } => Self::Finished { ok, answer },
            EventKind::Unknown { name } => Self::Unknown { name },
            EventKind::Unparsed { reason } => Self::Unparsed { reason },
            EventKind::Cut(what) => Self::Cut { what },
        }
    }

    fn read(self) -> Result<EventKind, u64> {
        Ok(match self {
            Self::Started {
                session,
                model,
                cli_version,
                mcp_servers,
                tools,
            } => EventKind::Started {
                session,
                model,
                cli_version,
                mcp_servers,
                tools,
            },
            Self::Message { text } => EventKind::Message { text },
            Self::Reasoning { text } => EventKind::Reasoning { text },
            Self::ToolStarted(call) => EventKind::ToolStarted(call),
            Self::ToolEnded(result) => EventKind::ToolEnded(result),
            Self::FilesChanged { changes, ok } => EventKind::FilesChanged { changes, ok },
            Self::Usage(usage) => EventKind::UsageSeen(usage),
            Self::Cost { usd } => EventKind::CostSeen(usd),
            Self::ProviderFault(fault) => EventKind::ProviderFault(fault),
            Self::Warning { text } => EventKind::Warning { text },
            Self::Finished { ok, answer } => EventKind::Finished { ok, answer },
            Self::Unknown { name } => EventKind::Unknown { name },
            Self::Unparsed { reason } => EventKind::Unparsed { reason },
            Self::Cut { what } => EventKind::Cut(what),
            Self::Dropped { events } => return Err(events),
        })
    }
}

impl WireReset {
    fn new(reset: Reset) -> Self {
        match reset {
            Reset::After(time) => Self::AfterSec(time.as_secs(), time.subsec_nanos()),
            Reset::At(second) => Self::At(second),
            Reset::Clock {
                day,
                hour,
                minute,
                zone,
            } => Self::Clock(day, hour, minute, zone),
            Reset::Weekday {
                weekday,
                hour,
                minute,
                zone,
            } => Self::Weekday(weekday, hour, minute, zone),
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
                zone,
            },
            Self::Weekday(weekday, hour, minute, zone) => Reset::Weekday {
                weekday,
                hour,
                minute,
                zone,
            },
        }
    }
}
