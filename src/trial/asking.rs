//! Whether an agent may have a request to its model open: where it is stopped then, nobody tells what that request cost.

use crate::model::{AgentEvent, EventKind, Said, id_hash};

/// Tools that let a model work on something of its own.
const STARTERS: [&str; 5] = ["Agent", "Task", "agent", "spawn_agent", "task"];

/// Calls of tools that have begun and not ended. A model that has called one waits for its answer, and asks for nothing.
#[derive(Debug, Default)]
pub(super) struct Asking {
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    id: u64,
    /// The call of the sub-agent that made it.
    parent: Option<u64>,
    starts_a_model: bool,
}

impl Asking {
    /// Takes in what was said next.
    pub(super) fn see(&mut self, event: &AgentEvent) {
        match &event.kind {
            EventKind::ToolStarted(call) => {
                let parent = call.parent.as_deref();
                self.begun(&call.id, (parent, &call.name));
            }
            EventKind::ToolEnded(result) => self.ended(&result.id),
            _ => {}
        }
    }

    /// Takes in what is borrowed from a line of a stream: no sub-agent speaks so.
    pub(super) fn see_said(&mut self, said: &Said<'_>) {
        match said {
            Said::Called(call) => self.begun(call.id, (None, call.name)),
            Said::Answered(answer) => self.ended(answer.id),
            Said::Message(_) | Said::Reasoning(_) => {}
        }
    }

    fn begun(&mut self, id: &str, (parent, name): (Option<&str>, &str)) {
        /// Nobody runs more at once. Who is not known here counts as asking.
        const MOST: usize = 256;
        if self.open.len() < MOST {
            self.open.push(Open {
                id: id_hash(id),
                parent: parent.map(id_hash),
                starts_a_model: STARTERS.contains(&name),
            });
        }
    }

    fn ended(&mut self, id: &str) {
        let ended = id_hash(id);
        if self.open.iter().any(|call| call.id == ended) {
            self.open.retain(|call| call.id != ended);
        }
    }

    /// Whether a model may be asking: the main one, or that of a sub-agent, has called no tool whose answer it waits for.
    pub(super) fn may_be_open(&self) -> bool {
        let waits = |who| self.open.iter().any(|call| call.parent == who);
        let sub_agents = self.open.iter().filter(|call| call.starts_a_model);
        let mut models = std::iter::once(None).chain(sub_agents.map(|call| Some(call.id)));
        models.any(|who| !waits(who))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::{ToolCall, ToolResult};

    fn asking(said: &[&str]) -> bool {
        let mut asking = Asking::default();
        for word in said {
            let mut words = word.split(' ');
            let id = words.next().unwrap_or_default().to_owned();
            let kind = match words.next() {
                Some(name) => EventKind::ToolStarted(ToolCall {
                    id,
                    name: name.to_owned(),
                    mcp: None,
                    command: None,
                    arguments: String::new(),
                    parent: words.next().map(str::to_owned),
                }),
                None => EventKind::ToolEnded(ToolResult {
                    id,
                    is_error: false,
                    exit_code: None,
                    output: String::new(),
                }),
            };
            let at = Duration::ZERO;
            asking.see(&AgentEvent { at, kind });
        }
        asking.may_be_open()
    }

    #[test]
    fn a_model_asks_unless_it_waits_for_a_tool_and_so_does_that_of_each_sub_agent() {
        for (said, expected) in [
            (&[][..], true),
            (&["1 Bash"], false),
            (&["1 Bash", "1"], true),
            (&["1 Bash", "2 Read", "1"], false),
            (&["1 Agent"], true),
            (&["1 Agent", "2 Bash 1"], false),
            (&["1 Agent", "2 Bash 1", "2"], true),
            (&["1 Agent", "2 Bash 1", "3 task"], true),
            (&["1 Agent", "2 Bash 1", "1", "2"], true),
        ] {
            assert_eq!(asking(said), expected, "{said:?}");
        }
    }
}
