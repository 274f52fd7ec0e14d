//! The lines of `events.jsonl` that nearly all lines are, written straight into a text: what `event_wire.rs` would write.

use std::fmt::Write as _;
use std::time::Duration;

use crate::json_text::{push_escaped, push_quoted};
use proctor_model::{
    AgentEvent, Arguments, Called, EventKind, ProviderFault, Said, ToolCall, ToolResult, Usage,
};

/// Writes events.
#[derive(Debug, Default)]
pub(super) struct EventText {
    /// A time, and how a line of that time begins: what came at once has one time.
    begin: (Duration, String),
}

impl EventText {
    /// Adds the line of an event, without its end; adds nothing and says so where its kind is a rare one.
    pub(super) fn push(&mut self, event: &AgentEvent, line: &mut String) -> bool {
        let (kind, text) = match &event.kind {
            EventKind::Message { text } => ("message", text),
            EventKind::Reasoning { text } => ("reasoning", text),
            EventKind::Warning { text } => ("warning", text),
            EventKind::ToolStarted(call) => {
                self.begin(event.at, "tool_started", line);
                return push_call(call, line);
            }
            EventKind::ToolEnded(result) => {
                self.begin(event.at, "tool_ended", line);
                return push_result(result, line);
            }
            EventKind::UsageSeen(usage) => {
                self.begin(event.at, "usage", line);
                return push_usage(usage, line);
            }
            EventKind::ProviderFault(fault) if fault.reset.is_none() => {
                self.begin(event.at, "provider_fault", line);
                return push_fault(fault, line);
            }
            EventKind::FilesChanged { changes, ok } => {
                self.begin(event.at, "files_changed", line);
                return push_files(changes, *ok, line);
            }
            _ => return false,
        };
        self.begin(event.at, kind, line);
        push_member(",\"text\":", text, line);
        line.push('}');
        true
    }

    /// Adds the line of what is borrowed from a line of a stream: texts go as they are spelled there.
    pub(super) fn push_said(&mut self, at: Duration, said: &Said<'_>, line: &mut String) {
        match said {
            Said::Message(text) => {
                self.begin(at, "message", line);
                push_plain(",\"text\":\"", text.inside(), line);
            }
            Said::Reasoning(text) => {
                self.begin(at, "reasoning", line);
                push_plain(",\"text\":\"", text.inside(), line);
            }
            Said::Called(call) => {
                self.begin(at, "tool_started", line);
                push_called(call, line);
            }
            Said::Answered(answer) => {
                self.begin(at, "tool_ended", line);
                push_plain(",\"id\":\"", answer.id, line);
                push_ended((answer.is_error, answer.exit_code), line);
                push_plain(",\"output\":\"", answer.output.inside(), line);
            }
        }
        line.push('}');
    }

    fn begin(&mut self, at: Duration, kind: &str, line: &mut String) {
        if self.begin.0 != at || self.begin.1.is_empty() {
            let millis = at.as_secs_f64() * 1e3;
            let millis = serde_json::to_string(&millis).unwrap_or_default();
            self.begin = (at, format!("{{\"at_ms\":{millis},\"type\":\""));
        }
        line.push_str(&self.begin.1);
        line.push_str(kind);
        line.push('"');
    }
}

fn push_member(key: &str, text: &str, line: &mut String) {
    line.push_str(key);
    push_quoted(line, text);
}

/// Adds a member whose text is spelled as JSON already.
fn push_plain(key: &str, inside: &str, line: &mut String) {
    line.push_str(key);
    line.push_str(inside);
    line.push('"');
}

fn push_called(call: &Called<'_>, line: &mut String) {
    push_plain(",\"id\":\"", call.id, line);
    push_plain(",\"name\":\"", call.name, line);
    if let Some((server, tool)) = call.mcp {
        push_plain(",\"mcp\":[\"", server, line);
        push_plain(",\"", tool, line);
        line.push(']');
    }
    if let Some(command) = call.command {
        push_plain(",\"command\":\"", command.inside(), line);
    }
    match call.arguments {
        Arguments::Json(text) => push_member(",\"arguments\":", text, line),
        Arguments::Member(key, value) => {
            for part in [",\"arguments\":\"{\\\"", key, "\\\":\\\""] {
                line.push_str(part);
            }
            push_escaped(line, value.inside());
            line.push_str("\\\"}\"");
        }
    }
}

fn push_call(call: &ToolCall, line: &mut String) -> bool {
    push_member(",\"id\":", &call.id, line);
    push_member(",\"name\":", &call.name, line);
    if let Some((server, tool)) = &call.mcp {
        push_member(",\"mcp\":[", server, line);
        push_member(",", tool, line);
        line.push(']');
    }
    if let Some(command) = &call.command {
        push_member(",\"command\":", command, line);
    }
    push_member(",\"arguments\":", &call.arguments, line);
    if let Some(parent) = &call.parent {
        push_member(",\"parent\":", parent, line);
    }
    line.push('}');
    true
}

fn push_result(result: &ToolResult, line: &mut String) -> bool {
    push_member(",\"id\":", &result.id, line);
    push_ended((result.is_error, result.exit_code), line);
    push_member(",\"output\":", &result.output, line);
    line.push('}');
    true
}

fn push_ended((is_error, exit_code): (bool, Option<i32>), line: &mut String) {
    line.push_str(",\"is_error\":");
    line.push_str(if is_error { "true" } else { "false" });
    match exit_code {
        Some(0) => line.push_str(",\"exit_code\":0"),
        Some(code) => {
            // Writing to a String cannot fail.
            _ = write!(line, ",\"exit_code\":{code}");
        }
        None => {}
    }
}

fn push_usage(usage: &Usage, line: &mut String) -> bool {
    let Usage {
        uncached_input,
        cached_read,
        cache_write,
        output,
    } = usage;
    // Writing to a String cannot fail.
    _ = write!(
        line,
        ",\"uncached_input\":{uncached_input},\"cached_read\":{cached_read},\"cache_write\":{cache_write},\"output\":{output}}}"
    );
    true
}

/// The words of kinds of faults are those of rows.
fn push_fault(fault: &ProviderFault, line: &mut String) -> bool {
    push_member(",\"kind\":", fault.kind.as_str(), line);
    if let Some(status) = fault.status {
        // Writing to a String cannot fail.
        _ = write!(line, ",\"status\":{status}");
    }
    push_member(",\"message\":", &fault.message, line);
    line.push_str(",\"fatal\":");
    line.push_str(if fault.fatal { "true" } else { "false" });
    line.push('}');
    true
}

fn push_files(changes: &[(String, String)], ok: bool, line: &mut String) -> bool {
    line.push_str(",\"changes\":[");
    for (place, (path, kind)) in changes.iter().enumerate() {
        push_member(if place == 0 { "[" } else { ",[" }, path, line);
        push_member(",", kind, line);
        line.push(']');
    }
    line.push_str("],\"ok\":");
    line.push_str(if ok { "true" } else { "false" });
    line.push('}');
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use proctor_model::{Answered, Spelled};

    proptest! {
        #[test]
        fn what_is_borrowed_is_written_as_its_event_is(text in any::<String>(), json in any::<String>(), name in "[a-z_é]{0,9}", code in any::<Option<i8>>()) {
            let inside = json_text_of(&format!("{text}\u{1b}\\\"\n"));
            for inside in [inside.as_str(), "", "plain"] {
                let spelled = Spelled::new(inside, inside.contains('\\'));
                let call = Called {
                    id: &name,
                    name: "shell",
                    mcp: None,
                    command: Some(spelled),
                    arguments: Arguments::Member("command", spelled),
                };
                let answer = Answered {
                    id: &name,
                    is_error: code.is_some(),
                    exit_code: code.map(i32::from),
                    output: spelled,
                };
                let mcp = Called {
                    mcp: Some((&name, "tool")),
                    command: None,
                    arguments: Arguments::Json(&json),
                    ..call
                };
                for said in [
                    Said::Message(spelled),
                    Said::Reasoning(spelled),
                    Said::Called(call),
                    Said::Called(mcp),
                    Said::Answered(answer),
                ] {
                    let at = Duration::from_millis(7);
                    let (mut borrowed, mut made) = (String::new(), String::new());
                    EventText::default().push_said(at, &said, &mut borrowed);
                    let kind = said.event();
                    let event = AgentEvent { at, kind };
                    prop_assert!(EventText::default().push(&event, &mut made));
                    prop_assert_eq!(borrowed, made);
                }
            }
        }
    }

    fn json_text_of(text: &str) -> String {
        let mut inside = String::new();
        push_escaped(&mut inside, text);
        inside
    }
}
