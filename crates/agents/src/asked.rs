//! What an agent is asked before it starts: which settings it goes by or which servers it reaches, where its kind can tell them.

use crate::answer::{Answer, Asked};
use crate::codex::Configured;
use crate::gemini::Listed;
use crate::opencode::InForce;
use crate::start::Invocation;
use proctor_config::{AgentKind, AgentSpec, ScenarioSpec};

/// What is asked of an agent, one command line after the other.
#[derive(Debug)]
pub struct Question(By);

/// Whose question it is.
#[derive(Debug)]
enum By {
    Opencode(InForce),
    Gemini(Listed),
    Codex(Configured),
}

impl Question {
    /// What is asked first.
    #[must_use]
    pub fn first(&self) -> Asked {
        match &self.0 {
            By::Opencode(question) => question.first(),
            By::Gemini(question) => question.first(),
            By::Codex(question) => question.first(),
        }
    }

    /// What follows from the answer to that which was asked last.
    pub fn heard(&mut self, answer: &Answer) -> Asked {
        match &mut self.0 {
            By::Opencode(question) => question.heard(answer),
            By::Gemini(question) => question.heard(answer),
            By::Codex(question) => question.heard(answer),
        }
    }
}

/// What an agent that is to be started so can be asked of its settings and servers; `None` for kinds that cannot tell them, or tell
/// them while they work, and where the command takes no servers, so that nothing is switched off either.
#[must_use]
pub fn settings_question(
    agent: &AgentSpec,
    scenario: &ScenarioSpec,
    invocation: &Invocation,
) -> Option<Question> {
    let takes_servers = agent.command.iter().any(|word| word == "{EXTRA_ARGS}");
    let by = match agent.kind {
        _ if !takes_servers => None,
        AgentKind::Opencode => Some(By::Opencode(InForce::of(invocation))),
        AgentKind::Gemini => Listed::of(scenario, invocation).map(By::Gemini),
        AgentKind::Codex => Configured::of(scenario, invocation).map(By::Codex),
        _ => None,
    };
    by.map(Question)
}
