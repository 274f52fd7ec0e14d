//! The reader of an agent's output: lines in, events out, a report at the end. No bytes can break it.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::value::RawValue;

use crate::agents::claude::ClaudeStream;
use crate::agents::codex::CodexStream;
use crate::agents::plain::PlainStream;
use crate::agents::wire::{Head, border};
use crate::config::{AgentKind, AgentSpec};
use crate::model::{AgentEvent, EventKind, ProviderFault, StreamReport, Terminal};

/// Names that stand in every row are kept on one line, up to this many bytes; the raw output holds the rest.
const NAME_CAP: usize = 200;

/// Reads what one agent prints, line by line.
#[derive(Debug)]
pub struct StreamReader {
    dialect: Dialect,
    begun: bool,
    events: u64,
    unknown: u64,
    unparsed: u64,
    fault: Option<ProviderFault>,
}

#[derive(Debug)]
enum Dialect {
    Claude(Box<ClaudeStream>),
    Codex(Box<CodexStream>),
    Plain(PlainStream),
}

/// Where a dialect puts what it reads.
pub(super) struct Sink<'a> {
    at: Duration,
    out: &'a mut Vec<AgentEvent>,
}

impl Sink<'_> {
    /// Adds an event.
    pub(super) fn push(&mut self, kind: EventKind) {
        self.out.push(AgentEvent { at: self.at, kind });
    }
}

impl StreamReader {
    /// A reader for what `agent` prints; a replay is read as what it plays.
    #[must_use]
    pub fn new(agent: &AgentSpec) -> Self {
        let kind = match (&agent.replay, agent.kind) {
            (Some(replay), AgentKind::Replay) => replay.plays,
            (_, kind) => kind,
        };
        Self::for_kind(kind)
    }

    /// A reader for what an agent of this kind prints.
    #[must_use]
    pub fn for_kind(kind: AgentKind) -> Self {
        let dialect = match kind {
            AgentKind::ClaudeCode => Dialect::Claude(Box::default()),
            AgentKind::Codex => Dialect::Codex(Box::default()),
            AgentKind::Command | AgentKind::Replay => Dialect::Plain(PlainStream::default()),
        };
        Self {
            dialect,
            begun: false,
            events: 0,
            unknown: 0,
            unparsed: 0,
            fault: None,
        }
    }

    /// Reads one line of standard output, with or without its line end; blank lines are nothing.
    pub fn line(&mut self, line: &[u8], at: Duration, out: &mut Vec<AgentEvent>) {
        // Nearly every line is text, which is quicker to see than to mend.
        let text =
            std::str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
        let mut text = text.trim_end_matches(['\n', '\r']);
        if !std::mem::replace(&mut self.begun, true) {
            text = text.trim_start_matches('\u{feff}');
        }
        if text.trim().is_empty() {
            return;
        }
        let seen = out.len();
        let mut sink = Sink { at, out };
        let read = match &mut self.dialect {
            Dialect::Claude(_) if !text.trim_start().starts_with('{') => {
                ClaudeStream::bare_line(text, &mut sink)
            }
            // A list could pass for an object's fields in their order.
            Dialect::Codex(_) if !text.trim_start().starts_with('{') => {
                Err("no JSON object".to_owned())
            }
            Dialect::Claude(stream) => stream.line(text, &mut sink),
            Dialect::Codex(stream) => stream.line(text, &mut sink),
            Dialect::Plain(stream) => {
                stream.line(text, &mut sink);
                Ok(())
            }
        };
        match read {
            Ok(()) => self.events += 1,
            Err(reason) => sink.push(EventKind::Unparsed { reason }),
        }
        self.count(&out[seen..]);
    }

    /// Reads one line of standard error; most say nothing that is an event.
    pub fn stderr_line(&mut self, line: &[u8], at: Duration, out: &mut Vec<AgentEvent>) {
        let text = String::from_utf8_lossy(line);
        let seen = out.len();
        let mut sink = Sink { at, out };
        match &mut self.dialect {
            Dialect::Claude(stream) => stream.stderr_line(text.trim_end(), &mut sink),
            Dialect::Codex(stream) => stream.stderr_line(text.trim_end(), &mut sink),
            Dialect::Plain(_) => {}
        }
        self.count(&out[seen..]);
    }

    /// Whether the agent said that it is done and nothing speaks for more to come: no sub-agent still works in the
    /// background, and no event came after the final one. What arms the linger limit should ask this.
    #[must_use]
    pub fn done(&self) -> bool {
        match &self.dialect {
            Dialect::Claude(stream) => stream.done(),
            Dialect::Codex(stream) => stream.done(),
            Dialect::Plain(_) => false,
        }
    }

    /// Reads what an agent that printed no final event wrote to `{OUT_JSON}`: one event, or a list of them. What is no JSON,
    /// such as Codex's last message, is nothing.
    pub fn file(&mut self, bytes: &[u8], at: Duration, out: &mut Vec<AgentEvent>) {
        let has_ended = match &self.dialect {
            Dialect::Claude(stream) => stream.has_ended(),
            Dialect::Codex(stream) => stream.has_ended(),
            Dialect::Plain(_) => true,
        };
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if has_ended {
            return;
        }
        if let Ok(events) = serde_json::from_slice::<Vec<&RawValue>>(bytes) {
            for event in events {
                self.line(event.get().as_bytes(), at, out);
            }
        } else if serde_json::from_slice::<Head<'_>>(bytes).is_ok_and(|head| head.kind.is_some()) {
            self.line(bytes, at, out);
        }
    }

    /// Ends the stream. A tool call that never ended stays open; no adapter has an event to add today, but one may.
    #[must_use]
    pub fn finish(self, _at: Duration, _out: &mut Vec<AgentEvent>) -> StreamReport {
        let mut report = match self.dialect {
            Dialect::Claude(stream) => stream.finish(),
            Dialect::Codex(stream) => stream.finish(),
            Dialect::Plain(stream) => stream.finish(),
        };
        for name in [&mut report.model, &mut report.cli_version]
            .into_iter()
            .flatten()
        {
            *name = name[..border(name, NAME_CAP)].replace(char::is_control, " ");
        }
        report.events = self.events;
        report.unknown_events = self.unknown;
        report.unparsed_lines = self.unparsed;
        report.provider_fault = self.fault.map(|fault| ProviderFault {
            fatal: fault.fatal && report.terminal != Terminal::Done,
            ..fault
        });
        report
    }

    fn count(&mut self, events: &[AgentEvent]) {
        for event in events {
            match &event.kind {
                EventKind::Unknown { .. } => self.unknown += 1,
                EventKind::Unparsed { .. } => self.unparsed += 1,
                EventKind::ProviderFault(fault)
                    if fault.fatal || !self.fault.as_ref().is_some_and(|known| known.fatal) =>
                {
                    self.fault = Some(fault.clone());
                }
                _ => {}
            }
        }
    }
}
