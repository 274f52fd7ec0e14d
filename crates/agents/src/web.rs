//! Tools by which a provider searches and fetches the web for its agent, past whatever network the agent's machine has.

use serde_json::{Value, json};

use crate::kinds::profile;
use proctor_config::{AgentKind, AgentSpec, ScenarioSpec, Settings};

/// What became of an agent's web tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WebTools {
    /// It may have them: the config says so, or it only plays a recording.
    #[default]
    Kept,
    /// They are switched off by its command line.
    Off,
    /// They should be off, and nothing here can switch them off: its kind has no switch, or its command no `{EXTRA_ARGS}`.
    OutOfReach,
}

/// Names of such tools in the streams of all agents, in lower case.
const NAMES: [&str; 7] = [
    "websearch",
    "webfetch",
    "web_search",
    "web_fetch",
    "google_web_search",
    "google_search",
    "url_context",
];

/// Whether a tool of this name is one of them.
#[must_use]
pub fn is_web_tool(name: &str) -> bool {
    NAMES.iter().any(|tool| tool.eq_ignore_ascii_case(name))
}

/// What becomes of the web tools of an agent. A command line or scenario that names one settles it itself.
pub(super) fn settle(agent: &AgentSpec, scenario: &ScenarioSpec, settings: &Settings) -> WebTools {
    let given = scenario.agent_args.iter().flat_map(|(_, words)| words);
    let mut words = agent.command.iter().chain(given);
    let names_one = |word: &String| {
        let word = word.to_ascii_lowercase();
        word == "--search" || NAMES.iter().any(|name| word.contains(name))
    };
    if settings.web_tools || agent.kind == AgentKind::Replay || words.any(names_one) {
        return WebTools::Kept;
    }
    let takes_arguments = agent.command.iter().any(|token| token == "{EXTRA_ARGS}");
    if takes_arguments && has_switch(agent.kind) {
        WebTools::Off
    } else {
        WebTools::OutOfReach
    }
}

/// What the settings of an agent say that has no such argument: a key and what it holds.
pub(super) fn setting(kind: AgentKind) -> Option<(&'static str, Value)> {
    match kind {
        AgentKind::Gemini => Some((
            "tools",
            json!({"exclude": ["google_web_search", "web_fetch"]}),
        )),
        AgentKind::Opencode => Some((
            "permission",
            json!({"webfetch": "deny", "websearch": "deny"}),
        )),
        _ => None,
    }
}

fn has_switch(kind: AgentKind) -> bool {
    !profile(kind).without_web.is_empty() || setting(kind).is_some()
}
