//! The wire format of `events.jsonl`: one JSON object per event, apart from the model so that it can be versioned alone.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use proctor_model::{
    AgentEvent, Cut, EventKind, McpServerSeen, ProviderFault, ProviderFaultKind, Reset, ToolCall,
    ToolResult, Usage,
};

/// A line to write.
#[derive(Serialize)]
pub(super) struct EventLine<'a>(#[serde(with = "WireEvent")] pub(super) &'a AgentEvent);

/// A line that was read.
#[derive(Deserialize)]
pub(super) struct ReadEvent(#[serde(with = "WireEvent")] pub(super) AgentEvent);

/// A line that is no event: so many were not kept because the log was full.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename = "dropped")]
pub(super) struct Dropped {
    #[serde(with = "at_ms")]
    pub(super) at_ms: Duration,
    pub(super) events: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "AgentEvent")]
struct WireEvent {
    #[serde(rename = "at_ms", with = "at_ms")]
    at: Duration,
    #[serde(flatten, with = "WireKind")]
    kind: EventKind,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "EventKind", tag = "type", rename_all = "snake_case")]
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
    #[serde(rename = "usage")]
    UsageSeen(#[serde(with = "WireUsage")] Usage),
    #[serde(rename = "cost")]
    CostSeen(#[serde(with = "usd")] f64),
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
    Cut(#[serde(with = "what")] Cut),
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

/// A time in milliseconds.
mod at_ms {
    use super::{Deserialize, Deserializer, Duration, Serializer};
    use serde::de::Error as _;

    pub(super) fn serialize<S: Serializer>(
        at: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(at.as_secs_f64() * 1e3)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let at_ms = f64::deserialize(from)?;
        Duration::try_from_secs_f64(at_ms / 1e3)
            .map_err(|_| D::Error::custom(format!("{at_ms} is no time")))
    }
}

/// A cost as `{"usd": ..}`.
mod usd {
    use super::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Cost {
        usd: f64,
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde gives the field as it is"
    )]
    pub(super) fn serialize<S: Serializer>(usd: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Cost { usd: *usd }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Cost::deserialize(from).map(|cost| cost.usd)
    }
}

/// What was cut as `{"what": ..}`.
mod what {
    use super::{Cut, Deserialize, Deserializer, Serialize, Serializer, WireCut};

    #[derive(Serialize, Deserialize)]
    struct Missing {
        #[serde(with = "WireCut")]
        what: Cut,
    }

    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde gives the field as it is"
    )]
    pub(super) fn serialize<S: Serializer>(what: &Cut, serializer: S) -> Result<S::Ok, S::Error> {
        Missing { what: *what }.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Cut, D::Error> {
        Missing::deserialize(from).map(|missing| missing.what)
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
