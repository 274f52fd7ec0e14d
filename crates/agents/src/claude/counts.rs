//! Token counts as Claude Code tells them: per message, per result, per model.

use serde::Deserialize;

use crate::by_model::ByModel;
use crate::wire::{Count, Loose};
use proctor_model::{CacheWrites, Usage};

/// Usage in the API's words: cached tokens stand apart from `input_tokens`.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ClaudeUsage {
    input_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    output_tokens: Count,
    cache_creation: Option<CacheCreation>,
}

/// Written cache tokens by their time to live.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct CacheCreation {
    ephemeral_5m_input_tokens: Count,
    ephemeral_1h_input_tokens: Count,
}

impl ClaudeUsage {
    /// The counts; `None` where one is unreadable or the main ones are missing.
    pub(crate) fn unified(&self) -> Option<Usage> {
        if self.input_tokens == Count::Absent && self.output_tokens == Count::Absent {
            return None;
        }
        Some(Usage {
            uncached_input: self.input_tokens.value()?,
            cached_read: self.cache_read_input_tokens.value()?,
            cache_write: self.cache_creation_input_tokens.value()?,
            output: self.output_tokens.value()?,
        })
    }

    /// These counts with cached tokens apart from `input_tokens`; `inside`, as Qwen Code tells them, they are part of it.
    pub(super) fn of(self, inside: bool) -> Self {
        let cached = self.cache_read_input_tokens.value();
        let written = self.cache_creation_input_tokens.value();
        match (self.input_tokens, cached.zip(written)) {
            (Count::Known(input), Some((cached, written))) if inside => Self {
                input_tokens: Count::Known(input.saturating_sub(cached).saturating_sub(written)),
                ..self
            },
            _ => self,
        }
    }

    /// Whether no token is told.
    pub(super) fn is_nothing(&self) -> bool {
        let counts = [
            self.input_tokens,
            self.cache_read_input_tokens,
            self.cache_creation_input_tokens,
            self.output_tokens,
        ];
        counts.iter().all(|count| count.value() == Some(0))
    }

    /// The written tokens by their time to live; nothing where that is not told.
    pub(crate) fn writes(&self) -> CacheWrites {
        let written = self.cache_creation.unwrap_or_default();
        told_apart(
            written.ephemeral_5m_input_tokens,
            written.ephemeral_1h_input_tokens,
        )
    }
}

/// `modelUsage`: one entry per model, sub-agents and side calls included.
pub(super) type ModelUsage = ByModel<ModelCounts>;

/// Tokens of one model.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ModelCounts {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    #[serde(rename = "cacheCreationEphemeral5mInputTokens")]
    written_5m: Count,
    #[serde(rename = "cacheCreationEphemeral1hInputTokens")]
    written_1h: Count,
    /// `list`, or `unknown` where the CLI priced an unknown model as another one.
    pub(super) cost_basis: Loose<String>,
}

impl ModelCounts {
    /// The counts; `None` where one is unreadable.
    pub(super) fn unified(&self) -> Option<Usage> {
        Some(Usage {
            uncached_input: self.input_tokens.value()?,
            cached_read: self.cache_read_input_tokens.value()?,
            cache_write: self.cache_creation_input_tokens.value()?,
            output: self.output_tokens.value()?,
        })
    }

    /// The written tokens by their time to live; nothing where that is not told.
    pub(super) fn writes(&self) -> CacheWrites {
        told_apart(self.written_5m, self.written_1h)
    }
}

fn told_apart(five_minutes: Count, one_hour: Count) -> CacheWrites {
    let both = five_minutes.value().zip(one_hour.value());
    let (five_minutes, one_hour) = both.unwrap_or_default();
    CacheWrites {
        five_minutes,
        one_hour,
    }
}
