//! What an agent is asked before it starts: which settings it goes by or which servers it reaches, where its kind can tell them.

use crate::answer::{Answer, Asked};
use crate::codex::Configured;
use crate::gemini::Listed;
use crate::opencode::InForce;
use crate::start::Invocation;
use proctor_config::{AgentKind, AgentSpec, ScenarioSpec};

/// What is asked of an agent, one command line after the other.
#[derive(Debug)]
pub struct Question(Kind);

/// Whose question it is.
#[derive(Debug)]
enum Kind {
    Opencode(InForce),
    Gemini(Listed),
    Codex(Configured),
}

impl Question {
    /// What is asked first.
    #[must_use]
    pub fn first(&self) -> Asked {
        match &self.0 {
            Kind::Opencode(question) => question.first(),
            Kind::Gemini(question) => question.first(),
            Kind::Codex(question) => question.first(),
        }
    }

    /// What follows from the answer to that which was asked last.
    pub fn heard(&mut self, answer: &Answer) -> Asked {
        match &mut self.0 {
            Kind::Opencode(question) => question.heard(answer),
            Kind::Gemini(question) => question.heard(answer),
            Kind::Codex(question) => question.heard(answer),
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
        AgentKind::Opencode => Some(Kind::Opencode(InForce::of(invocation))),
        AgentKind::Gemini => Listed::of(scenario, invocation).map(Kind::Gemini),
        AgentKind::Codex => Configured::of(scenario, invocation).map(Kind::Codex),
        _ => None,
    };
    by.map(Question)
}
