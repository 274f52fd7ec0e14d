//! What a reader of one CLI's output is, and where it puts what it reads.

use std::fmt;
use std::time::Duration;

use crate::cutting::cut_in;
use crate::wire::capped;
use proctor_model::{
    AgentEvent, EventKind, ModelTokens, ProviderFault, StreamReport, Terminal, Usage,
};

/// What one CLI prints, read line by line.
pub(super) trait Dialect: fmt::Debug + Send {
    /// Whether a line is a JSON object and nothing else.
    fn speaks_json(&self) -> bool {
        true
    }

    /// The names of the MCP servers that the agent was given, where its tools' names do not tell.
    fn serve(&mut self, _names: &[String]) {}

    /// Reads a line of standard output: where lines are objects, one whose unread parts were checked.
    ///
    /// # Errors
    /// Why the line is no event.
    fn line(&mut self, text: &str, sink: &mut Sink<'_>) -> Result<(), String>;

    /// Reads a line that is no object, where lines are objects.
    ///
    /// # Errors
    /// It is nothing that is known.
    fn bare_line(&mut self, _text: &str, _sink: &mut Sink<'_>) -> Result<(), String> {
        Err("no JSON object".to_owned())
    }

    /// Reads one line of standard error.
    fn stderr_line(&mut self, _line: &str, _sink: &mut Sink<'_>) {}

    /// Reads a file of figures beside the stream; whether it was one.
    fn figures(&mut self, _bytes: &[u8], _sink: &mut Sink<'_>) -> bool {
        false
    }

    /// Whether the agent said that it is done and nothing speaks for more to come.
    fn done(&self) -> bool;

    /// What the stream amounts to so far.
    fn report(&self) -> &StreamReport;

    /// The tokens so far by model, where they are told apart; those of no named model have an empty name.
    fn by_model(&self) -> &[ModelTokens] {
        &self.report().by_model
    }

    /// What the stream amounts to in the end.
    fn finish(self: Box<Self>, sink: &mut Sink<'_>) -> StreamReport;
}

/// Where a dialect puts what it reads.
pub(super) struct Sink<'a> {
    at: Duration,
    pub(super) out: &'a mut Vec<AgentEvent>,
}

impl<'a> Sink<'a> {
    pub(super) fn new(at: Duration, out: &'a mut Vec<AgentEvent>) -> Self {
        Self { at, out }
    }

    /// Adds an event.
    pub(super) fn push(&mut self, kind: EventKind) {
        self.push_at(self.at, kind);
    }

    /// Adds an event that was told in pieces, the last of them at `at`; what was cut in it is told right after it.
    pub(super) fn push_at(&mut self, at: Duration, kind: EventKind) {
        let cut = cut_in(&kind);
        self.out.push(AgentEvent { at, kind });
        let kind = cut.map(|what| EventKind::Cut { what });
        self.out.extend(kind.map(|kind| AgentEvent { at, kind }));
    }

    /// Adds a warning, cut to what is kept of texts.
    pub(super) fn warn(&mut self, text: &str) {
        let text = capped(text);
        self.push(EventKind::Warning { text });
    }

    /// Adds an event of a type that is not known.
    pub(super) fn unknown(&mut self, name: &str) {
        let name = capped(name);
        self.push(EventKind::Unknown { name });
    }

    /// Adds a failure of the provider.
    pub(super) fn fault(&mut self, fault: ProviderFault) {
        self.push(EventKind::ProviderFault(fault));
    }

    /// Adds the tokens of a report, or a warning with these words where they cannot be read.
    pub(super) fn usage(&mut self, usage: Option<Usage>, unreadable: &str) {
        match usage {
            Some(usage) => self.push(EventKind::UsageSeen(usage)),
            None => self.warn(unreadable),
        }
    }

    /// Notes a final event in the report, and adds it.
    pub(super) fn finished(&mut self, ok: bool, report: &mut StreamReport) {
        report.terminal = if ok { Terminal::Done } else { Terminal::Failed };
        report.finals = report.finals.saturating_add(1);
        let answer = report.answer.clone();
        self.push(EventKind::Finished { ok, answer });
    }

    /// When what is read now came.
    pub(super) fn at(&self) -> Duration {
        self.at
    }
}
