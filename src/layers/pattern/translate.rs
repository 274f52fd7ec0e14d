//! One pattern of Python's `re`, rewritten piece by piece into what `fancy-regex` takes for the same.

use super::group::Opened;
use super::{class, escape, group};

/// What flags make of the pieces that follow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flags {
    /// `a`: classes are those of ASCII.
    pub(super) ascii: bool,
    /// `m`: `^` and `$` match at lines.
    pub(super) lines: bool,
    /// `x`: white space and comments are left out.
    pub(super) verbose: bool,
}

/// Reads a pattern and writes its translation.
pub(super) struct Translator<'a> {
    pub(super) rest: &'a str,
    pub(super) out: String,
    pub(super) flags: Flags,
    /// Each open group: flags to go back to, where it starts in `out`, and whether it only looks around.
    outer: Vec<(Flags, usize, bool)>,
    /// What came last, which decides what a quantifier may do.
    last: Last,
    /// Whether anything but flags was read.
    pub(super) began: bool,
    /// How many groups were opened that can be referred to.
    pub(super) groups: usize,
    /// Names of some of them.
    pub(super) names: Vec<String>,
    /// The highest group that a condition asks for.
    pub(super) asked: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Nothing that could be repeated.
    Nothing,
    /// A piece.
    Piece,
    /// A group that only looks around, from this place in `out` on.
    Look(usize),
    /// A repeated piece.
    Repeated,
}

/// The translation of `written`.
pub(super) fn translated(written: &str) -> Result<String, String> {
    let mut translator = Translator {
        rest: written,
        out: String::with_capacity(written.len() + 16),
        flags: Flags::default(),
        outer: Vec::new(),
        last: Last::Nothing,
        began: false,
        groups: 0,
        names: Vec::new(),
        asked: 0,
    };
    while let Some(letter) = translator.next() {
        translator.piece(letter)?;
    }
    if !translator.outer.is_empty() {
        return Err("missing ), unterminated subpattern".to_owned());
    }
    if translator.asked > translator.groups {
        return Err(format!("invalid group reference {}", translator.asked));
    }
    Ok(translator.out)
}

impl Translator<'_> {
    pub(super) fn next(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    /// Takes `text` if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        if let Some(rest) = rest {
            self.rest = rest;
        }
        rest.is_some()
    }

    fn piece(&mut self, letter: char) -> Result<(), String> {
        if self.flags.verbose && self.left_out(letter) {
            return Ok(());
        }
        match letter {
            '*' | '+' | '?' => return self.repeat(&letter.to_string()),
            '{' => {
                if let Some(count) = self.count() {
                    return self.repeat(&count?);
                }
                self.literal('{');
            }
            '(' => return self.open(),
            ')' => return self.close(),
            '|' => {
                self.edge("|");
                return Ok(());
            }
            '^' => {
                self.edge(if self.flags.lines { "(?m:^)" } else { r"\A" });
                return Ok(());
            }
            '$' => {
                self.edge(if self.flags.lines {
                    "(?m:$)"
                } else {
                    r"(?=\n?\z)"
                });
                return Ok(());
            }
            '[' => class::translate(self)?,
            '\\' => return escape::translate(self),
            '.' => self.out.push('.'),
            letter => self.literal(letter),
        }
        self.came(Last::Piece);
        Ok(())
    }

    /// A piece that something else wrote.
    pub(super) fn wrote(&mut self) {
        self.came(Last::Piece);
    }

    fn came(&mut self, last: Last) {
        self.last = last;
        self.began = true;
    }

    /// A place between characters, which Python never repeats.
    pub(super) fn edge(&mut self, place: &str) {
        self.out.push_str(place);
        self.came(Last::Nothing);
    }

    pub(super) fn write(&mut self, piece: &str) {
        self.out.push_str(piece);
    }

    /// White space and comments of a verbose pattern.
    fn left_out(&mut self, letter: char) -> bool {
        if letter == '#' {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.rest = &self.rest[end..];
        }
        letter == '#' || matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
    }

    /// A character that stands for itself.
    pub(super) fn literal(&mut self, letter: char) {
        self.out.push_str(&escape::literal(letter));
    }

    /// `{m}`, `{m,}`, `{,n}` or `{m,n}` after its brace; anything else is a brace that stands for itself.
    fn count(&mut self) -> Option<Result<String, String>> {
        let end = self.rest.find('}')?;
        let inside = &self.rest[..end];
        let digits = |text: &str| text.chars().all(|letter| letter.is_ascii_digit());
        let count = match inside.split_once(',') {
            None if !inside.is_empty() && digits(inside) => format!("{{{inside}}}"),
            Some((least, most)) if digits(least) && digits(most) => {
                let least = if least.is_empty() { "0" } else { least };
                let number = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX);
                if !most.is_empty() && number(most) < number(least) {
                    return Some(Err("min repeat greater than max repeat".to_owned()));
                }
                format!("{{{least},{most}}}")
            }
            _ => return None,
        };
        self.rest = &self.rest[end + 1..];
        Some(Ok(count))
    }

    fn repeat(&mut self, quantifier: &str) -> Result<(), String> {
        let way = ["?", "+"].into_iter().find(|way| self.take(way));
        match self.last {
            Last::Nothing => return Err("nothing to repeat".to_owned()),
            Last::Repeated => return Err("multiple repeat".to_owned()),
            // To look again finds the same, which `fancy-regex` would refuse to do.
            Last::Look(start) => {
                if matches!(quantifier, "*" | "?") || quantifier.starts_with("{0") {
                    self.out.insert_str(start, "(?:");
                    self.out.push_str("|)");
                }
            }
            Last::Piece => {
                self.out.push_str(quantifier);
                self.out.push_str(way.unwrap_or_default());
            }
        }
        self.last = Last::Repeated;
        Ok(())
    }

    fn open(&mut self) -> Result<(), String> {
        match group::open(self)? {
            Opened::Group => self.came(Last::Nothing),
            Opened::Piece => self.came(Last::Piece),
            Opened::Nothing => {}
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let (flags, start, looks) = self.outer.pop().ok_or("unbalanced parenthesis")?;
        self.flags = flags;
        self.out.push(')');
        self.came(if looks {
            Last::Look(start)
        } else {
            Last::Piece
        });
        Ok(())
    }

    /// Opens a group whose content has `flags`.
    pub(super) fn enter(&mut self, opening: &str, flags: Flags) {
        let looks = ["(?=", "(?!", "(?<=", "(?<!"].contains(&opening);
        self.outer.push((self.flags, self.out.len(), looks));
        self.flags = flags;
        self.out.push_str(opening);
    }
}
