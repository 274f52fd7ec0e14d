//! The calls and the last words of an agent, as the layers judge them.

use std::path::Path;

use serde_json::Value;

use super::heard;
use crate::layers::Call;
use crate::metrics::shell_commands;
use crate::model::{AgentEvent, EventKind, ToolCall, Usage};

/// What kept events tell of a trial.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traced {
    /// The last words; empty where there are none.
    pub answer: String,
    /// The calls of tools in order, those of sub-agents included.
    pub calls: Vec<Call>,
    /// The model that was asked.
    pub model: Option<String>,
    /// Tokens, as far as the stream told them while it ran.
    pub usage: Option<Usage>,
    /// USD by the agent's own count.
    pub cost_usd: Option<f64>,
    /// Seconds until the last event.
    pub seconds: f64,
    /// Whether the agent said that it was done.
    pub finished: bool,
}

/// Reads kept events.
///
/// # Errors
/// When a line cannot be read: nobody knows what it says.
pub fn traced(events: &Path) -> Result<Traced, String> {
    let mut traced = Traced::default();
    heard::each(events, |event| traced.take(event))?;
    traced.answer = heard::last_words(events)?.unwrap_or_default();
    Ok(traced)
}

impl Traced {
    fn take(&mut self, event: AgentEvent) {
        self.seconds = self.seconds.max(event.at.as_secs_f64());
        match event.kind {
            EventKind::ToolStarted(call) => self.calls.push(call_of(call)),
            EventKind::Started {
                model: Some(model), ..
            } => self.model = Some(model),
            EventKind::UsageSeen(usage) => self.usage = Some(usage),
            EventKind::CostSeen(usd) => self.cost_usd = Some(usd),
            EventKind::Finished { .. } => self.finished = true,
            _ => {}
        }
    }
}

/// A call as the layers know it.
fn call_of(call: ToolCall) -> Call {
    let commands = call.command.as_deref().map(shell_commands);
    Call {
        tool: call.name,
        arguments: serde_json::from_str(&call.arguments).unwrap_or(Value::String(call.arguments)),
        commands: commands.unwrap_or_default(),
    }
}
