//! What a rehearsal says: plays of turns, in words that do not depend on the client.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// All plays of a rehearsal.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The plays; the first that fits a conversation is played.
    pub plays: Vec<Play>,
}

/// What is answered in one conversation.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// Its name, for the log of requests.
    pub name: String,
    /// A text that the user's words must hold; without it the play fits every conversation.
    #[serde(default)]
    pub when: Option<String>,
    /// The answers, in order. The last one is given again for as long as the client asks.
    pub turns: Vec<Turn>,
}

/// One answer of the model.
///
/// Which turn it is follows from the conversation: a turn is over when all its steps have a result. So retries, several
/// clients at once and questions besides do not disturb each other.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Turn {
    /// A thought, shown before the words.
    pub think: String,
    /// Words.
    pub say: String,
    /// Tools that it calls, all at once.
    #[serde(rename = "do")]
    pub steps: Vec<Step>,
    /// The token counts of this answer.
    pub usage: Tokens,
    /// An HTTP error instead of an answer.
    pub fault: Option<HttpFault>,
    /// The connection breaks in the middle of the answer.
    pub cut: bool,
    /// How often a fault or a cut happens in one conversation before the play goes on; without it, always.
    pub times: Option<u32>,
    /// A wait before the answer, in milliseconds.
    pub wait_ms: u64,
    /// A wait between two events of a streamed answer, in milliseconds.
    pub pace_ms: u64,
}

/// One tool call, in terms of what it does; it becomes whatever tool the client offers for that.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Runs a shell command.
    Shell(String),
    /// Runs a shell command and does not wait for its end, where the client can do that.
    Background(String),
    /// Reads a file.
    Read(String),
    /// Writes a file. A relative path starts at the client's working directory.
    Write {
        /// Which file.
        path: String,
        /// All of its text.
        text: String,
    },
    /// Replaces a text in a file.
    Edit {
        /// Which file.
        path: String,
        /// The text that is there; it may be one that is not.
        old: String,
        /// What stands there afterwards.
        new: String,
    },
    /// Calls a tool of an MCP server. Where the client lists such tools only when they are looked for, they are looked
    /// for first, in a request of its own.
    Mcp {
        /// The server's name.
        server: String,
        /// The tool's name there.
        tool: String,
        /// Its arguments.
        #[serde(default)]
        arguments: Value,
    },
    /// Hands work to a sub-agent, whose conversation is one of its own.
    SubAgent(String),
    /// Waits for the sub-agents, where the client has a tool for it; elsewhere it is left out.
    AwaitAgents(bool),
    /// Calls a tool as it is: the first of these names that is offered, else the first of all, offered or not.
    Tool {
        /// Names, the preferred first.
        names: Vec<String>,
        /// Its arguments, well formed or not.
        #[serde(default)]
        arguments: Value,
    },
}

/// Token counts of an answer, each token counted once: what a client tells of them in its own way is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tokens {
    /// Input tokens that no cache held.
    pub input: u64,
    /// Input tokens that were written to a cache.
    pub cache_write: u64,
    /// Input tokens that came from a cache.
    pub cache_read: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// Output tokens spent on reasoning.
    pub reasoning: u64,
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            input: 1000,
            cache_write: 0,
            cache_read: 0,
            output: 10,
            reasoning: 0,
        }
    }
}

impl Tokens {
    /// All input tokens.
    #[must_use]
    pub const fn all_input(self) -> u64 {
        self.input + self.cache_write + self.cache_read
    }
}

/// An HTTP error.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpFault {
    /// The status, such as 429.
    pub status: u16,
    /// The provider's word for it, such as `rate_limit_error`.
    pub kind: String,
    /// What it says.
    pub message: String,
    /// Further headers, such as `retry-after`.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// Why a text is no script.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptError {
    /// It is no YAML, or not of the right shape.
    #[error("{0}")]
    Shape(String),
    /// A play without an answer.
    #[error("plays.{0}: `turns` is empty; give at least one, such as `- say: done`")]
    NoTurns(String),
}

impl Script {
    /// Reads a script from YAML (or JSON, which is YAML).
    ///
    /// # Errors
    /// Why it is none, with the place.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let shape = |error: &dyn std::fmt::Display| ScriptError::Shape(error.to_string());
        // By way of JSON: a step is then a mapping with one key, as people write it, and no YAML tag.
        let value: Value = serde_yaml::from_str(text).map_err(|error| shape(&error))?;
        let script: Self =
            serde_path_to_error::deserialize(value).map_err(|error| shape(&error))?;
        match script.plays.iter().find(|play| play.turns.is_empty()) {
            Some(play) => Err(ScriptError::NoTurns(play.name.clone())),
            None => Ok(script),
        }
    }

    /// The first play that fits these words.
    pub(super) fn play(&self, words: &[String]) -> Option<(usize, &Play)> {
        self.plays.iter().enumerate().find(|(_, play)| {
            let when = play.when.as_deref();
            when.is_none_or(|when| words.iter().any(|words| words.contains(when)))
        })
    }
}
