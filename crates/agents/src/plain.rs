//! Any program as an agent: each line of its output is a message, and its exit code is its end.

use crate::dialect::{Dialect, Sink};
use crate::wire::words;
use proctor_model::{EventKind, StreamReport, Terminal};

/// What is kept of a plain program's output.
#[derive(Debug, Default)]
pub(super) struct PlainStream {
    report: StreamReport,
}

impl Dialect for PlainStream {
    fn speaks_json(&self) -> bool {
        false
    }

    /// Takes a line as a message.
    fn line(&mut self, line: &str, sink: &mut Sink<'_>) -> Result<(), String> {
        let text = words(line);
        self.report.answer = Some(text.clone());
        sink.push(EventKind::Message { text });
        Ok(())
    }

    fn done(&self) -> bool {
        false
    }

    fn report(&self) -> &StreamReport {
        &self.report
    }

    /// The last line is the answer. There is no final event to wait for, so the stream always counts as done.
    fn finish(self: Box<Self>, _sink: &mut Sink<'_>) -> StreamReport {
        StreamReport {
            terminal: Terminal::Done,
            ..self.report
        }
    }
}
