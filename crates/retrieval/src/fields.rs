//! Fields of a line, with any blanks between, and numbers as programs print them. By hand: runs have many millions of lines.

/// Exactly so many fields of a line.
pub(super) fn fields<const COUNT: usize>(line: &[u8]) -> Option<[&[u8]; COUNT]> {
    let mut fields = [&b""[..]; COUNT];
    let mut start = end_of(line, 0, true);
    for field in &mut fields {
        let end = end_of(line, start, false);
        *field = line.get(start..end).filter(|field| !field.is_empty())?;
        start = end_of(line, end, true);
    }
    (start == line.len()).then_some(fields)
}

/// Where a run of blanks, or of anything else, ends that begins at this place.
fn end_of(line: &[u8], from: usize, blank: bool) -> usize {
    let rest = line.get(from..).unwrap_or_default();
    let length = rest.iter().position(|byte| is_blank(*byte) != blank);
    from + length.unwrap_or(rest.len())
}

/// Whether a byte parts fields: it is white space in ASCII.
pub(super) fn is_blank(byte: u8) -> bool {
    BLANK[usize::from(byte)]
}

static BLANK: [bool; 256] = {
    let mut blank = [false; 256];
    let mut byte = 0;
    while byte < blank.len() {
        #[expect(clippy::cast_possible_truncation, reason = "it is below 256")]
        let told = (byte as u8).is_ascii_whitespace();
        blank[byte] = told;
        byte += 1;
    }
    blank
};

/// What is wrong with a line that has other fields than it should.
pub(super) fn wrong_fields(line: &[u8], wanted: &str) -> String {
    let found = line.split(|byte| is_blank(*byte));
    let found = found.filter(|field| !field.is_empty()).count();
    format!("has {found} fields, and must have {wanted}")
}

/// The field that a line begins with, and what stands behind the one blank that follows it.
pub(super) fn first_field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(|byte| is_blank(*byte))?;
    (end > 0).then(|| (&line[..end], &line[end + 1..]))
}

/// The number that a text is, as the standard library reads it.
pub(super) fn number(text: &[u8]) -> Option<f64> {
    match leading_number(text) {
        Some((number, [])) => Some(number),
        _ => str::from_utf8(text).ok()?.parse().ok(),
    }
}

/// The number in plain digits that a text begins with, with a point inside of them at most, and the rest. Whole numbers up to
/// 2^53 and powers of ten up to 10^22 are exact, so that one division rounds once, as it must: W. D. Clinger, "How to Read
/// Floating Point Numbers Accurately", Proceedings of PLDI 1990, 92-101.
pub(super) fn leading_number(text: &[u8]) -> Option<(f64, &[u8])> {
    /// No more digits than fit into 64 bits.
    const MOST: usize = 19;
    let (is_negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let (mut whole, mut length, mut point) = (0_u64, 0, None);
    for byte in digits.iter().take(MOST + 1) {
        let digit = byte.wrapping_sub(b'0');
        if digit < 10 {
            whole = whole.wrapping_mul(10).wrapping_add(u64::from(digit));
        } else if *byte == b'.' && point.is_none() {
            point = Some(length);
        } else {
            break;
        }
        length += 1;
    }
    let behind = match point {
        None if length > 0 => 0,
        Some(place) if place > 0 && place + 1 < length => length - place - 1,
        _ => return None,
    };
    if length > MOST || whole > 1 << f64::MANTISSA_DIGITS {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "it is at most 2^53")]
    let number = whole as f64 / TENS[behind];
    Some((
        if is_negative { -number } else { number },
        &digits[length..],
    ))
}

#[rustfmt::skip]
static TENS: [f64; 20] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn as_usual(text: &str) -> Option<u64> {
        text.parse::<f64>().ok().map(f64::to_bits)
    }

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for text in [
            "",
            "-",
            ".",
            "-.",
            "0",
            "-0",
            "-0.0",
            "5.",
            ".5",
            "+1.5",
            "1e3",
            "1.5E-7",
            "1.2.3",
            "1-2",
            "--1",
            "inf",
            "-NaN",
            "9007199254740992",
            "9007199254740993",
            "9007199254740993.0",
            "0.1",
            "123456789.123456789",
            "1234567890123456789",
            "12345678901234567890",
            "18446744073709551616",
            "0000000000000000000.1",
            "0.0000000000000000001",
            "1_0",
            "\u{661}",
        ] {
            let told = number(text.as_bytes()).map(f64::to_bits);
            assert_eq!(told, as_usual(text), "{text}");
        }
        assert_eq!(number(b"\xff"), None);
    }

    proptest! {
        #[test]
        fn any_digits_are_the_number_of_the_standard_library(text in "-?[0-9]{0,12}(\\.[0-9]{0,12})?(e-?[0-9]{1,2})?") {
            prop_assert_eq!(number(text.as_bytes()).map(f64::to_bits), as_usual(&text));
        }

        #[test]
        fn fields_are_those_between_white_space(line in "[ab\u{b}\u{c}\t\r é]{0,20}") {
            let known: Vec<&[u8]> = line.split_ascii_whitespace().map(str::as_bytes).collect();
            let found = fields::<3>(line.as_bytes()).map(|fields| fields.to_vec());
            prop_assert_eq!(found, Some(known).filter(|known| known.len() == 3));
        }
    }
}
