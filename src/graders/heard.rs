//! What an agent said, as graders read it from the kept files of its trial.

use std::path::Path;

use crate::layers::Spent;
use crate::model::{AgentEvent, Cut, EventKind};
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

/// The last words of an agent.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// They themselves; none where it said nothing.
    pub(super) text: Option<String>,
    /// Why there may be more to them.
    pub(super) gap: Option<String>,
}

impl Words {
    /// They themselves, where they are whole.
    pub(super) fn whole(self) -> Result<Option<String>, super::grade::Opinion> {
        match self.gap {
            Some(why) => Err(super::grade::error(why)),
            None => Ok(self.text),
        }
    }
}

/// The agent's last words: the answer that its stream names as such, else the texts after its last call.
pub(super) fn last_words(events: &Path) -> Result<Words, String> {
    let mut words = LastWords::default();
    let dropped = each(events, |event| words.take(&event))?;
    Ok(words.finish(dropped))
}

/// Listens for the last words.
#[derive(Debug, Default)]
pub(super) struct LastWords {
    answer: Option<String>,
    said: Vec<String>,
    /// Whether the answer, and what was said since the last call, was cut.
    cut: (bool, bool),
    /// Whether the answer was told last.
    is_over: bool,
}

impl LastWords {
    /// Takes in what came next.
    pub(super) fn take(&mut self, event: &AgentEvent) {
        match &event.kind {
            EventKind::Finished {
                answer: Some(text), ..
            } => {
                self.answer = Some(text.clone());
                self.cut.0 = self.cut.1;
                self.is_over = true;
            }
            EventKind::Message { text } => {
                self.said.push(text.clone());
                self.is_over = false;
            }
            EventKind::ToolStarted(_) => {
                self.said.clear();
                self.cut.1 = false;
                self.is_over = false;
            }
            EventKind::Cut(Cut::Words | Cut::List) => {
                self.cut.1 = true;
                self.cut.0 |= self.is_over;
            }
            _ => {}
        }
    }

    /// What they were, where so many events were not kept.
    pub(super) fn finish(self, dropped: u64) -> Words {
        let said = (!self.said.is_empty()).then(|| self.said.join("\n"));
        let answer = self.answer.filter(|text| !text.trim().is_empty());
        let is_cut = if answer.is_some() {
            self.cut.0
        } else {
            self.cut.1
        };
        let text = answer.or(said);
        let gap = if dropped > 0 {
            Some(format!("answer_cut: {}", not_kept(dropped)))
        } else {
            let kept = text.as_ref().map_or(0, String::len);
            is_cut.then(|| format!("answer_cut: it goes on after {kept} bytes, which are kept"))
        };
        Words { text, gap }
    }
}

/// That a log of events was full.
pub(super) fn not_kept(dropped: u64) -> String {
    format!("{dropped} events were not kept, since events.jsonl was full")
}

/// What tools told the agent.
pub(super) fn told_by_tools(events: &Path) -> Result<Vec<String>, String> {
    let mut told = Vec::new();
    let mut is_cut = false;
    let dropped = each(events, |event| match event.kind {
        EventKind::ToolEnded(result) => told.push(result.output),
        EventKind::Cut(Cut::Output) => is_cut = true,
        _ => {}
    })?;
    if dropped > 0 {
        return Err(format!("tool_output_cut: {}", not_kept(dropped)));
    }
    if is_cut {
        return Err("tool_output_cut: a tool told more than the 64 KiB that are kept".to_owned());
    }
    Ok(told)
}

/// Calls `each` with every event; a line that cannot be read is an error, since nobody knows what it says. Gives how many
/// events were not kept.
pub(super) fn each(events: &Path, mut each: impl FnMut(AgentEvent)) -> Result<u64, String> {
    let mut reader = read_events(events).map_err(|error| error.to_string())?;
    for event in reader.by_ref() {
        each(event.map_err(|problem| problem.to_string())?);
    }
    Ok(reader.dropped())
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
        | EventKind::Cut(_)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::ToolCall;

    #[test]
    fn last_words_are_whole_or_said_not_to_be() {
        let say = |text: &str| EventKind::Message {
            text: text.to_owned(),
        };
        let end = || EventKind::Finished {
            ok: true,
            answer: Some("b".to_owned()),
        };
        let call = || {
            EventKind::ToolStarted(ToolCall {
                id: "c".to_owned(),
                name: "Read".to_owned(),
                mcp: None,
                command: None,
                arguments: "{}".to_owned(),
                parent: None,
            })
        };
        let cut = || EventKind::Cut(Cut::Words);
        let output = || EventKind::Cut(Cut::Output);
        #[rustfmt::skip]
        let cases = [
            (vec![say("a"), cut()], 0, true),
            (vec![say("a"), cut(), call(), say("b")], 0, false),
            (vec![say("a"), cut(), call(), say("b"), end()], 0, false),
            (vec![say("b"), cut(), end()], 0, true),
            (vec![say("b"), end(), cut()], 0, true),
            (vec![say("b"), call(), output(), end()], 0, false),
            (vec![say("b")], 1, true),
        ];
        for (kinds, dropped, is_cut) in cases {
            let mut words = LastWords::default();
            for kind in &kinds {
                let at = Duration::ZERO;
                let kind = kind.clone();
                words.take(&AgentEvent { at, kind });
            }
            let found = words.finish(dropped);
            assert_eq!(found.gap.is_some(), is_cut, "{kinds:?}: {found:?}");
        }
    }
}
