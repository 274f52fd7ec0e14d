//! Token counts of which the input includes what was read from a cache and written to one, under the names of all APIs.

use serde::Deserialize;

use crate::wire::{Count, Loose};
use proctor_model::Usage;

/// Tokens as a client passes them on; reasoning is part of the output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenCounts {
    #[serde(
        alias = "prompt_tokens",
        alias = "inputTokens",
        alias = "promptTokenCount"
    )]
    input_tokens: Count,
    #[serde(
        alias = "completion_tokens",
        alias = "outputTokens",
        alias = "candidatesTokenCount"
    )]
    output_tokens: Count,
    #[serde(
        alias = "cached",
        alias = "cacheReadTokens",
        alias = "cachedContentTokenCount"
    )]
    cached_input_tokens: Count,
    #[serde(alias = "cacheWriteTokens")]
    cache_write_input_tokens: Count,
    #[serde(alias = "prompt_tokens_details")]
    input_tokens_details: Loose<InputDetails>,
    total_tokens: Count,
    /// The model, where it stands beside its tokens.
    pub(super) model: Loose<String>,
}

/// Parts of the input.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct InputDetails {
    cached_tokens: Count,
    cache_write_tokens: Count,
}

impl TokenCounts {
    /// Each token counted once; `None` where a count is unreadable or the main ones are missing.
    pub(super) fn unified(&self) -> Option<Usage> {
        let [read, write] = self.cache();
        usage_with_cache_inside(self.input_tokens, self.output_tokens, read, write)
    }

    /// The same where the total alone counts the thoughts, as Gemini CLI tells it.
    pub(super) fn with_thoughts(&self) -> Option<Usage> {
        let told = self.unified()?;
        let input = self.input_tokens.value()?;
        let beyond_input = self.total_tokens.value()?.saturating_sub(input);
        Some(Usage {
            output: told.output.max(beyond_input),
            ..told
        })
    }

    /// Tokens read from a cache, and written to one.
    fn cache(&self) -> [Count; 2] {
        let details = self.input_tokens_details.0.unwrap_or_default();
        [
            self.cached_input_tokens.or(details.cached_tokens),
            self.cache_write_input_tokens.or(details.cache_write_tokens),
        ]
    }

    /// Whether the parts are more than the whole, which no honest count is.
    pub(super) fn contradicts_itself(&self) -> bool {
        let [read, write] = self.cache().map(Count::value);
        let parts = read
            .zip(write)
            .map(|(read, write)| read.saturating_add(write));
        parts
            .zip(self.input_tokens.value())
            .is_some_and(|(parts, input)| parts > input)
    }
}

/// Tokens of which `input` includes what was read from and written to a cache, each counted once; `None` where a count is
/// unreadable or the main ones are missing.
pub(super) fn usage_with_cache_inside(
    input: Count,
    output: Count,
    cached_read: Count,
    cache_write: Count,
) -> Option<Usage> {
    if input == Count::Absent && output == Count::Absent {
        return None;
    }
    let (cached_read, cache_write) = (cached_read.value()?, cache_write.value()?);
    let uncached = input.value()?.saturating_sub(cached_read);
    Some(Usage {
        uncached_input: uncached.saturating_sub(cache_write),
        cached_read,
        cache_write,
        output: output.value()?,
    })
}
