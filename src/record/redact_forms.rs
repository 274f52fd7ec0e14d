//! How a secret is commonly written down.

use crate::record::json_text;

/// The ways in which a secret is commonly written down.
pub(super) fn forms_of(value: &str) -> Vec<String> {
    let json = json_text::escaped(value);
    let ascii = json_text::escaped_ascii(value);
    let mut forms = vec![
        value.to_owned(),
        json_text::escaped(&json),
        json_text::escaped(&ascii),
        json.replace('/', "\\/"),
        json,
        ascii,
        hex(value, false),
        hex(value, true),
    ];
    let plus = percent(value, true).replace("%20", "+");
    forms.extend([percent(value, false), percent(value, true), plus]);
    for offset in 0..3 {
        let inside = base64(value, offset);
        forms.push(inside.replace('+', "-").replace('/', "_"));
        forms.push(inside);
    }
    forms
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

fn percent(value: &str, upper: bool) -> String {
    let encode = |byte: u8| match (byte, upper) {
        (b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~', _) => {
            char::from(byte).to_string()
        }
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
