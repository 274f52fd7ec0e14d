//! Calls of tools that sub-agents made, where only session files tell of them.

use std::collections::HashSet;

use proctor_model::id_hash;

/// Calls that are told apart at most; a session with more is no honest one.
const MOST: usize = 100_000;

/// The calls of a session's threads by their ids.
#[derive(Debug, Default)]
pub(super) struct Calls {
    main: HashSet<u64>,
    of_sub_agents: HashSet<u64>,
    had_sub_agents: bool,
}

impl Calls {
    /// There is a sub-agent, whatever it calls.
    pub(super) fn sub_agent(&mut self) {
        self.had_sub_agents = true;
    }

    /// A call of the main thread or of a sub-agent's.
    pub(super) fn call(&mut self, id: &str, of_sub_agent: bool) {
        let calls = if of_sub_agent {
            self.had_sub_agents = true;
            &mut self.of_sub_agents
        } else {
            &mut self.main
        };
        if calls.len() < MOST {
            calls.insert(id_hash(id));
        }
    }

    /// How many calls sub-agents made; none where there was no sub-agent. A thread that was forked repeats those before it.
    pub(super) fn of_sub_agents(&self) -> Option<u64> {
        let own = self.of_sub_agents.difference(&self.main).count();
        self.had_sub_agents.then_some(own as u64)
    }
}
