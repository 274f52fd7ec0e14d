//! What an agent said, as graders read it from the kept files of its trial.

use std::path::Path;

use crate::layers::Spent;
use crate::model::{AgentEvent, EventKind};
use crate::record::{Redactor, Reference, TrialDir, read_events};

/// What an agent said.
#[derive(Debug, Clone, Copy)]
pub struct Heard<'a> {
    /// The folder of the trial in which it said it.
    pub dir: &'a TrialDir,
    /// What was taken out of its files.
    pub redactor: &'a Redactor,
    /// What it spent.
    pub spent: Spent,
    /// What it is compared with.
    pub baseline: Option<&'a Reference>,
}

/// A kept stream of events that cannot be read.
pub(super) fn unreadable(why: impl std::fmt::Display) -> super::grade::Opinion {
    super::grade::error(format!("events_unreadable:{why}"))
}

/// The agent's last words: the answer that its stream names as such, else the texts after its last call. `None` where it
/// said nothing.
pub(super) fn last_words(events: &Path) -> Result<Option<String>, String> {
    let mut words = LastWords::default();
    each(events, |event| words.take(&event))?;
    Ok(words.finish())
}

/// Listens for the last words.
#[derive(Debug, Default)]
pub(super) struct LastWords {
    answer: Option<String>,
    said: Vec<String>,
}

impl LastWords {
    /// Takes in what came next.
    pub(super) fn take(&mut self, event: &AgentEvent) {
        match &event.kind {
            EventKind::Finished {
                answer: Some(text), ..
            } => self.answer = Some(text.clone()),
            EventKind::Message { text } => self.said.push(text.clone()),
            EventKind::ToolStarted(_) => self.said.clear(),
            _ => {}
        }
    }

    /// What they were.
    pub(super) fn finish(self) -> Option<String> {
        let said = (!self.said.is_empty()).then(|| self.said.join("\n"));
        let answer = self.answer.filter(|text| !text.trim().is_empty());
        answer.or(said)
    }
}

/// What tools told the agent.
pub(super) fn told_by_tools(events: &Path) -> Result<Vec<String>, String> {
    let mut told = Vec::new();
    each(events, |event| {
        if let EventKind::ToolEnded(result) = event.kind {
            told.push(result.output);
        }
    })?;
    Ok(told)
}

/// Calls `each` with every event; a line that cannot be read is an error, since nobody knows what it says.
pub(super) fn each(events: &Path, mut each: impl FnMut(AgentEvent)) -> Result<(), String> {
    let reader = read_events(events).map_err(|error| error.to_string())?;
    for event in reader {
        each(event.map_err(|problem| problem.to_string())?);
    }
    Ok(())
}

/// All texts of an event.
pub(super) fn texts(event: AgentEvent) -> Vec<String> {
    match event.kind {
        EventKind::Message { text }
        | EventKind::Reasoning { text }
        | EventKind::Warning { text } => vec![text],
        EventKind::Finished { answer, .. } => answer.into_iter().collect(),
        EventKind::ToolStarted(call) => {
            let arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
            let mut texts = vec![call.arguments, call.name];
            texts.extend(call.command);
            leaves(arguments, &mut texts);
            texts
        }
        EventKind::ToolEnded(result) => vec![result.output],
        EventKind::FilesChanged { changes, .. } => {
            changes.into_iter().map(|(path, _)| path).collect()
        }
        EventKind::ProviderFault(fault) => vec![fault.message],
        EventKind::Started { .. }
        | EventKind::UsageSeen(_)
        | EventKind::CostSeen(_)
        | EventKind::Unknown { .. }
        | EventKind::Unparsed { .. } => Vec::new(),
    }
}

/// Every text in a JSON value, without the escapes of JSON.
fn leaves(value: serde_json::Value, texts: &mut Vec<String>) {
    match value {
        serde_json::Value::String(text) => texts.push(text),
        serde_json::Value::Array(values) => values.into_iter().for_each(|it| leaves(it, texts)),
        serde_json::Value::Object(entries) => {
            for (key, value) in entries {
                texts.push(key);
                leaves(value, texts);
            }
        }
        _ => {}
    }
}
