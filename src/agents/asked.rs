//! What an agent is asked before it starts: which settings it goes by, where its kind can tell them.

use std::ffi::OsString;

use crate::agents::invocation::Invocation;
use crate::agents::opencode::InForce;
use crate::config::{AgentKind, AgentSpec};

/// How an agent answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Whether it came to its end with exit code 0, and all that it said was heard.
    pub succeeded: bool,
    /// How it ended, in words.
    pub ended: String,
    /// What it said.
    pub stdout: Vec<u8>,
    /// What it said besides.
    pub stderr: Vec<u8>,
}

/// What follows from an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// It is to be asked this, by this command line.
    Further(Vec<OsString>),
    /// The settings in force are those that the scenario asks for.
    Fit,
    /// It did not tell its settings, for this reason.
    Untold(String),
    /// With settings like these it would measure something else: what is in the way, and what to do.
    Refused(String),
}

/// What is asked of an agent, one command line after the other.
#[derive(Debug)]
pub struct Question(InForce);

impl Question {
    /// What is asked first.
    #[must_use]
    pub fn first(&self) -> Asked {
        self.0.first()
    }

    /// What follows from the answer to that which was asked last.
    pub fn heard(&mut self, answer: &Answer) -> Asked {
        self.0.heard(answer)
    }
}

/// What an agent that is to be started so can be asked of its settings; `None` for kinds that cannot tell them, and where the
/// command takes no servers, so that nothing is switched off either.
#[must_use]
pub fn settings_question(agent: &AgentSpec, invocation: &Invocation) -> Option<Question> {
    let takes_servers = agent.command.iter().any(|word| word == "{EXTRA_ARGS}");
    match agent.kind {
        AgentKind::Opencode if takes_servers => Some(Question(InForce::of(invocation))),
        _ => None,
    }
}
