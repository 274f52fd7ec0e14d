//! How a secret is commonly written down.

use std::fmt::Write as _;

use crate::json_text;

/// A shorter line of a secret may stand anywhere.
const SHORTEST_LINE: usize = 16;

/// What of a secret is one by itself: all of it and, where it has several lines, each of the longer ones, since it may be
/// indented or stand in a patch. A newline may be spelled as in JSON. The frame of a PEM tells nothing.
pub(super) fn parts_of(value: &str) -> Vec<&str> {
    let lines = value.split(['\n', '\r']);
    let lines = lines.flat_map(|line| line.split("\\n")).map(str::trim);
    let lines = lines
        .filter(|line| line.len() >= SHORTEST_LINE && *line != value)
        .filter(|line| !(line.starts_with("-----") && line.ends_with("-----")));
    std::iter::once(value).chain(lines).collect()
}

/// The ways in which all of a secret is commonly encoded at once.
pub(super) fn encoded_forms(value: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for digits in [hex(value, false), hex(value, true)] {
        forms.extend([":", " "].map(|between| pairs(&digits).join(between)));
        forms.push(digits);
    }
    for once in 0..3 {
        for inside in alphabets(&base64(value, once)) {
            for twice in 0..3 {
                forms.extend(alphabets(&base64(&inside, twice)));
            }
            forms.push(inside);
        }
    }
    forms.extend(wrapped(&base64(value, 0)));
    forms
}

/// The ways in which its characters are commonly spelled, where they are not looked for one by one.
pub(super) fn spelled_forms(value: &str) -> Vec<String> {
    let slashed = |text: &str| text.replace('/', "\\/");
    let json = json_text::escaped(value);
    let ascii = json_text::escaped_ascii(value);
    let once = [
        value.to_owned(),
        slashed(value),
        slashed(&json),
        slashed(&ascii),
        all_escaped(value),
        json,
        ascii,
    ];
    let twice = once.each_ref().map(|form| json_text::escaped(form));
    let thrice = twice.each_ref().map(|form| json_text::escaped(form));
    let mut forms: Vec<String> = once.into_iter().chain(twice).chain(thrice).collect();
    for slash in ["", "/"] {
        let upper = percent(value, (true, slash));
        forms.extend([upper.replace("%20", "+"), percent(value, (false, slash))]);
        forms.push(upper);
    }
    let throughout = [true, false].map(|upper| format!("%{}", pairs(&hex(value, upper)).join("%")));
    forms.extend(throughout);
    forms
}

/// Hexadecimal digits by the byte.
fn pairs(digits: &str) -> Vec<&str> {
    let starts = (0..digits.len()).step_by(2);
    starts.map(|at| &digits[at..at + 2]).collect()
}

/// Base64 in its usual alphabet, and in that of addresses.
fn alphabets(base64: &str) -> [String; 2] {
    [
        base64.to_owned(),
        base64.replace('+', "-").replace('/', "_"),
    ]
}

/// Base64 in lines as programs print it by themselves, `base64` and `openssl`, of a secret that stands first; the end of a line
/// may be spelled as in JSON.
fn wrapped(base64: &str) -> Vec<String> {
    let ends = ["\n", "\\n", "\\\\n"];
    let widths = [76, 64].into_iter().filter(|width| base64.len() > *width);
    let lines = widths.flat_map(|width| {
        let lines: Vec<&str> = (0..base64.len().div_ceil(width))
            .map(|line| &base64[line * width..((line + 1) * width).min(base64.len())])
            .collect();
        ends.map(|end| lines.join(end))
    });
    lines.collect()
}

pub(super) fn hex(value: &str, upper: bool) -> String {
    let digits = if upper {
        b"0123456789ABCDEF"
    } else {
        b"0123456789abcdef"
    };
    let digit = |nibble: u8| char::from(digits[usize::from(nibble)]);
    let pair = |byte: u8| [digit(byte >> 4), digit(byte & 15)];
    value.bytes().flat_map(pair).collect()
}

/// Every character as JSON may escape it.
fn all_escaped(value: &str) -> String {
    let mut text = String::new();
    for unit in value.encode_utf16() {
        write!(text, "\\u{unit:04x}").expect("a text takes what is written to it");
    }
    text
}

/// Percent-encoded, but for the characters of `kept` too.
fn percent(value: &str, (upper, kept): (bool, &str)) -> String {
    let encode = |byte: u8| match (byte, upper) {
        (b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~', _) => {
            char::from(byte).to_string()
        }
        _ if kept.as_bytes().contains(&byte) => char::from(byte).to_string(),
        (_, true) => format!("%{byte:02X}"),
        (_, false) => format!("%{byte:02x}"),
    };
    value.bytes().map(encode).collect()
}

/// The characters of base64 that `value` alone decides when `offset` bytes (mod 3) stand before it.
fn base64(value: &str, offset: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = std::iter::repeat_n(0, offset)
        .chain(value.bytes())
        .collect();
    let bit = |place: usize| (bytes[place / 8] >> (7 - place % 8)) & 1;
    let sextet = |index: usize| (0..6).fold(0, |sum, place| sum << 1 | bit(index * 6 + place));
    ((offset * 8).div_ceil(6)..bytes.len() * 8 / 6)
        .map(|index| char::from(ALPHABET[usize::from(sextet(index))]))
        .collect()
}
