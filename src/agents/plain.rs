//! Any program as an agent: each line of its output is a message, and its exit code is its end.

use crate::agents::stream::Sink;
use crate::agents::wire::capped;
use crate::model::{EventKind, StreamReport, Terminal};

/// What is kept of a plain program's output.
#[derive(Debug, Default)]
pub(super) struct PlainStream {
    last: Option<String>,
}

impl PlainStream {
    /// Takes a line as a message.
    pub(super) fn line(&mut self, line: &str, sink: &mut Sink<'_>) {
        let text = capped(line);
        self.last = Some(text.clone());
        sink.push(EventKind::Message { text });
    }

    /// The last line is the answer. There is no final event to wait for, so the stream always counts as done.
    pub(super) fn finish(self) -> StreamReport {
        StreamReport {
            terminal: Terminal::Done,
            answer: self.last,
            ..StreamReport::default()
        }
    }
}
