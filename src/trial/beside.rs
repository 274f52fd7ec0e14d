//! Whether a fault of the provider was told while a command of the agent ran: that could have written it into the stream.

use crate::model::{AgentEvent, EventKind};

/// Commands that have begun and not ended.
#[derive(Debug, Default)]
pub(super) struct BesideCommands {
    open: Vec<String>,
    told: bool,
}

impl BesideCommands {
    /// Takes in what was said next.
    pub(super) fn see(&mut self, event: &AgentEvent) {
        /// Nobody runs more at once.
        const MOST: usize = 256;
        match &event.kind {
            EventKind::ToolStarted(call) if call.command.is_some() && self.open.len() < MOST => {
                self.open.push(call.id.clone());
            }
            EventKind::ToolEnded(result) => self.open.retain(|id| *id != result.id),
            EventKind::ProviderFault(_) => self.told = !self.open.is_empty(),
            _ => {}
        }
    }

    /// Whether the last fault came while one ran.
    pub(super) const fn fault_told(&self) -> bool {
        self.told
    }
}
