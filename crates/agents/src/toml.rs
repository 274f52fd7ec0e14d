//! Values as TOML writes them, for arguments that set one.

use std::fmt::Write as _;

/// A key of a dotted path: bare where TOML allows, else quoted.
pub(super) fn toml_key(key: &str) -> String {
    if is_bare(key) {
        key.to_owned()
    } else {
        toml_string(key)
    }
}

/// A TOML basic string.
pub(super) fn toml_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            control if control.is_control() => {
                // Writing to a String cannot fail.
                _ = write!(quoted, "\\U{:08X}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// A TOML inline table; its keys may be any text. Whoever sets a value by a dotted path may not know how to read quoted keys.
pub(super) fn toml_table<'a>(values: impl Iterator<Item = (&'a str, String)>) -> String {
    let pairs: Vec<String> = values
        .map(|(key, value)| format!("{}={value}", toml_key(key)))
        .collect();
    format!("{{{}}}", pairs.join(", "))
}

/// Whether a key needs no quotes.
pub(super) fn is_bare(key: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !key.is_empty() && key.bytes().all(plain)
}

/// A TOML list of strings.
pub(super) fn toml_strings<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    let quoted: Vec<String> = texts.map(|text| toml_string(text)).collect();
    format!("[{}]", quoted.join(", "))
}
