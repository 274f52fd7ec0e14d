//! Texts as Python compares them.

/// `str.strip()`: Unicode's white space, and the four separators of ASCII.
pub(super) fn strip(text: &str) -> &str {
    text.trim_matches(|letter: char| {
        letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter)
    })
}

/// Whether `lowered`, which is in lower case already, holds `term` whatever the case of that.
pub(super) fn holds(lowered: &str, term: &str) -> bool {
    lowered.contains(&term.to_lowercase())
}

/// At most so many characters of `text`, in quotes.
pub(super) fn shown(text: &str) -> String {
    const SHOWN: usize = 80;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}
