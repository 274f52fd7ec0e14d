//! JSON as text: escapes of strings, and a change of string values that leaves all else as it stands.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::value::RawValue;

use crate::byte_runs::run_before_escape;

/// Adds `text` as a JSON string, quotes included, spelled as `serde_json` does.
pub fn push_quoted(json: &mut String, text: &str) {
    json.reserve(text.len() + 2);
    json.push('"');
    push_escaped(json, text);
    json.push('"');
}

/// The same without the quotes.
pub(super) fn push_escaped(json: &mut String, text: &str) {
    let mut rest = text;
    loop {
        let run = run_before_escape(rest.as_bytes());
        let (plain, odd) = rest.split_at(run);
        json.push_str(plain);
        let Some(byte) = odd.bytes().next() else {
            break;
        };
        match byte {
            b'"' => json.push_str("\\\""),
            b'\\' => json.push_str("\\\\"),
            b'\n' => json.push_str("\\n"),
            b'\r' => json.push_str("\\r"),
            b'\t' => json.push_str("\\t"),
            0x08 => json.push_str("\\b"),
            0x0c => json.push_str("\\f"),
            other => {
                // Writing to a String cannot fail.
                _ = write!(json, "\\u{other:04x}");
            }
        }
        rest = &odd[1..];
    }
}

/// JSON text as a raw value that fits on one line; absent if it is no JSON.
pub(super) fn one_line(text: &str) -> Option<Box<RawValue>> {
    if text.contains(['\n', '\r']) {
        let value: serde_json::Value = serde_json::from_str(text).ok()?;
        return RawValue::from_string(value.to_string()).ok();
    }
    RawValue::from_string(text.to_owned()).ok()
}

/// Applies `change` to every string value (not key) of JSON text, decoded; strings that it leaves alone keep
/// their spelling, and text that is no JSON comes through as well as it can.
pub(super) fn map_values(text: &str, change: impl Fn(&str) -> Cow<'_, str>) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('"') {
        let (before, from_quote) = rest.split_at(open);
        result.push_str(before);
        let end = literal_end(from_quote);
        let (literal, after) = from_quote.split_at(end);
        let is_key = after.trim_start().starts_with(':');
        match serde_json::from_str::<String>(literal) {
            _ if is_key => result.push_str(literal),
            Ok(value) => match change(&value) {
                Cow::Owned(new) => result.push_str(&serde_json::Value::from(new).to_string()),
                Cow::Borrowed(_) => result.push_str(literal),
            },
            Err(_) => result.push_str(&change(literal)),
        }
        rest = after;
    }
    result.push_str(rest);
    result
}

/// Length of the string literal that `text` begins with, quotes included.
fn literal_end(text: &str) -> usize {
    let mut escape = false;
    for (place, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escape => escape = false,
            b'\\' => escape = true,
            b'"' => return place + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_quoted_text_is_spelled_as_serde_does(text in any::<String>(), plain in "[a-z]{0,100}", times in 1_usize..4) {
            let text = format!("{plain}{}{plain}\u{7f}\u{8}\u{c}\u{1f}", text.repeat(times));
            let mut json = String::new();
            push_quoted(&mut json, &text);
            prop_assert_eq!(json, serde_json::Value::from(text).to_string());
        }
    }
}
