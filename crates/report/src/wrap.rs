//! Text on lines of a given width, broken between words.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Lines are no narrower than this, so that every character has its place.
const NARROWEST: usize = 8;

/// `text` as lines of at most `width` columns. A word that is longer than a line is broken after a `:`, `_`, `-`, `/` or
/// `.` of it, and inside only where even that does not do.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(NARROWEST);
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        put(word, true, (&mut lines, width));
    }
    lines
}

/// A list with `, ` between its parts, each of which stays whole where it fits a line.
pub(crate) fn wrap_list(list: &str, width: usize) -> Vec<String> {
    let parts: Vec<&str> = list.split(", ").collect();
    let width = width.max(NARROWEST);
    let mut lines = vec![String::new()];
    for (place, part) in parts.iter().enumerate() {
        let comma = if place + 1 < parts.len() { "," } else { "" };
        let part = format!("{part}{comma}");
        if part.width() <= width {
            put(&part, true, (&mut lines, width));
        } else {
            if lines.last().is_some_and(|last| !last.is_empty()) {
                lines.push(String::new());
            }
            for word in part.split(' ').filter(|word| !word.is_empty()) {
                put(word, true, (&mut lines, width));
            }
        }
    }
    lines
}

/// Adds `piece` to the last line, after a blank if it is a word of its own, or to a new one.
fn put(piece: &str, is_word: bool, (lines, width): (&mut Vec<String>, usize)) {
    let last = lines.last().map_or("", String::as_str);
    let gap = if is_word && !last.is_empty() { " " } else { "" };
    if last.width() + gap.len() + piece.width() <= width {
        let joined = format!("{last}{gap}{piece}");
        lines.pop();
        lines.push(joined);
    } else if piece.width() <= width {
        lines.push(piece.to_owned());
    } else {
        let (first, rest) = broken(piece, width);
        put(first, is_word, (lines, width));
        put(rest, false, (lines, width));
    }
}

/// The longest beginning of a `piece` too long for a line that may stand alone, and the rest; both hold something.
fn broken(piece: &str, width: usize) -> (&str, &str) {
    let mut columns = 0;
    let mut anywhere = 0;
    let mut at_sign = None;
    for (place, character) in piece.char_indices() {
        columns += character.width().unwrap_or(0);
        if columns > width {
            break;
        }
        anywhere = place + character.len_utf8();
        if ":_-/.".contains(character) {
            at_sign = Some(anywhere);
        }
    }
    piece.split_at(at_sign.unwrap_or(anywhere))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_break_between_words_and_long_words_at_their_signs() {
        let cases: [(&str, usize, &[&str]); 6] = [
            ("", 10, &[""]),
            ("one two three", 40, &["one two three"]),
            ("one two three", 8, &["one two", "three"]),
            (
                "2 pass, 1 infra:provider_unreachable",
                18,
                &["2 pass, 1", "infra:provider_", "unreachable"],
            ),
            ("abcdefghijkl", 8, &["abcdefgh", "ijkl"]),
            (
                "\u{8a9e}\u{8a9e}\u{8a9e}\u{8a9e}\u{8a9e}",
                8,
                &["\u{8a9e}\u{8a9e}\u{8a9e}\u{8a9e}", "\u{8a9e}"],
            ),
        ];
        for (text, width, lines) in cases {
            assert_eq!(wrap(text, width), lines, "{text}");
        }
    }

    #[test]
    fn parts_stay_whole_where_they_fit() {
        let list = "trials 3, pass 66.7%, 1 infra:rate_limited";
        let lines = ["trials 3,", "pass 66.7%,", "1 infra:rate_", "limited"];
        assert_eq!(wrap_list(list, 14), lines);
        assert_eq!(
            wrap_list(list, 22),
            ["trials 3, pass 66.7%,", "1 infra:rate_limited"]
        );
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_line_is_too_long(text in "\\PC{0,60}", width in 8_usize..40) {
            let lines = wrap(&text, width);
            prop_assert!(lines.iter().all(|line| line.width() <= width), "{lines:?}");
            let bare = |text: &str| text.replace(' ', "");
            prop_assert_eq!(bare(&lines.concat()), bare(&text));
        }
    }
}
