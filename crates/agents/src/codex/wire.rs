//! The lines of `codex exec --json`, as typed as they are needed.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::wire::{Count, Few, Loose, usage_with_cache_inside};
use proctor_model::Usage;

/// A line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) thread_id: Loose<String>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    pub(super) message: Loose<String>,
    pub(super) error: Loose<Message>,
}

/// `{message}`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    pub(super) message: String,
}

/// Tokens: cached and cache-write ones are part of `input_tokens`, reasoning is part of `output_tokens`. The two APIs
/// behind it have other names for the same, which a version may pass on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CodexUsage {
    input_tokens: Count,
    prompt_tokens: Count,
    cached_input_tokens: Count,
    cache_write_input_tokens: Count,
    input_tokens_details: Loose<InputDetails>,
    prompt_tokens_details: Loose<InputDetails>,
    output_tokens: Count,
    completion_tokens: Count,
}

/// `input_tokens_details`, `prompt_tokens_details`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

impl CodexUsage {
    /// Each token counted once; `None` where a count is unreadable or the main ones are missing.
    pub(crate) fn unified(&self) -> Option<Usage> {
        usage_with_cache_inside(
            self.input(),
            self.output_tokens.or(self.completion_tokens),
            self.cached_read(),
            self.cache_write(),
        )
    }

    fn input(&self) -> Count {
        self.input_tokens.or(self.prompt_tokens)
    }

    fn cached_read(&self) -> Count {
        self.details()
            .fold(self.cached_input_tokens, |known, details| {
                known.or(details.cached_tokens)
            })
    }

    fn cache_write(&self) -> Count {
        self.details()
            .fold(self.cache_write_input_tokens, |known, details| {
                known.or(details.cache_write_tokens)
            })
    }

    fn details(&self) -> impl Iterator<Item = &InputDetails> {
        let all = [&self.input_tokens_details, &self.prompt_tokens_details];
        all.into_iter().filter_map(|details| details.0.as_ref())
    }

    /// Whether the parts are more than the whole, which no honest count is.
    pub(super) fn contradicts_itself(&self) -> bool {
        let parts = self
            .cached_read()
            .value()
            .zip(self.cache_write().value())
            .map(|(read, write)| read.saturating_add(write));
        parts
            .zip(self.input().value())
            .is_some_and(|(parts, input)| parts > input)
    }
}

/// Id and type of an item. A web search repeats the key `id` (the search's own), so the first one counts.
#[derive(Debug)]
pub(super) struct ItemHead {
    pub(super) id: String,
    pub(super) kind: String,
}

impl<'de> Deserialize<'de> for ItemHead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ItemHeadVisitor)
    }
}

struct ItemHeadVisitor;

impl<'de> Visitor<'de> for ItemHeadVisitor {
    type Value = ItemHead;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut id: Option<String> = None;
        let mut kind: Option<String> = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" if id.is_none() => id = Some(map.next_value()?),
                "type" if kind.is_some() => return Err(A::Error::duplicate_field("type")),
                "type" => kind = Some(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(ItemHead {
            id: id.unwrap_or_default(),
            kind: kind.unwrap_or_default(),
        })
    }
}

/// `agent_message`, `reasoning`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Text {
    pub(super) text: String,
}

/// `command_execution`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
pub(super) struct Command {
    pub(super) command: String,
    pub(super) aggregated_output: Option<String>,
    pub(super) exit_code: Option<i32>,
    pub(super) status: Option<String>,
}

/// `file_change`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FileChange {
    pub(super) changes: Few<Change>,
    pub(super) status: Option<String>,
}

/// One changed file, written in this order.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Change {
    pub(super) kind: String,
    pub(super) path: String,
}

/// `mcp_tool_call`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct McpCall<'a> {
    pub(super) server: String,
    pub(super) tool: String,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
    pub(super) result: Option<McpAnswer>,
    pub(super) error: Option<Message>,
    pub(super) status: Option<String>,
}

/// The answer of an MCP tool.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct McpAnswer {
    pub(super) content: Loose<Few<McpBlock>>,
}

/// A block of an MCP answer.
#[derive(Debug, Deserialize)]
pub(super) struct McpBlock {
    pub(super) text: Option<String>,
}

/// `collab_tool_call`
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Collab {
    pub(super) tool: String,
    pub(super) prompt: Option<String>,
    pub(super) status: Option<String>,
}

/// `web_search`; its `id` keys are not read here.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WebSearch {
    pub(super) query: Loose<String>,
}
