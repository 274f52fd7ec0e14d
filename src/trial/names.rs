//! Names that somebody else chose: of tools, servers and models.

/// Names are kept up to this many characters, and so many of them.
const LONGEST_NAME: usize = 200;
pub(super) const MOST_NAMES: usize = 1_000;

/// A name that somebody else chose, for one line.
pub(super) fn short(name: &str) -> String {
    let plain = name.chars().take(LONGEST_NAME);
    plain
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}
