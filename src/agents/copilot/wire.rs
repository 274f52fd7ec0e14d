//! The lines of `copilot --output-format json` and its usage file, as typed as they are needed.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agents::by_model::ByModel;
use crate::agents::wire::{Count, Few, Loose, ServerState, model_name};
use crate::model::{ModelTokens, Usage};

/// A line.
#[derive(Debug, Deserialize)]
pub(super) struct Line<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) data: Option<&'a RawValue>,
    #[serde(rename = "exitCode", default)]
    pub(super) exit_code: Option<i64>,
}

/// `session.mcp_servers_loaded`
#[derive(Debug, Deserialize)]
pub(super) struct ServersLoaded {
    #[serde(default)]
    pub(super) servers: Loose<Few<ServerState>>,
}

/// `session.tools_updated`
#[derive(Debug, Deserialize)]
pub(super) struct WithModel {
    #[serde(default)]
    pub(super) model: Loose<String>,
}

/// `assistant.message`, `assistant.reasoning`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Said {
    #[serde(default)]
    pub(super) content: Loose<String>,
    #[serde(default)]
    pub(super) model: Loose<String>,
    #[serde(default)]
    pub(super) parent_tool_call_id: Loose<String>,
}

/// `tool.execution_start`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Started<'a> {
    pub(super) tool_call_id: String,
    pub(super) tool_name: String,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(default)]
    pub(super) mcp_server_name: Loose<String>,
    #[serde(default)]
    pub(super) mcp_tool_name: Loose<String>,
    #[serde(default)]
    pub(super) parent_tool_call_id: Loose<String>,
}

/// `tool.execution_complete`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Completed {
    pub(super) tool_call_id: String,
    #[serde(default)]
    pub(super) success: Option<bool>,
    #[serde(default)]
    pub(super) result: Loose<Answer>,
    #[serde(default)]
    pub(super) error: Loose<Message>,
    #[serde(default)]
    pub(super) shell_execution: Loose<ShellExecution>,
}

/// What a tool answered.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    #[serde(default)]
    pub(super) content: Loose<String>,
}

/// `{message}`
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    pub(super) message: Loose<String>,
}

/// How a command ended.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShellExecution {
    #[serde(default)]
    pub(super) exit_code: Loose<i32>,
}

/// `model.call_failure`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallFailure {
    #[serde(default)]
    pub(super) status_code: Loose<u16>,
    #[serde(default)]
    pub(super) error_code: Loose<String>,
    #[serde(default)]
    pub(super) error_message: Loose<String>,
}

/// `session.error`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionError {
    #[serde(default)]
    pub(super) error_type: Loose<String>,
    #[serde(default)]
    pub(super) message: Loose<String>,
    #[serde(default)]
    pub(super) status_code: Loose<u16>,
}

/// What `--usage-output-file` holds.
#[derive(Debug, Deserialize)]
pub(super) struct UsageFile {
    #[serde(rename = "modelMetrics", default)]
    pub(super) models: Option<ByModel<Metrics>>,
}

impl ByModel<Metrics> {
    /// All models together; `None` where a count is unreadable.
    pub(super) fn unified(&self) -> Option<Usage> {
        let mut models = self.0.iter().map(|(_, metrics)| &metrics.usage);
        models.try_fold(Usage::default(), |total, tokens| {
            Some(total.plus(tokens.unified()?))
        })
    }

    /// Each model apart; empty where a count is unreadable.
    pub(super) fn apart(&self) -> Vec<ModelTokens> {
        let models = self.0.iter().map(|(model, metrics)| {
            Some(ModelTokens {
                model: model_name(model),
                usage: metrics.usage.unified()?,
                ..ModelTokens::default()
            })
        });
        models.collect::<Option<_>>().unwrap_or_default()
    }
}

/// What is told of one model.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Metrics {
    #[serde(default)]
    usage: ModelUse,
}

/// Tokens of a model: cached ones are part of `inputTokens`, reasoning is part of `outputTokens`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::agents) struct ModelUse {
    /// The model, where it stands beside its tokens.
    #[serde(default)]
    pub(in crate::agents) model: Loose<String>,
    #[serde(default)]
    input_tokens: Count,
    #[serde(default)]
    output_tokens: Count,
    #[serde(default)]
    cache_read_tokens: Count,
    #[serde(default)]
    cache_write_tokens: Count,
}

impl ModelUse {
    /// Each token counted once; `None` where a count is unreadable or the main ones are missing.
    pub(in crate::agents) fn unified(&self) -> Option<Usage> {
        if self.input_tokens == Count::Absent && self.output_tokens == Count::Absent {
            return None;
        }
        let input = self.input_tokens.value()?;
        let cached_read = self.cache_read_tokens.value()?;
        let cache_write = self.cache_write_tokens.value()?;
        Some(Usage {
            uncached_input: input
                .saturating_sub(cached_read)
                .saturating_sub(cache_write),
            cached_read,
            cache_write,
            output: self.output_tokens.value()?,
        })
    }
}
