//! The minimal transcript: one short, safe line per event.

use std::fmt::Write as _;
use std::time::Duration;

use crate::model::{AgentEvent, EventKind, ToolCall, ToolResult};

/// Characters of a line at most, before control characters are escaped.
const LINE_CAP: usize = 2000;

/// The transcript's line for `event`, without a line end; `None` for events that say nothing to a reader.
#[must_use]
pub fn transcript_line(event: &AgentEvent) -> Option<String> {
    let text = match &event.kind {
        EventKind::Started { .. } => started(&event.kind),
        EventKind::Message { text } => format!("message: {text}"),
        EventKind::Reasoning { text } if text.is_empty() => return None,
        EventKind::Reasoning { text } => format!("reasoning: {text}"),
        EventKind::ToolStarted(call) => called(call),
        EventKind::ToolEnded(result) => answered(result),
        EventKind::FilesChanged { changes, ok } => files(changes, *ok),
        EventKind::UsageSeen(_) | EventKind::CostSeen(_) => return None,
        EventKind::ProviderFault(fault) => {
            let end = if fault.fatal { "fatal" } else { "goes on" };
            let status = fault
                .status
                .map_or_else(String::new, |status| format!(", {status}"));
            format!(
                "provider: {:?}{status}, {end}: {}",
                fault.kind, fault.message
            )
        }
        EventKind::Warning { text } => format!("warning: {text}"),
        EventKind::Finished { ok, answer } => {
            let end = if *ok { "well" } else { "in failure" };
            format!(
                "finished {end}: {}",
                answer.as_deref().unwrap_or("no answer")
            )
        }
        EventKind::Unknown { name } => format!("unknown event: {name}"),
        EventKind::Unparsed { reason } => format!("no event: {reason}"),
    };
    let mut line = moment(event.at);
    push_safe(&mut line, &text);
    Some(line)
}

/// Seconds with three decimals, rounded.
fn moment(at: Duration) -> String {
    let millis = (at + Duration::from_micros(500)).as_millis();
    format!("[{:5}.{:03}] ", millis / 1000, millis % 1000)
}

fn started(kind: &EventKind) -> String {
    let EventKind::Started {
        session,
        model,
        cli_version,
        mcp_servers,
        tools,
    } = kind
    else {
        return String::new();
    };
    let mut text = "started".to_owned();
    for (name, value) in [
        ("session", session),
        ("model", model),
        ("version", cli_version),
    ] {
        if let Some(value) = value {
            // Writing to a String cannot fail.
            _ = write!(text, " {name}={value}");
        }
    }
    if !tools.is_empty() {
        _ = write!(text, " tools={}", tools.len());
    }
    for server in mcp_servers {
        _ = write!(text, " mcp={}:{}", server.name, server.status);
    }
    text
}

fn called(call: &ToolCall) -> String {
    let inside = if call.parent.is_some() {
        " (sub-agent)"
    } else {
        ""
    };
    let with = call.command.as_deref().unwrap_or(&call.arguments);
    format!("call {}{inside}: {with}", call.name)
}

fn answered(result: &ToolResult) -> String {
    let end = if result.is_error { "error" } else { "ok" };
    let exit = result
        .exit_code
        .map_or_else(String::new, |code| format!(", exit {code}"));
    format!("  -> {end}{exit}: {}", result.output)
}

fn files(changes: &[(String, String)], ok: bool) -> String {
    let mut text = if ok { "files" } else { "files not changed" }.to_owned();
    for (path, kind) in changes {
        if text.len() > LINE_CAP {
            break;
        }
        _ = write!(text, " {kind}:{path}");
    }
    text
}

/// Adds `text`, cut to the cap, on one line, with nothing in it that a terminal would act on.
fn push_safe(line: &mut String, text: &str) {
    let plain = |byte: u8| (b' '..=b'~').contains(&byte);
    if text.len() <= LINE_CAP && text.bytes().all(plain) {
        return line.push_str(text);
    }
    for (count, character) in text.chars().enumerate() {
        if count == LINE_CAP {
            line.push('…');
            break;
        }
        match character {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            odd if odd.is_control() || turns_direction(odd) => {
                _ = write!(line, "<U+{:04X}>", u32::from(odd));
            }
            plain => line.push(plain),
        }
    }
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
