//! The lines of `codex exec --json`, as typed as they are needed.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::agents::wire::{Count, Few, Loose};
use crate::model::Usage;

/// A line.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) thread_id: Loose<String>,
    #[serde(borrow, default)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) message: Loose<String>,
    #[serde(default)]
    pub(super) error: Loose<Message>,
}

/// `{message}`
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    pub(super) message: String,
}

/// Tokens: cached and cache-write ones are part of `input_tokens`, reasoning is part of `output_tokens`. The two APIs
/// behind it have other names for the same, which a version may pass on.
#[derive(Debug, Default, Deserialize)]
pub(in crate::agents) struct CodexUsage {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    prompt_tokens: Count,
    #[serde(default)]
    cached_input_tokens: Count,
    #[serde(default)]
    cache_write_input_tokens: Count,
    #[serde(default)]
    input_tokens_details: Loose<InputDetails>,
    #[serde(default)]
    prompt_tokens_details: Loose<InputDetails>,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    completion_tokens: Count,
}

/// `input_tokens_details`, `prompt_tokens_details`
#[derive(Debug, Default, Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: Count,
    #[serde(default)]
    cache_write_tokens: Count,
}

impl CodexUsage {
    /// Each token counted once; `None` where a count is unreadable or the main ones are missing.
    pub(in crate::agents) fn unified(&self) -> Option<Usage> {
        let (input, output) = (self.input(), self.output());
        if input == Count::Absent && output == Count::Absent {
            return None;
        }
        let cached_read = self.cached_read().value()?;
        let cache_write = self.cache_write().value()?;
        let input = input.value()?;
        Some(Usage {
            uncached_input: input
                .saturating_sub(cached_read)
                .saturating_sub(cache_write),
            cached_read,
            cache_write,
            output: output.value()?,
        })
    }

    fn input(&self) -> Count {
        self.input_tokens.or(self.prompt_tokens)
    }

    fn output(&self) -> Count {
        self.output_tokens.or(self.completion_tokens)
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
#[derive(Debug, Deserialize)]
pub(super) struct Text {
    #[serde(default)]
    pub(super) text: String,
}

/// `command_execution`
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
pub(super) struct Command {
    #[serde(default)]
    pub(super) command: String,
    #[serde(default)]
    pub(super) aggregated_output: Option<String>,
    #[serde(default)]
    pub(super) exit_code: Option<i32>,
    #[serde(default)]
    pub(super) status: Option<String>,
}

/// `file_change`
#[derive(Debug, Deserialize)]
pub(super) struct FileChange {
    #[serde(default)]
    pub(super) changes: Few<Change>,
    #[serde(default)]
    pub(super) status: Option<String>,
}

/// One changed file, written in this order.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Change {
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) path: String,
}

/// `mcp_tool_call`
#[derive(Debug, Deserialize)]
pub(super) struct McpCall<'a> {
    #[serde(default)]
    pub(super) server: String,
    #[serde(default)]
    pub(super) tool: String,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) result: Option<McpAnswer>,
    #[serde(default)]
    pub(super) error: Option<Message>,
    #[serde(default)]
    pub(super) status: Option<String>,
}

/// The answer of an MCP tool.
#[derive(Debug, Deserialize)]
pub(super) struct McpAnswer {
    #[serde(default)]
    pub(super) content: Loose<Few<McpBlock>>,
}

/// A block of an MCP answer.
#[derive(Debug, Deserialize)]
pub(super) struct McpBlock {
    #[serde(default)]
    pub(super) text: Option<String>,
}

/// `collab_tool_call`
#[derive(Debug, Deserialize)]
pub(super) struct Collab {
    #[serde(default)]
    pub(super) tool: String,
    #[serde(default)]
    pub(super) prompt: Option<String>,
    #[serde(default)]
    pub(super) status: Option<String>,
}

/// `web_search`; its `id` keys are not read here.
#[derive(Debug, Deserialize)]
pub(super) struct WebSearch {
    #[serde(default)]
    pub(super) query: Loose<String>,
}
