//! The minimal transcript: one short, safe line per event.

use std::fmt::{self, Write};
use std::time::Duration;

use proctor_model::{AgentEvent, EventKind, ProviderFault, Said, Spelled, ToolCall, ToolResult};
use proctor_record::{run_of_plain, run_of_printable};

/// Characters of a line at most, before control characters are escaped.
const LINE_CAP: usize = 2000;

/// The transcript's line for `event`, without a line end; `None` for events that say nothing to a reader.
#[must_use]
pub fn transcript_line(event: &AgentEvent) -> Option<String> {
    let mut text = String::new();
    let is_told = TranscriptText::default().push(event, &mut text);
    is_told.then_some(text)
}

/// Writes lines of a transcript.
#[derive(Debug, Default)]
pub struct TranscriptText {
    /// A time, and how a line of that time begins: what came at once has one time.
    begin: (Duration, String),
}

impl TranscriptText {
    /// Adds the line for `event`, without a line end; says `false` for events that say nothing to a reader.
    pub fn push(&mut self, event: &AgentEvent, text: &mut String) -> bool {
        let is_quiet = match &event.kind {
            EventKind::UsageSeen(_) | EventKind::CostSeen(_) => true,
            EventKind::Reasoning { text } => text.is_empty(),
            _ => false,
        };
        if is_quiet {
            return false;
        }
        self.begin(event.at, text);
        put(event, &mut Line::new(text));
        true
    }

    /// The same of what is borrowed from a line of a stream.
    pub fn push_said(&mut self, at: Duration, said: &Said<'_>, text: &mut String) -> bool {
        if matches!(said, Said::Reasoning(told) if told.inside().is_empty()) {
            return false;
        }
        self.begin(at, text);
        put_said(said, &mut Line::new(text));
        true
    }

    fn begin(&mut self, now: Duration, text: &mut String) {
        let (at, begin) = &mut self.begin;
        if *at != now || begin.is_empty() {
            *at = now;
            begin.clear();
            // Three decimals, rounded.
            push_seconds(now + Duration::from_micros(500), begin);
        }
        text.push_str(begin);
    }
}

fn put(event: &AgentEvent, line: &mut Line<'_>) {
    // Writing to a line cannot fail: what is beyond the cap is left out.
    _ = match &event.kind {
        EventKind::UsageSeen(_) | EventKind::CostSeen(_) => Ok(()),
        EventKind::Started { .. } => started(line, &event.kind),
        EventKind::Message { text } => line.pair("message: ", text),
        EventKind::Reasoning { text } => line.pair("reasoning: ", text),
        EventKind::ToolStarted(call) => called(line, call),
        EventKind::ToolEnded(result) => answered(line, result),
        EventKind::FilesChanged { changes, ok } => files(line, changes, *ok),
        EventKind::ProviderFault(fault) => failed(line, fault),
        EventKind::Warning { text } => line.pair("warning: ", text),
        EventKind::Finished { ok, answer } => {
            let end = if *ok {
                "finished well: "
            } else {
                "finished in failure: "
            };
            line.pair(end, answer.as_deref().unwrap_or("no answer"))
        }
        EventKind::Unknown { name } => line.pair("unknown event: ", name),
        EventKind::Unparsed { reason } => line.pair("no event: ", reason),
        EventKind::Cut(what) => line.pair("cut, and not kept whole: ", what.as_str()),
    };
}

fn put_said(said: &Said<'_>, line: &mut Line<'_>) {
    // Writing to a line cannot fail.
    _ = match said {
        Said::Message(text) => line.spelled("message: ", *text),
        Said::Reasoning(text) => line.spelled("reasoning: ", *text),
        Said::Called(call) => {
            let name = line.pair("call ", call.name);
            name.and_then(|()| match call.command {
                Some(command) => line.spelled(": ", command),
                None => line.pair(": ", &call.arguments.text()),
            })
        }
        Said::Answered(answer) => ended(line, (answer.is_error, answer.exit_code))
            .and_then(|()| line.spelled(": ", answer.output)),
    };
}

fn failed(line: &mut Line, fault: &ProviderFault) -> fmt::Result {
    write!(line, "provider: {:?}", fault.kind)?;
    if let Some(status) = fault.status {
        write!(line, ", {status}")?;
    }
    let end = if fault.fatal {
        ", fatal: "
    } else {
        ", goes on: "
    };
    line.pair(end, &fault.message)
}

fn started(line: &mut Line, kind: &EventKind) -> fmt::Result {
    let EventKind::Started {
        session,
        model,
        cli_version,
        mcp_servers,
        tools,
    } = kind
    else {
        return Ok(());
    };
    line.write_str("started")?;
    for (name, value) in [
        ("session", session),
        ("model", model),
        ("version", cli_version),
    ] {
        if let Some(value) = value {
            write!(line, " {name}={value}")?;
        }
    }
    if !tools.is_empty() {
        write!(line, " tools={}", tools.len())?;
    }
    for server in mcp_servers {
        write!(line, " mcp={}:{}", server.name, server.status)?;
    }
    Ok(())
}

fn called(line: &mut Line, call: &ToolCall) -> fmt::Result {
    line.pair("call ", &call.name)?;
    let inside = if call.parent.is_some() {
        " (sub-agent): "
    } else {
        ": "
    };
    line.pair(inside, call.command.as_deref().unwrap_or(&call.arguments))
}

fn answered(line: &mut Line, result: &ToolResult) -> fmt::Result {
    ended(line, (result.is_error, result.exit_code))?;
    line.pair(": ", &result.output)
}

fn ended(line: &mut Line, (is_error, exit_code): (bool, Option<i32>)) -> fmt::Result {
    line.write_str(if is_error { "  -> error" } else { "  -> ok" })?;
    match exit_code {
        Some(0) => line.write_str(", exit 0"),
        Some(code) => write!(line, ", exit {code}"),
        None => Ok(()),
    }
}

fn files(line: &mut Line, changes: &[(String, String)], ok: bool) -> fmt::Result {
    line.write_str(if ok { "files" } else { "files not changed" })?;
    for (path, kind) in changes {
        if line.room == 0 {
            break;
        }
        write!(line, " {kind}:{path}")?;
    }
    Ok(())
}

/// A line in the making: cut to the cap, with nothing in it that a terminal would act on.
struct Line<'t> {
    text: &'t mut String,
    /// Characters that still fit.
    room: usize,
    cut: bool,
}

impl<'t> Line<'t> {
    fn new(text: &'t mut String) -> Self {
        Self {
            text,
            room: LINE_CAP,
            cut: false,
        }
    }

    fn pair(&mut self, first: &str, second: &str) -> fmt::Result {
        self.write_str(first)?;
        self.write_str(second)
    }

    fn spelled(&mut self, first: &str, text: Spelled<'_>) -> fmt::Result {
        self.write_str(first)?;
        let mut rest = text.inside();
        while let Some((escaped, length)) = self.plain(rest, run_of_plain) {
            rest = &rest[length..];
            if escaped != '\\' {
                self.odd(escaped)?;
                rest = &rest[escaped.len_utf8()..];
                continue;
            }
            let (character, length) = Spelled::unescaped(rest);
            self.odd(character)?;
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(())
    }

    /// Puts down what is plain at the beginning of `rest`, as far as there is room: the character that comes next, for which
    /// room is kept, and where it stands.
    fn plain(&mut self, rest: &str, run: impl Fn(&[u8]) -> usize) -> Option<(char, usize)> {
        // Such bytes are characters.
        let plain = run(&rest.as_bytes()[..rest.len().min(self.room)]);
        self.text.push_str(&rest[..plain]);
        self.room -= plain;
        let next = rest[plain..].chars().next()?;
        if self.room == 0 {
            if !std::mem::replace(&mut self.cut, true) {
                self.text.push('…');
            }
            return None;
        }
        self.room -= 1;
        Some((next, plain))
    }

    /// Puts down a character that may be none to show.
    fn odd(&mut self, character: char) -> fmt::Result {
        match character {
            '\n' => self.text.push_str("\\n"),
            '\r' => self.text.push_str("\\r"),
            '\t' => self.text.push_str("\\t"),
            odd if odd.is_control() || turns_direction(odd) => {
                write!(self.text, "<U+{:04X}>", u32::from(odd))?;
            }
            plain => self.text.push(plain),
        }
        Ok(())
    }
}

impl fmt::Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((character, place)) = self.plain(rest, run_of_printable) {
            self.odd(character)?;
            rest = &rest[place + character.len_utf8()..];
        }
        Ok(())
    }
}

/// `[    1.234] `
fn push_seconds(at: Duration, text: &mut String) {
    let (mut rest, mut digits) = (at.as_secs(), [b' '; 20]);
    let mut first = digits.len();
    while rest > 0 || first == digits.len() {
        first -= 1;
        digits[first] = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        rest /= 10;
    }
    text.push('[');
    let first = first.min(digits.len() - 5);
    text.extend(digits[first..].iter().copied().map(char::from));
    text.push('.');
    let millis = at.subsec_millis();
    for power in [100, 10, 1] {
        text.push(char::from_digit(millis / power % 10, 10).unwrap_or('0'));
    }
    text.push_str("] ");
}

/// Characters that reorder or split the text around them.
const fn turns_direction(character: char) -> bool {
    matches!(character, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(kind: EventKind) -> Option<String> {
        transcript_line(&AgentEvent {
            at: Duration::from_millis(12_345),
            kind,
        })
    }

    #[test]
    fn a_line_tells_when_and_what() {
        let text = "Done.\nBye".to_owned();
        assert_eq!(
            line(EventKind::Message { text }).unwrap(),
            "[   12.345] message: Done.\\nBye"
        );
        let call = ToolCall {
            id: "1".to_owned(),
            name: "shell".to_owned(),
            mcp: None,
            command: Some("ls".to_owned()),
            arguments: "{}".to_owned(),
            parent: None,
        };
        assert_eq!(
            line(EventKind::ToolStarted(call)).unwrap(),
            "[   12.345] call shell: ls"
        );
    }

    #[test]
    fn seconds_stand_in_a_column() {
        for millis in [
            0,
            7,
            999,
            1_000,
            12_345,
            99_999_999,
            100_000_000,
            u64::MAX / 1_000_000,
        ] {
            let mut text = String::new();
            push_seconds(Duration::from_millis(millis), &mut text);
            assert_eq!(text, format!("[{:5}.{:03}] ", millis / 1000, millis % 1000));
        }
    }

    #[test]
    fn escape_sequences_and_reordering_are_shown_not_done() {
        let text = "\u{1b}]52;c;x\u{7} \u{202e}abc".to_owned();
        let line = line(EventKind::Warning { text }).unwrap();
        assert_eq!(
            line,
            "[   12.345] warning: <U+001B>]52;c;x<U+0007> <U+202E>abc"
        );
    }

    proptest! {
        #[test]
        fn every_line_is_one_short_line(text in any::<String>(), times in 1_usize..500) {
            let line = line(EventKind::Message { text: text.repeat(times) }).unwrap();
            prop_assert!(!line.contains(char::is_control));
            prop_assert!(line.chars().count() <= 12 + 8 * (LINE_CAP + 1));
        }
    }
}
