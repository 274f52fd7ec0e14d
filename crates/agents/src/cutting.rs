//! What of an event is not whole, by the lengths to which texts are kept: whoever judges must know.

use crate::wire::{TEXT_CAP, WORDS_CAP, may_be_cut};
use proctor_model::{Cut, EventKind};

/// What of an event may have been cut, by the lengths to which texts are kept.
pub(super) fn cut_in(kind: &EventKind) -> Option<Cut> {
    let (bytes, cap, cut) = match kind {
        EventKind::Message { text } => (text.len(), WORDS_CAP, Cut::Words),
        EventKind::Finished { answer, .. } => {
            let bytes = answer.as_ref().map_or(0, String::len);
            (bytes, WORDS_CAP, Cut::Words)
        }
        EventKind::ToolStarted(call) => (call.arguments.len(), WORDS_CAP, Cut::Arguments),
        EventKind::ToolEnded(result) => (result.output.len(), TEXT_CAP, Cut::Output),
        _ => return None,
    };
    may_be_cut(bytes, cap).then_some(cut)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::StreamReader;
    use proctor_config::AgentKind;

    /// What is told as cut of lines of `kind`.
    fn cuts(kind: AgentKind, lines: &[String]) -> Vec<Cut> {
        let mut reader = StreamReader::for_kind(kind);
        let mut events = Vec::new();
        for line in lines {
            reader.line(line.as_bytes(), Duration::ZERO, &mut events);
        }
        let cut = events.iter().filter_map(|event| match event.kind {
            EventKind::Cut { what: cut } => Some(cut),
            _ => None,
        });
        cut.collect()
    }

    #[test]
    fn what_is_longer_than_is_kept_is_told() {
        let claude = |block: &str| {
            let line = format!(
                r#"{{"type":"assistant","message":{{"id":"m","model":"x","content":[{block}]}}}}"#
            );
            cuts(AgentKind::ClaudeCode, &[line])
        };
        let item = |item: &str| {
            let line = format!(r#"{{"type":"item.completed","item":{{"id":"i",{item}}}}}"#);
            cuts(AgentKind::Codex, &[line])
        };
        for (bytes, words, output) in [
            (70_000, [].as_slice(), [Cut::Output].as_slice()),
            (1_100_000, &[Cut::Words], &[Cut::Output]),
        ] {
            for letter in ["w", "\\n"] {
                let text = letter.repeat(bytes);
                let said = claude(&format!(r#"{{"type":"text","text":"{text}"}}"#));
                assert_eq!(said, words, "{bytes}");
                let said = item(&format!(r#""type":"agent_message","text":"{text}""#));
                assert_eq!(said, words, "{bytes}");
                let made = claude(&format!(
                    r#"{{"type":"tool_use","id":"a","name":"Write","input":{{"content":"{text}"}}}}"#
                ));
                let arguments = words.first().map(|_| Cut::Arguments);
                assert_eq!(made, Vec::from_iter(arguments), "{bytes}");
                let ran = item(&format!(
                    r#""type":"command_execution","command":"ls","aggregated_output":"{text}","exit_code":0,"status":"completed""#
                ));
                assert_eq!(ran, output, "{bytes}");
            }
        }
        let files = r#"{"path":"a","kind":"add"},"#.repeat(20_000);
        let changed = item(&format!(
            r#""type":"file_change","changes":[{files}{{"path":"b","kind":"add"}}],"status":"completed""#
        ));
        assert_eq!(changed, [Cut::Arguments]);
    }

    #[test]
    fn a_line_that_was_cut_is_told() {
        let said = r#"{"type":"assistant","message":{"id":"m","model":"x","content":[]}}"#;
        let cut = &said[..said.len() - 1];
        for (kind, line, longest, told) in [
            (AgentKind::ClaudeCode, said, said.len() + 1, None),
            (AgentKind::ClaudeCode, cut, cut.len(), Some(Cut::Line)),
            (AgentKind::Command, cut, cut.len(), Some(Cut::Words)),
        ] {
            let mut reader = StreamReader::for_kind(kind).with_longest_line(longest);
            let mut events = Vec::new();
            reader.line(line.as_bytes(), Duration::ZERO, &mut events);
            let last = events.pop().map(|event| event.kind);
            let last = last.filter(|kind| matches!(kind, EventKind::Cut { .. }));
            assert_eq!(last, told.map(|what| EventKind::Cut { what }), "{line}");
        }
    }
}
