//! Whether a line is JSON throughout: also where nobody reads it, numbers fit and no text holds half of a surrogate pair.
//!
//! What `serde_json` passes over it does not look at as closely as what it reads, so a part that nobody reads could hold
//! what makes another reader refuse the line, or read it differently.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::scan::Scan;

/// Tells why a line is no sound JSON.
///
/// # Errors
/// The place and the reason.
pub(super) fn sound(text: &str) -> Result<(), String> {
    if Scan::of(text).passes() {
        return Ok(());
    }
    let read = serde_json::from_str::<Sound>(text);
    read.map(drop).map_err(|error| error.to_string())
}

/// Any value, of which every part is read and nothing is kept.
struct Sound;

impl<'de> Deserialize<'de> for Sound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for Sound {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::StreamReader;
    use proctor_config::AgentKind;

    /// What spoils a line wherever it stands.
    const UNSOUND: [&str; 4] = ["1e400", "-1.5E+999", r#""a\ud800b""#, r#""\udc00""#];

    /// Every object and list of a value gets a further member, one after the other; `None` when all had theirs.
    fn with_a_mark_at(value: &mut Value, place: &mut usize) -> Option<()> {
        const MARK: &str = "@@mark@@";
        match value {
            Value::Object(members) => {
                if *place == 0 {
                    members.insert("zz".to_owned(), MARK.into());
                    return Some(());
                }
                *place -= 1;
                members
                    .values_mut()
                    .find_map(|value| with_a_mark_at(value, place))
            }
            Value::Array(list) => {
                if *place == 0 {
                    list.push(MARK.into());
                    return Some(());
                }
                *place -= 1;
                list.iter_mut()
                    .find_map(|value| with_a_mark_at(value, place))
            }
            _ => None,
        }
    }

    fn unparsed(kind: AgentKind, line: &str) -> u64 {
        let mut reader = StreamReader::for_kind(kind);
        let mut events = Vec::new();
        reader.line(line.as_bytes(), Duration::ZERO, &mut events);
        reader.finish(Duration::ZERO, &mut events).unparsed_lines
    }

    #[test]
    fn a_number_past_all_bounds_spoils_its_line_wherever_it_stands_in_every_stream() {
        let root =
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join("tests/fixtures/streams");
        for (stream, kind) in [
            ("claude-2.1.329/mcp.jsonl", AgentKind::ClaudeCode),
            ("codex-0.169.0/mcp.jsonl", AgentKind::Codex),
            ("copilot-1.0.102/mcp.jsonl", AgentKind::Copilot),
            ("gemini-0.61.0/mcp.jsonl", AgentKind::Gemini),
            ("opencode-1.18.33/mcp.jsonl", AgentKind::Opencode),
            ("qwen-0.24.4/mcp.jsonl", AgentKind::Qwen),
        ] {
            let lines = fs::read_to_string(root.join(stream)).expect(stream);
            let mut tried = 0;
            for line in lines.lines().filter(|line| line.starts_with('{')) {
                let whole: Value = serde_json::from_str(line).expect("a line");
                assert_eq!(unparsed(kind, line), 0, "{line}");
                for place in 0.. {
                    let mut marked = whole.clone();
                    if with_a_mark_at(&mut marked, &mut place.clone()).is_none() {
                        break;
                    }
                    let marked = marked.to_string();
                    for bad in UNSOUND {
                        let line = marked.replace("\"@@mark@@\"", bad);
                        assert_eq!(unparsed(kind, &line), 1, "{stream}: {line}");
                        tried += 1;
                    }
                }
            }
            assert!(tried > 40, "{stream}: {tried}");
        }
    }

    proptest! {
        #[test]
        fn what_is_sound_is_what_serde_builds(text in "[-0-9.eE+]{1,8}|\"(\\\\u[dD][89a-fA-F][0-9a-f]{2}|\\\\n|[a-z\"]){0,4}\"", nested in any::<bool>()) {
            let text = if nested { format!("{{\"a\":[{text}]}}") } else { text };
            prop_assert_eq!(sound(&text).is_ok(), serde_json::from_str::<Value>(&text).is_ok(), "{}", text);
        }
    }
}
