//! JSON as answers have it: all that RFC 8259 calls JSON, read into values that have less room.

use serde::Deserialize as _;
use serde_json::Value;

/// Nested deeper than this, an answer is not read: a reader needs room for each level.
const DEEPEST: usize = 500;
/// The greatest number that there is room for.
const GREATEST: &str = "1.7976931348623157e308";

/// Reads all of `text`. A number past all bounds is taken for the greatest one, and half of a surrogate pair for U+FFFD: both are
/// JSON, but no value here can hold them.
///
/// # Errors
/// Why it is no JSON.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let plain = plain(text)?;
    let mut reader = serde_json::Deserializer::from_str(&plain);
    reader.disable_recursion_limit();
    let value = Value::deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| error.to_string())
}

/// The same text with what no value can hold replaced.
fn plain(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut depth = 0_usize;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string(rest, &mut out),
            '-' | '0'..='9' => number(rest, &mut out),
            _ => {
                match first {
                    '[' | '{' => depth += 1,
                    ']' | '}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                out.push(first);
                first.len_utf8()
            }
        };
        if depth > DEEPEST {
            return Err(format!("it is nested deeper than {DEEPEST}"));
        }
        rest = &rest[length..];
    }
    Ok(out)
}

/// Passes on a string; gives its length.
fn string(text: &str, out: &mut String) -> usize {
    let mut at = 1;
    let mut kept = 0;
    while let Some(found) = text[at..].find(['"', '\\']) {
        at += found;
        if text[at..].starts_with('"') {
            at += 1;
            out.push_str(&text[kept..at]);
            return at;
        }
        match unit(&text[at..]) {
            Some(0xd800..=0xdbff)
                if matches!(text.get(at + 6..).and_then(unit), Some(0xdc00..=0xdfff)) =>
            {
                at += 12;
            }
            Some(0xd800..=0xdfff) => {
                out.push_str(&text[kept..at]);
                out.push_str("\\ufffd");
                at += 6;
                kept = at;
            }
            Some(_) => at += 6,
            // What is escaped may be a quote.
            None => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    out.push_str(&text[kept..]);
    text.len()
}

/// The unit of UTF-16 that `\uXXXX` at the start stands for.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Passes on a number; gives its length.
fn number(text: &str, out: &mut String) -> usize {
    let of_number = |letter: char| !matches!(letter, '0'..='9' | '-' | '+' | '.' | 'e' | 'E');
    let length = text.find(of_number).unwrap_or(text.len());
    let written = &text[..length];
    // What is infinite has an exponent, or hundreds of digits.
    let is_past = written.parse::<f64>().is_ok_and(f64::is_infinite);
    if is_past && serde_json::from_str::<serde::de::IgnoredAny>(written).is_ok() {
        let sign = if written.starts_with('-') { "-" } else { "" };
        out.push_str(sign);
        out.push_str(GREATEST);
    } else {
        out.push_str(written);
    }
    length
}
