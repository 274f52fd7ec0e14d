//! Lines that are read in one pass and the same lines read by `serde_json`: both tell the same, recorded or spoiled.
//!
//! A line with a space behind it is the same JSON, and is never read in one pass. And what is borrowed from lines is told,
//! counted and written down as the events are that tell the same.

use std::fs;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::{Hearer, StreamReader, TranscriptText};
use proctor_config::AgentKind;
use proctor_metrics::{Tallied, Tally};
use proctor_model::{AgentEvent, EventKind, Said, StreamReport};

/// Folders of recorded streams whose lines are read in one pass.
const FOLDERS: [(&str, AgentKind); 4] = [
    ("claude-2.1.329", AgentKind::ClaudeCode),
    ("codex-0.169.0", AgentKind::Codex),
    ("qwen-0.24.4", AgentKind::Qwen),
    ("qwen-0.15.10", AgentKind::Qwen),
];

/// Values that may stand where another is expected, and keys that may stand twice.
const VALUES: [&str; 16] = [
    "null",
    "true",
    "false",
    "0",
    "7",
    "-1",
    "1.5",
    "1e400",
    "18446744073709551616",
    "\"x\"",
    "\"\\ud83d\\ude00\\n\"",
    "\"\\ud800\"",
    "[]",
    "{}",
    "[null,{\"type\":\"text\",\"text\":\"a\"},\"b\"]",
    "\"tool_result\"",
];
const KEYS: [&str; 24] = [
    "type",
    "subtype",
    "id",
    "item",
    "message",
    "content",
    "text",
    "thinking",
    "name",
    "input",
    "tool_use_id",
    "is_error",
    "usage",
    "model",
    "error",
    "event",
    "api_message_id",
    "parent_tool_use_id",
    "command",
    "aggregated_output",
    "exit_code",
    "status",
    "result",
    "arguments",
];

fn streams() -> Vec<(AgentKind, String)> {
    let root =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("tests/fixtures/streams");
    let mut streams = Vec::new();
    for (folder, kind) in FOLDERS {
        for entry in fs::read_dir(root.join(folder)).expect("read a folder") {
            let path = entry.expect("an entry").path();
            let is_stream = path.extension().is_some_and(|ending| ending == "jsonl");
            if is_stream && path.metadata().expect("metadata").len() < 60_000 {
                streams.push((kind, fs::read_to_string(path).expect("a stream")));
            }
        }
    }
    streams.sort_by(|one, other| one.1.cmp(&other.1));
    streams
}

/// What a stream tells, where why a line is no event is left out: it names columns.
fn told(kind: AgentKind, lines: &[Vec<u8>], behind: &[u8]) -> (Vec<AgentEvent>, StreamReport) {
    let mut reader = StreamReader::for_kind(kind);
    let mut events = Vec::new();
    for line in lines {
        reader.line(
            &[line.as_slice(), behind].concat(),
            Duration::ZERO,
            &mut events,
        );
    }
    let report = reader.finish(Duration::ZERO, &mut events);
    for event in &mut events {
        if let EventKind::Unparsed { reason } = &mut event.kind {
            reason.clear();
        }
    }
    (events, report)
}

/// What is put down of a stream: its events, its transcript, and what is counted of it.
#[derive(Default)]
struct PutDown {
    events: Vec<AgentEvent>,
    transcript: String,
    text: TranscriptText,
    tally: Tally,
    borrowed: usize,
}

impl PutDown {
    fn take_in(&mut self, fresh: &mut Vec<AgentEvent>) {
        for event in fresh.drain(..) {
            self.tally.see(&event);
            self.text.push(&event, &mut self.transcript);
            self.transcript.push('\n');
            self.events.push(event);
        }
    }

    fn counted(self) -> Tallied {
        self.tally.finish(&[], "kind")
    }
}

impl Hearer for PutDown {
    fn hear(&mut self, at: Duration, said: &Said<'_>) {
        self.borrowed += 1;
        self.tally.see_said(at, said);
        self.text.push_said(at, said, &mut self.transcript);
        self.transcript.push('\n');
        let kind = said.event();
        self.events.push(AgentEvent { at, kind });
    }
}

/// What is put down of a stream whose lines are a second apart.
fn put_down(kind: AgentKind, lines: &[Vec<u8>], borrows: bool) -> PutDown {
    let mut reader = StreamReader::for_kind(kind);
    let mut put = PutDown {
        tally: Tally::watching(&[], 2),
        ..PutDown::default()
    };
    let mut fresh = Vec::new();
    for (line, second) in lines.iter().zip(0..) {
        let at = Duration::from_secs(second);
        if borrows {
            reader.line_heard(line, at, (&mut fresh, &mut put));
        } else {
            reader.line(line, at, &mut fresh);
        }
        put.take_in(&mut fresh);
    }
    put
}

/// Asserts that borrowing changes nothing; says how much was borrowed.
fn same_borrowed(kind: AgentKind, lines: &[Vec<u8>]) -> usize {
    let (heard, made) = (put_down(kind, lines, true), put_down(kind, lines, false));
    assert_eq!(heard.events, made.events);
    assert_eq!(heard.transcript, made.transcript);
    let borrowed = heard.borrowed;
    let (heard, made) = (heard.counted(), made.counted());
    assert_eq!(heard.measures, made.measures);
    let errors =
        |tallied: &Tallied| -> Vec<_> { tallied.errors.iter().map(Result::unwrap).collect() };
    assert_eq!(errors(&heard), errors(&made));
    let calls =
        |tallied: &Tallied| -> Vec<_> { tallied.mcp_calls.iter().map(Result::unwrap).collect() };
    assert_eq!(calls(&heard), calls(&made));
    assert_eq!(heard.stream_only_calls, made.stream_only_calls);
    borrowed
}

fn split(stream: &str) -> Vec<Vec<u8>> {
    stream
        .lines()
        .map(|line| line.as_bytes().to_vec())
        .collect()
}

#[test]
fn recorded_streams_tell_the_same_both_ways() {
    for (kind, stream) in streams() {
        let lines = split(&stream);
        assert_eq!(
            told(kind, &lines, b""),
            told(kind, &lines, b" "),
            "{stream}"
        );
    }
}

#[test]
fn what_is_borrowed_is_put_down_as_its_events_are() {
    let mut borrowed = 0;
    for (kind, stream) in streams() {
        borrowed += same_borrowed(kind, &split(&stream));
    }
    assert!(borrowed > 100, "{borrowed}");
}

#[derive(Debug, Clone)]
enum Spoil {
    Bytes(Vec<u8>),
    Value(&'static str),
    Key(&'static str),
    Member(&'static str, &'static str),
    Cut,
}

fn spoil() -> impl Strategy<Value = Spoil> {
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 1..4).prop_map(Spoil::Bytes),
        4 => select(VALUES.to_vec()).prop_map(Spoil::Value),
        4 => select(KEYS.to_vec()).prop_map(Spoil::Key),
        4 => (select(KEYS.to_vec()), select(VALUES.to_vec())).prop_map(|(key, value)| Spoil::Member(key, value)),
        1 => Just(Spoil::Cut),
    ]
}

/// Spoils a line at one of its members, or at any byte.
fn spoiled(line: &[u8], spoil: &Spoil, place: Index) -> Vec<u8> {
    let mut line = line.to_vec();
    if line.is_empty() {
        return line;
    }
    let any = place.index(line.len());
    let members: Vec<usize> = (0..line.len())
        .filter(|at| line[*at..].starts_with(b"\":"))
        .collect();
    let Some(member) = members.get(any % members.len().max(1)).copied() else {
        return line;
    };
    let key = line[..member]
        .iter()
        .rposition(|byte| *byte == b'"')
        .unwrap_or(0);
    match spoil {
        Spoil::Bytes(bytes) => {
            let end = (any + bytes.len()).min(line.len());
            line.splice(any..end, bytes.iter().copied());
        }
        Spoil::Value(value) => {
            let put = format!("{value},\"zz\":");
            line.splice(member + 2..member + 2, put.bytes());
        }
        Spoil::Key(name) => {
            line.splice(key..member, format!("\"{name}").bytes());
        }
        Spoil::Member(name, value) => {
            line.splice(key..key, format!("\"{name}\":{value},").bytes());
        }
        Spoil::Cut => line.truncate(any),
    }
    line
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn spoiled_streams_tell_the_same_both_ways(
        stream in select(streams()),
        spoils in prop::collection::vec((any::<Index>(), any::<Index>(), spoil()), 1..12),
    ) {
        let (kind, stream) = stream;
        let mut lines = split(&stream);
        for (line, place, spoil) in &spoils {
            let line = line.index(lines.len());
            lines[line] = spoiled(&lines[line], spoil, *place);
        }
        prop_assert_eq!(told(kind, &lines, b""), told(kind, &lines, b" "));
        same_borrowed(kind, &lines);
    }
}
