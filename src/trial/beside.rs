//! Whether a fault of the provider was told while a command of the agent ran: that could have written it into the stream.

use crate::model::{AgentEvent, EventKind, Said, id_hash};

/// Commands that have begun and not ended, by their [`id_hash`]: a list that is looked through at each end of a call.
#[derive(Debug, Default)]
pub(super) struct BesideCommands {
    open: Vec<u64>,
    told: bool,
}

impl BesideCommands {
    /// Takes in what was said next.
    pub(super) fn see(&mut self, event: &AgentEvent) {
        match &event.kind {
            EventKind::ToolStarted(call) if call.command.is_some() => self.begun(&call.id),
            EventKind::ToolEnded(result) => self.ended(&result.id),
            EventKind::ProviderFault(_) => self.told = !self.open.is_empty(),
            _ => {}
        }
    }

    /// Takes in what is borrowed from a line of a stream.
    pub(super) fn see_said(&mut self, said: &Said<'_>) {
        match said {
            Said::Called(call) if call.command.is_some() => self.begun(call.id),
            Said::Answered(answer) => self.ended(answer.id),
            _ => {}
        }
    }

    fn begun(&mut self, id: &str) {
        /// Nobody runs more at once.
        const MOST: usize = 256;
        if self.open.len() < MOST {
            self.open.push(id_hash(id));
        }
    }

    fn ended(&mut self, id: &str) {
        let ended = id_hash(id);
        if self.open.contains(&ended) {
            self.open.retain(|id| *id != ended);
        }
    }

    /// Whether one runs that has not ended.
    pub(super) const fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether the last fault came while one ran.
    pub(super) const fn fault_told(&self) -> bool {
        self.told
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::{Answered, Arguments, Called, ProviderFault, ProviderFaultKind, Spelled};

    #[test]
    fn a_fault_is_beside_a_command_from_its_begin_to_its_end_however_both_are_told() {
        let command = Some(Spelled::new("ls", false));
        let call = |id, command| {
            Said::Called(Called {
                id,
                name: "shell",
                mcp: None,
                command,
                arguments: Arguments::Json("{}"),
            })
        };
        let answer = |id| {
            Said::Answered(Answered {
                id,
                is_error: false,
                exit_code: None,
                output: Spelled::NOTHING,
            })
        };
        let fault = AgentEvent {
            at: Duration::ZERO,
            kind: EventKind::ProviderFault(ProviderFault {
                kind: ProviderFaultKind::Other,
                status: None,
                message: String::new(),
                fatal: false,
                reset: None,
            }),
        };
        for borrows in [true, false] {
            let mut beside = BesideCommands::default();
            let mut told_after = |said: &Said<'_>| {
                if borrows {
                    beside.see_said(said);
                } else {
                    let (at, kind) = (Duration::ZERO, said.event());
                    beside.see(&AgentEvent { at, kind });
                }
                beside.see(&fault);
                beside.fault_told()
            };
            assert!(!told_after(&call("1", None)), "no command");
            assert!(told_after(&call("2", command)));
            assert!(told_after(&answer("1")));
            assert!(!told_after(&answer("2")));
        }
    }
}
