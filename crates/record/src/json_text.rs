//! JSON as text: escapes of strings, and a change of string values that leaves all else as it stands.

use std::borrow::Cow;

use serde_json::value::RawValue;

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
