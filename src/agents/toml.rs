//! Values as TOML writes them, for arguments that set one.

use std::fmt::Write as _;

/// A key of a dotted path: bare where TOML allows, else quoted.
pub(super) fn toml_key(key: &str) -> String {
    let is_bare = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_bare {
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

/// A TOML list of strings.
pub(super) fn toml_strings<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    let quoted: Vec<String> = texts.map(|text| toml_string(text)).collect();
    format!("[{}]", quoted.join(", "))
}
