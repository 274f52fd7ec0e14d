//! The lines of session files: what each CLI writes down of a request's tokens.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::by_model::{MODELS_CAP, model_of};
use crate::claude::ClaudeUsage;
use crate::sessions::SessionTokens;
use crate::sessions::calls::Calls;
use crate::sessions::qwen_events::{ClientEvents, LastRequest};
use crate::token_counts::{TokenCounts, usage_with_cache_inside};
use crate::wire::{Count, Loose, model_name};
use proctor_config::AgentKind;
use proctor_model::{CacheWrites, Usage};

/// Messages that are told apart at most; a session with more is no honest one.
const MESSAGES: usize = 100_000;

/// What was read so far.
#[derive(Debug)]
pub(super) struct Reading {
    kind: AgentKind,
    /// Whether the file that is read is a sub-agent's.
    of_sub_agent: bool,
    tokens: SessionTokens,
    /// By message. A message is written down more than once.
    messages: HashMap<String, Message>,
    /// Of the Codex rollout that is read: what its thread had spent before its first request, and at its last.
    thread: Option<(Usage, Usage)>,
    /// The model that it names last.
    model: String,
    last_request: LastRequest,
    calls: Calls,
}

/// The tokens of a message.
#[derive(Debug, Default)]
struct Message {
    of_sub_agent: bool,
    usage: Usage,
    writes: CacheWrites,
    model: String,
}

impl Reading {
    /// Reads files of this kind of agent.
    pub(super) fn of(kind: AgentKind) -> Self {
        Self {
            kind,
            of_sub_agent: false,
            tokens: SessionTokens::default(),
            messages: HashMap::new(),
            thread: None,
            model: String::new(),
            last_request: LastRequest::default(),
            calls: Calls::default(),
        }
    }

    /// The next file begins.
    pub(super) fn begin(&mut self, of_sub_agent: bool) {
        self.end_thread();
        self.model.clear();
        self.of_sub_agent = of_sub_agent;
    }

    /// Reads a line; one that is not understood tells nothing.
    pub(super) fn line(&mut self, line: &[u8]) {
        let _ = match self.kind {
            AgentKind::Codex => self.codex(line),
            AgentKind::ClaudeCode => self.claude(line),
            AgentKind::Gemini => self.gemini(line),
            AgentKind::Qwen => self.qwen(line),
            AgentKind::Copilot => self.copilot(line),
            AgentKind::Opencode | AgentKind::Command | AgentKind::Replay => None,
        };
    }

    /// What all files amount to.
    pub(super) fn finish(mut self) -> SessionTokens {
        self.end_thread();
        for message in std::mem::take(&mut self.messages).into_values() {
            self.add(&message);
        }
        let by_model = &mut self.tokens.by_model;
        by_model.sort_by(|one, other| one.model.cmp(&other.model));
        SessionTokens {
            answered: self.last_request.was_answered(),
            fault: self.last_request.failure(),
            sub_agent_calls: self.calls.of_sub_agents(),
            ..self.tokens
        }
    }

    fn add(&mut self, message: &Message) {
        let tokens = &mut self.tokens;
        let total = if message.of_sub_agent {
            &mut tokens.sub_agents
        } else {
            &mut tokens.main
        };
        *total = Some(total.unwrap_or_default().plus(message.usage));
        let model = model_of(&mut tokens.by_model, &message.model);
        model.usage = model.usage.plus(message.usage);
        model.writes = model.writes.plus(message.writes);
    }

    /// A thread's sums may begin with those of the thread that it was forked from or resumed.
    fn end_thread(&mut self) {
        if let Some((before, last)) = self.thread.take() {
            let spent = Message {
                of_sub_agent: self.of_sub_agent,
                usage: last.minus(before),
                model: std::mem::take(&mut self.model),
                ..Message::default()
            };
            self.add(&spent);
        }
    }

    fn message(&mut self, id: String, told: Message) {
        if self.messages.len() < MESSAGES || self.messages.contains_key(&id) {
            let known = self.messages.entry(id).or_default();
            *known = Message {
                of_sub_agent: known.of_sub_agent || told.of_sub_agent,
                usage: known.usage.at_least(told.usage),
                writes: known.writes.at_least(told.writes),
                model: told.model,
            };
        }
    }

    fn codex(&mut self, line: &[u8]) -> Option<()> {
        let line: CodexLine = serde_json::from_slice(line).ok()?;
        let payload = line.payload.0?;
        if line.kind == "session_meta" {
            let by_thread = payload.thread_source.0.as_deref() == Some("subagent");
            let by_source = payload
                .source
                .0
                .is_some_and(|source| source.subagent.is_some());
            self.of_sub_agent = by_thread || by_source;
            if self.of_sub_agent {
                self.calls.sub_agent();
                self.tokens.sub_agent_sessions += 1;
            }
            return Some(());
        }
        if line.kind == "response_item" {
            // A search for tools is the client's own.
            let is_call = payload.kind.ends_with("_call") && payload.kind != "tool_search_call";
            let id = payload.call_id.0.filter(|_| is_call)?;
            self.calls.call(&id, self.of_sub_agent);
            return Some(());
        }
        if line.kind == "turn_context" {
            self.model = payload.model.0.as_deref().map(model_name)?;
            let main_models = &mut self.tokens.main_models;
            let known = main_models.contains(&self.model);
            if !known && !self.of_sub_agent && main_models.len() < MODELS_CAP {
                main_models.push(self.model.clone());
            }
            return Some(());
        }
        let info = payload.info.0.filter(|_| payload.kind == "token_count")?;
        let total = info.total_token_usage.unified()?;
        let last = info.last_token_usage.0.and_then(|last| last.unified());
        let before = total.minus(last.unwrap_or(total));
        let (before, _) = self.thread.unwrap_or((before, total));
        self.thread = Some((before, total));
        Some(())
    }

    fn claude(&mut self, line: &[u8]) -> Option<()> {
        let line: ClaudeLine = serde_json::from_slice(line).ok()?;
        let message = line.message.0.filter(|_| line.kind == "assistant")?;
        let of_sub_agent = self.of_sub_agent || line.is_sidechain == Some(true);
        let told = message.usage.0?;
        let message_read = Message {
            of_sub_agent,
            usage: told.unified()?,
            writes: told.writes(),
            model: named(&message.model),
        };
        self.message(message.id?, message_read);
        Some(())
    }

    fn gemini(&mut self, line: &[u8]) -> Option<()> {
        let line: GeminiLine = serde_json::from_slice(line).ok()?;
        if let Some(kind) = line.session_kind.0 {
            self.of_sub_agent = kind != "main";
        }
        let tokens = line.tokens.0?;
        let message = Message {
            of_sub_agent: self.of_sub_agent,
            usage: tokens.unified()?,
            model: named(&line.model),
            ..Message::default()
        };
        self.message(line.id?, message);
        Some(())
    }

    fn qwen(&mut self, line: &[u8]) -> Option<()> {
        let line: QwenLine = serde_json::from_slice(line).ok()?;
        if let Some(told) = line.told.0.filter(|_| line.kind == "system") {
            told.settle(&mut self.last_request);
            return Some(());
        }
        let of_sub_agent = self.of_sub_agent || line.is_sidechain == Some(true);
        let parts = line.message.0.and_then(|message| message.parts.0);
        for part in parts.into_iter().flatten() {
            if let Some(id) = part.call.0.and_then(|call| call.id.0) {
                self.calls.call(&id, of_sub_agent);
            }
        }
        let tokens = line.usage_metadata.0.filter(|_| line.kind == "assistant")?;
        if of_sub_agent {
            self.calls.sub_agent();
        }
        let message = Message {
            of_sub_agent,
            usage: tokens.unified()?,
            model: named(&line.model),
            ..Message::default()
        };
        self.message(line.uuid?, message);
        Some(())
    }

    fn copilot(&mut self, line: &[u8]) -> Option<()> {
        let line: CopilotLine = serde_json::from_slice(line).ok()?;
        let data = line
            .data
            .0
            .filter(|_| line.kind == "session.usage_record")?;
        let message = Message {
            usage: data.usage.unified()?,
            model: named(&data.usage.model),
            ..Message::default()
        };
        self.message(line.id?, message);
        Some(())
    }
}

/// The name of a model; empty where none is told.
fn named(model: &Loose<String>) -> String {
    model.0.as_deref().map_or_else(String::new, model_name)
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CodexLine {
    #[serde(rename = "type")]
    kind: String,
    payload: Loose<CodexPayload>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CodexPayload {
    #[serde(rename = "type")]
    kind: String,
    thread_source: Loose<String>,
    source: Loose<CodexSource>,
    info: Loose<CodexInfo>,
    model: Loose<String>,
    call_id: Loose<String>,
}

/// `exec`, or what made the thread.
#[derive(Debug, Deserialize)]
struct CodexSource {
    subagent: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct CodexInfo {
    total_token_usage: TokenCounts,
    #[serde(default)]
    last_token_usage: Loose<TokenCounts>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClaudeLine {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "isSidechain")]
    is_sidechain: Option<bool>,
    message: Loose<ClaudeMessage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClaudeMessage {
    id: Option<String>,
    model: Loose<String>,
    usage: Loose<ClaudeUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GeminiLine {
    id: Option<String>,
    #[serde(rename = "kind")]
    session_kind: Loose<String>,
    tokens: Loose<GeminiTokens>,
    model: Loose<String>,
}

/// Tokens of a request: cached ones are part of `input`, thoughts stand beside `output`.
#[derive(Debug, Deserialize)]
struct GeminiTokens {
    input: Count,
    output: Count,
    #[serde(default)]
    cached: Count,
    #[serde(default)]
    thoughts: Count,
}

impl GeminiTokens {
    fn unified(&self) -> Option<Usage> {
        let told = usage_with_cache_inside(self.input, self.output, self.cached, Count::Absent)?;
        Some(Usage {
            output: told.output.saturating_add(self.thoughts.value()?),
            ..told
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct QwenLine {
    #[serde(rename = "type")]
    kind: String,
    uuid: Option<String>,
    #[serde(rename = "isSidechain")]
    is_sidechain: Option<bool>,
    #[serde(rename = "systemPayload")]
    told: Loose<ClientEvents>,
    message: Loose<QwenMessage>,
    #[serde(rename = "usageMetadata")]
    usage_metadata: Loose<TokenCounts>,
    model: Loose<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct QwenMessage {
    parts: Loose<Vec<QwenPart>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct QwenPart {
    #[serde(rename = "functionCall")]
    call: Loose<QwenCall>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct QwenCall {
    id: Loose<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CopilotLine {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    data: Loose<CopilotData>,
}

#[derive(Debug, Deserialize)]
struct CopilotData {
    usage: TokenCounts,
}
