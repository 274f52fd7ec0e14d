//! The lines of session files: what each CLI writes down of a request's tokens.

use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::agents::claude::ClaudeUsage;
use crate::agents::codex::CodexUsage;
use crate::agents::copilot::ModelUse;
use crate::agents::sessions::SessionTokens;
use crate::agents::wire::{Count, Loose, add};
use crate::config::AgentKind;
use crate::model::Usage;

/// Messages that are told apart at most; a session with more is no honest one.
const MESSAGES: usize = 100_000;

/// What was read so far.
#[derive(Debug)]
pub(super) struct Reading {
    kind: AgentKind,
    /// Whether the file that is read is a sub-agent's.
    of_sub_agent: bool,
    main: Option<Usage>,
    sub_agents: Option<Usage>,
    /// By message: whether it is a sub-agent's, and its tokens. A message is written down more than once.
    messages: HashMap<String, (bool, Usage)>,
    /// Of the Codex rollout that is read: what its thread had spent before its first request, and at its last.
    thread: Option<(Usage, Usage)>,
}

impl Reading {
    /// Reads files of this kind of agent.
    pub(super) fn of(kind: AgentKind) -> Self {
        Self {
            kind,
            of_sub_agent: false,
            main: None,
            sub_agents: None,
            messages: HashMap::new(),
            thread: None,
        }
    }

    /// The next file begins.
    pub(super) fn begin(&mut self, of_sub_agent: bool) {
        self.end_thread();
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
        for (of_sub_agent, usage) in std::mem::take(&mut self.messages).into_values() {
            self.add(of_sub_agent, usage);
        }
        SessionTokens {
            main: self.main,
            sub_agents: self.sub_agents,
        }
    }

    fn add(&mut self, of_sub_agent: bool, usage: Usage) {
        let total = if of_sub_agent {
            &mut self.sub_agents
        } else {
            &mut self.main
        };
        *total = Some(add(total.unwrap_or_default(), usage));
    }

    /// A thread's sums may begin with those of the thread that it was forked from or resumed.
    fn end_thread(&mut self) {
        if let Some((before, last)) = self.thread.take() {
            self.add(self.of_sub_agent, last.minus(before));
        }
    }

    fn message(&mut self, id: String, of_sub_agent: bool, usage: Usage) {
        if self.messages.len() < MESSAGES || self.messages.contains_key(&id) {
            let known = self.messages.entry(id).or_default();
            *known = (known.0 || of_sub_agent, known.1.at_least(usage));
        }
    }

    fn codex(&mut self, line: &[u8]) -> Option<()> {
        let line: CodexLine = serde_json::from_slice(line).ok()?;
        let payload = line.payload.0?;
        if line.kind == "session_meta" {
            let by_thread = payload.thread_source.0.as_deref() == Some("subagent");
            let by_source = payload.source.0.is_some_and(|source| source.has_sub_agent);
            self.of_sub_agent = by_thread || by_source;
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
        let usage = message.usage.0?.unified()?;
        self.message(message.id?, of_sub_agent, usage);
        Some(())
    }

    fn gemini(&mut self, line: &[u8]) -> Option<()> {
        let line: GeminiLine = serde_json::from_slice(line).ok()?;
        if let Some(kind) = line.session_kind.0 {
            self.of_sub_agent = kind != "main";
        }
        let tokens = line.tokens.0?;
        self.message(line.id?, self.of_sub_agent, tokens.unified()?);
        Some(())
    }

    fn qwen(&mut self, line: &[u8]) -> Option<()> {
        let line: QwenLine = serde_json::from_slice(line).ok()?;
        let tokens = line.usage_metadata.0.filter(|_| line.kind == "assistant")?;
        let of_sub_agent = self.of_sub_agent || line.is_sidechain == Some(true);
        self.message(line.uuid?, of_sub_agent, tokens.unified()?);
        Some(())
    }

    fn copilot(&mut self, line: &[u8]) -> Option<()> {
        let line: CopilotLine = serde_json::from_slice(line).ok()?;
        let data = line
            .data
            .0
            .filter(|_| line.kind == "session.usage_record")?;
        let usage = data.usage.unified()?;
        self.message(line.id?, false, usage);
        Some(())
    }
}

#[derive(Debug, Deserialize)]
struct CodexLine {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    payload: Loose<CodexPayload>,
}

#[derive(Debug, Deserialize)]
struct CodexPayload {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    thread_source: Loose<String>,
    #[serde(default)]
    source: Loose<CodexSource>,
    #[serde(default)]
    info: Loose<CodexInfo>,
}

/// `exec`, or what made the thread.
#[derive(Debug)]
struct CodexSource {
    has_sub_agent: bool,
}

impl<'de> Deserialize<'de> for CodexSource {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Object {
            #[serde(default)]
            subagent: Option<IgnoredAny>,
        }
        Ok(Self {
            has_sub_agent: Object::deserialize(deserializer)?.subagent.is_some(),
        })
    }
}

#[derive(Debug, Deserialize)]
struct CodexInfo {
    total_token_usage: CodexUsage,
    #[serde(default)]
    last_token_usage: Loose<CodexUsage>,
}

#[derive(Debug, Deserialize)]
struct ClaudeLine {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(rename = "isSidechain", default)]
    is_sidechain: Option<bool>,
    #[serde(default)]
    message: Loose<ClaudeMessage>,
}

#[derive(Debug, Deserialize)]
struct ClaudeMessage {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    usage: Loose<ClaudeUsage>,
}

#[derive(Debug, Deserialize)]
struct GeminiLine {
    #[serde(default)]
    id: Option<String>,
    #[serde(rename = "kind", default)]
    session_kind: Loose<String>,
    #[serde(default)]
    tokens: Loose<GeminiTokens>,
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
        Some(cached_inside(
            self.input.value()?,
            self.cached.value()?,
            self.output.value()?.saturating_add(self.thoughts.value()?),
        ))
    }
}

#[derive(Debug, Deserialize)]
struct QwenLine {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    uuid: Option<String>,
    #[serde(rename = "isSidechain", default)]
    is_sidechain: Option<bool>,
    #[serde(rename = "usageMetadata", default)]
    usage_metadata: Loose<QwenTokens>,
}

/// Tokens of a request, in Gemini's words with the API's meaning: reasoning is part of the output.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
struct QwenTokens {
    prompt_token_count: Count,
    candidates_token_count: Count,
    #[serde(default)]
    cached_content_token_count: Count,
}

impl QwenTokens {
    fn unified(&self) -> Option<Usage> {
        Some(cached_inside(
            self.prompt_token_count.value()?,
            self.cached_content_token_count.value()?,
            self.candidates_token_count.value()?,
        ))
    }
}

#[derive(Debug, Deserialize)]
struct CopilotLine {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    data: Loose<CopilotData>,
}

#[derive(Debug, Deserialize)]
struct CopilotData {
    usage: ModelUse,
}

fn cached_inside(input: u64, cached_read: u64, output: u64) -> Usage {
    Usage {
        uncached_input: input.saturating_sub(cached_read),
        cached_read,
        cache_write: 0,
        output,
    }
}
