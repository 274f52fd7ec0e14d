//! Agents as a suite asks for them, and the closed set of their kinds.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use proctor_model::{AgentId, Pricing};

/// One of `agents:`.
#[derive(Debug, Clone)]
pub struct AgentSpec {
    /// `id`
    pub id: AgentId,
    /// `kind`
    pub kind: AgentKind,
    /// `command`: argv with `{PROMPT}`, `{WORKDIR}`, `{OUT_JSON}` inside tokens and `{EXTRA_ARGS}` as a token.
    pub command: Vec<String>,
    /// `env`
    pub env: BTreeMap<String, String>,
    /// `pricing`
    pub pricing: Option<Pricing>,
    /// `prompt_via` (new): where the prompt goes when no token holds it.
    pub prompt_via: PromptVia,
    /// `lane` (new): agents of one lane share their provider's limits; the agent's id by default.
    pub lane: String,
    /// `max_parallel` (new): most trials of this agent's lane at once; `None` is as many as run at all.
    pub max_parallel: Option<u32>,
    /// What a `replay` agent plays.
    pub replay: Option<ReplaySpec>,
}

impl AgentSpec {
    /// The kind whose stream this agent speaks: a recorded one speaks as what it plays.
    #[must_use]
    pub fn speaks(&self) -> AgentKind {
        self.replay
            .as_ref()
            .map_or(self.kind, |replay| replay.plays)
    }
}

/// Kinds of agents; a closed set, so that a new one makes the compiler name every place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// Codex, `codex exec --json`.
    #[serde(rename = "codex_cli")]
    Codex,
    /// Claude Code, `claude -p --output-format stream-json`.
    #[serde(rename = "claude_code_cli")]
    ClaudeCode,
    /// Gemini CLI, `gemini -o stream-json`.
    #[serde(rename = "gemini_cli")]
    Gemini,
    /// opencode, `opencode run --format json`.
    Opencode,
    /// Qwen Code, `qwen -o stream-json`.
    #[serde(rename = "qwen_code")]
    Qwen,
    /// GitHub Copilot CLI, `copilot --output-format json`.
    #[serde(rename = "copilot_cli")]
    Copilot,
    /// Any program. Its output is read as plain text.
    Command,
    /// Plays recorded trials.
    Replay,
}

impl AgentKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Codex,
        Self::ClaudeCode,
        Self::Gemini,
        Self::Opencode,
        Self::Qwen,
        Self::Copilot,
        Self::Command,
        Self::Replay,
    ];

    /// The word in config and rows.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Codex => "codex_cli",
            Self::ClaudeCode => "claude_code_cli",
            Self::Gemini => "gemini_cli",
            Self::Opencode => "opencode",
            Self::Qwen => "qwen_code",
            Self::Copilot => "copilot_cli",
            Self::Command => "command",
            Self::Replay => "replay",
        }
    }
}

/// How the prompt reaches an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PromptVia {
    /// In the word of the command that holds `{PROMPT}`.
    #[default]
    Argument,
    /// On standard input.
    Stdin,
}

/// What a `replay` agent plays.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplaySpec {
    /// `cassettes`: folder; a trial plays `<scenario>/<task>.<n>.jsonl` (or `<task>.<n>.jsonl`), n = index mod how many there are.
    pub cassettes: PathBuf,
    /// `plays`: whose stream format the cassettes hold (`codex_cli`, `claude_code_cli` or `command`).
    pub plays: AgentKind,
    /// `pace`: recorded times are multiplied by this (1 = as recorded, 0 = at once).
    pub pace: f64,
}
