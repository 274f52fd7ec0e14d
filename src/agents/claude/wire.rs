//! The lines of Claude Code's `stream-json`, as typed as they are needed.

use std::fmt;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::agents::claude::counts::ClaudeUsage;
use crate::agents::wire::{Few, Loose, ServerState};

/// `system` of any subtype.
#[derive(Debug, Deserialize)]
pub(super) struct System {
    #[serde(default)]
    pub(super) session_id: Loose<String>,
    #[serde(default)]
    pub(super) model: Loose<String>,
    #[serde(default, alias = "qwen_code_version")]
    pub(super) claude_code_version: Loose<String>,
    #[serde(default)]
    pub(super) mcp_servers: Loose<Few<ServerState>>,
    #[serde(default)]
    pub(super) tools: Loose<Few<String>>,
    #[serde(default)]
    pub(super) error_status: Loose<u16>,
    #[serde(default)]
    pub(super) error: Loose<String>,
    #[serde(default)]
    pub(super) message: Loose<String>,
    #[serde(default)]
    pub(super) tool_name: Loose<String>,
    #[serde(default)]
    pub(super) tasks: Loose<Few<IgnoredAny>>,
    #[serde(default)]
    pub(super) data: Loose<RetryData>,
}

/// What Qwen Code tells of a request that is tried again.
#[derive(Debug, Deserialize)]
pub(super) struct RetryData {
    #[serde(rename = "delayMs", default)]
    pub(super) delay_ms: Loose<u64>,
}

/// `assistant` and `user`.
#[derive(Debug, Deserialize)]
pub(super) struct Turn<'a> {
    #[serde(borrow)]
    pub(super) message: Message<'a>,
    #[serde(default)]
    pub(super) parent_tool_use_id: Option<String>,
    #[serde(default)]
    pub(super) error: Loose<String>,
    #[serde(default, alias = "isApiErrorMessage")]
    pub(super) is_api_error_message: Option<bool>,
    #[serde(default)]
    pub(super) api_error_status: Loose<u16>,
    #[serde(default)]
    pub(super) api_error_type: Loose<String>,
    /// The answer that the provider refused to go on with.
    #[serde(default)]
    pub(super) refused_message_id: Loose<String>,
}

/// The message of a turn: one block of it, as a rule.
#[derive(Debug, Deserialize)]
pub(super) struct Message<'a> {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(borrow, default)]
    pub(super) content: Content<'a>,
    #[serde(default)]
    pub(super) usage: Loose<ClaudeUsage>,
}

/// Content: a text, or blocks that are read one by one.
#[derive(Debug)]
pub(super) enum Content<'a> {
    /// A bare text.
    Text(String),
    /// Blocks, each to be read on its own.
    Blocks(Vec<&'a RawValue>),
}

impl Default for Content<'_> {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a text or a list of blocks")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(text.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        let blocks =
            Few::<&'de RawValue>::deserialize(serde::de::value::SeqAccessDeserializer::new(list))?;
        Ok(Content::Blocks(blocks.0))
    }
}

/// A block of a message: what blocks of all types hold.
#[derive(Debug, Deserialize)]
pub(super) struct Block<'a> {
    #[serde(rename = "type", default)]
    pub(super) kind: Option<String>,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) thinking: Option<String>,
    /// Of a call.
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(borrow, default)]
    pub(super) input: Option<&'a RawValue>,
    /// Of the call that is answered.
    #[serde(default)]
    pub(super) tool_use_id: Option<String>,
    #[serde(borrow, default)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) is_error: Option<bool>,
}

/// `stream_event`, printed with `--include-partial-messages`.
#[derive(Debug, Deserialize)]
pub(super) struct Partial {
    #[serde(default)]
    pub(super) event: Loose<PartialEvent>,
    #[serde(default)]
    pub(super) api_message_id: Loose<String>,
}

/// The API's event: only those that tell usage are of interest.
#[derive(Debug, Deserialize)]
pub(super) struct PartialEvent {
    #[serde(default)]
    pub(super) message: Loose<PartialMessage>,
    #[serde(default)]
    pub(super) usage: Loose<ClaudeUsage>,
}

/// The message of `message_start`.
#[derive(Debug, Deserialize)]
pub(super) struct PartialMessage {
    #[serde(default)]
    pub(super) id: Loose<String>,
    #[serde(default)]
    pub(super) model: Loose<String>,
    #[serde(default)]
    pub(super) usage: Loose<ClaudeUsage>,
}

/// `rate_limit_event`
#[derive(Debug, Deserialize)]
pub(super) struct RateLimit {
    #[serde(default)]
    pub(super) rate_limit_info: Loose<RateLimitInfo>,
}

/// What a `rate_limit_event` tells.
#[derive(Debug, Deserialize)]
pub(super) struct RateLimitInfo {
    #[serde(default)]
    pub(super) status: Loose<String>,
    #[serde(rename = "resetsAt", alias = "resets_at", default)]
    pub(super) resets_at: Loose<u64>,
}

/// `result`. What decides is typed strictly, so that a doubled key or an impossible number spoils the line.
#[derive(Debug, Deserialize)]
pub(super) struct Final<'a> {
    #[serde(default)]
    pub(super) subtype: Option<String>,
    #[serde(default)]
    pub(super) is_error: Option<bool>,
    #[serde(default)]
    pub(super) result: Option<String>,
    #[serde(default)]
    pub(super) total_cost_usd: Option<f64>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(rename = "modelUsage", borrow, default)]
    pub(super) model_usage: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) api_error_status: Loose<u16>,
    #[serde(default)]
    pub(super) api_error_type: Loose<String>,
    #[serde(default)]
    pub(super) terminal_reason: Loose<String>,
    #[serde(default)]
    pub(super) stop_reason: Loose<String>,
    #[serde(default)]
    pub(super) errors: Loose<Few<String>>,
    #[serde(default)]
    pub(super) permission_denials: Loose<Few<Denial>>,
    #[serde(default)]
    pub(super) error: Loose<FinalError>,
}

/// The failure of a result, as Qwen Code tells it.
#[derive(Debug, Deserialize)]
pub(super) struct FinalError {
    #[serde(default)]
    pub(super) message: Loose<String>,
}

/// A call that the permission mode refused.
#[derive(Debug, Deserialize)]
pub(super) struct Denial {
    #[serde(default)]
    pub(super) tool_name: Loose<String>,
}
