//! How text on a terminal may look.

use anstyle::Style;
use unicode_width::UnicodeWidthStr as _;

/// How a table may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal; `None` where lines may be as long as they like.
    pub width: Option<u16>,
    /// Whether colours are wanted.
    pub colour: bool,
    /// Whether the terminal shows more than ASCII.
    pub unicode: bool,
}

impl Look {
    /// Plain text of any width.
    pub const PLAIN: Self = Self {
        width: None,
        colour: false,
        unicode: false,
    };

    /// A sentence as lines of the terminal, broken between words.
    #[must_use]
    pub fn lines(self, sentence: &str) -> Vec<String> {
        let Some(width) = self.width else {
            return vec![sentence.to_owned()];
        };
        let mut lines: Vec<String> = Vec::new();
        for word in sentence.split_inclusive(' ') {
            match lines.last_mut() {
                Some(line) if (line.as_str().width() + word.trim_end().width()) <= width.into() => {
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        lines
            .iter()
            .map(|line| line.trim_end().to_owned())
            .collect()
    }
}

/// Text in a style, where colour is wanted.
pub(crate) fn painted(text: &str, style: Style, look: Look) -> String {
    if look.colour {
        format!("{style}{text}{style:#}")
    } else {
        text.to_owned()
    }
}
