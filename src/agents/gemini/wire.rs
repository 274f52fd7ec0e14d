//! The lines of `gemini -o stream-json`, as typed as they are needed.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agents::by_model::ByModel;
use crate::agents::wire::{Count, Few, Loose, model_name};
use crate::model::{ModelTokens, Usage};

/// `init`
#[derive(Debug, Deserialize)]
pub(super) struct Init {
    #[serde(default)]
    pub(super) session_id: Loose<String>,
    #[serde(default)]
    pub(super) model: Loose<String>,
}

/// `message`: a piece of one, where `delta` is true.
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    pub(super) role: Option<String>,
    #[serde(default)]
    pub(super) content: Option<String>,
    #[serde(default)]
    pub(super) delta: Option<bool>,
}

/// `tool_use`
#[derive(Debug, Deserialize)]
pub(super) struct ToolUse<'a> {
    pub(super) tool_name: String,
    pub(super) tool_id: String,
    #[serde(borrow, default)]
    pub(super) parameters: Option<&'a RawValue>,
}

/// `tool_result`
#[derive(Debug, Deserialize)]
pub(super) struct ToolResultLine {
    pub(super) tool_id: String,
    #[serde(default)]
    pub(super) status: Option<String>,
    #[serde(default)]
    pub(super) output: Loose<String>,
    #[serde(default)]
    pub(super) error: Loose<Failure>,
}

/// What failed, of a tool or of the run.
#[derive(Debug, Deserialize)]
pub(super) struct Failure {
    #[serde(rename = "type", default)]
    pub(super) kind: Loose<String>,
    #[serde(default)]
    pub(super) message: Loose<String>,
}

/// `error`
#[derive(Debug, Deserialize)]
pub(super) struct Problem {
    #[serde(default)]
    pub(super) message: Loose<String>,
}

/// `result`
#[derive(Debug, Deserialize)]
pub(super) struct RunResult<'a> {
    #[serde(default)]
    pub(super) status: Option<String>,
    #[serde(default)]
    pub(super) error: Loose<Failure>,
    #[serde(borrow, default)]
    pub(super) stats: Option<&'a RawValue>,
}

/// Tokens of the whole run.
#[derive(Debug, Deserialize)]
pub(super) struct Stats {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    cached: Count,
    #[serde(default)]
    total_tokens: Count,
    #[serde(default)]
    models: Loose<ByModel<Counts>>,
}

/// Tokens: cached ones are part of `input_tokens`, thoughts are told in the total alone.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize)]
struct Counts {
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    cached: Count,
    #[serde(default)]
    total_tokens: Count,
}

impl Stats {
    /// Each token counted once; `None` where a count is unreadable or the main ones are missing.
    pub(super) fn unified(&self) -> Option<Usage> {
        let all = Counts {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cached: self.cached,
            total_tokens: self.total_tokens,
        };
        all.unified()
    }

    /// Each model apart; empty where a count is unreadable.
    pub(super) fn apart(&self) -> Vec<ModelTokens> {
        let models = self.models.0.iter().flat_map(|models| &models.0);
        let models = models.map(|(model, counts)| {
            Some(ModelTokens {
                model: model_name(model),
                usage: counts.unified()?,
                ..ModelTokens::default()
            })
        });
        models.collect::<Option<_>>().unwrap_or_default()
    }
}

impl Counts {
    fn unified(&self) -> Option<Usage> {
        if self.input_tokens == Count::Absent && self.output_tokens == Count::Absent {
            return None;
        }
        let input = self.input_tokens.value()?;
        let cached_read = self.cached.value()?;
        let output = self.output_tokens.value()?;
        Some(Usage {
            uncached_input: input.saturating_sub(cached_read),
            cached_read,
            cache_write: 0,
            output: output.max(self.total_tokens.value()?.saturating_sub(input)),
        })
    }
}

/// An error of the API inside a message.
#[derive(Debug, Deserialize)]
pub(super) struct ApiErrorBody {
    #[serde(default)]
    pub(super) code: Loose<u16>,
    #[serde(default)]
    pub(super) message: Loose<String>,
    #[serde(default)]
    status: Loose<String>,
    #[serde(default)]
    details: Loose<Few<Detail>>,
}

/// More about an error of the API.
#[derive(Debug, Deserialize)]
struct Detail {
    #[serde(default)]
    reason: Loose<String>,
}

#[derive(Debug, Deserialize)]
struct Wrapped {
    error: ApiErrorBody,
}

impl ApiErrorBody {
    /// The first JSON object of a message, if it is an API's error.
    pub(super) fn inside(message: &str) -> Option<Self> {
        let text = &message[message.find('{')?..];
        let mut objects = serde_json::Deserializer::from_str(text).into_iter::<Wrapped>();
        Some(objects.next()?.ok()?.error)
    }

    /// Google's word for the failure, in the words that faults are known by.
    pub(super) fn word(&self) -> Option<&'static str> {
        let mut details = self.details.0.iter().flat_map(|details| &details.0);
        if details.any(|detail| detail.reason.0.as_deref() == Some("API_KEY_INVALID")) {
            return Some("API_KEY_INVALID");
        }
        match self.status.0.as_deref()? {
            "RESOURCE_EXHAUSTED" => Some("rate_limit_exceeded"),
            "UNAUTHENTICATED" | "PERMISSION_DENIED" => Some("authentication_error"),
            "UNAVAILABLE" => Some("overloaded"),
            "INTERNAL" | "DEADLINE_EXCEEDED" => Some("server_error"),
            _ => None,
        }
    }
}
