//! One pattern of Python's `re`, rewritten piece by piece into what `fancy-regex` takes for the same.

use super::group::Opened;
use super::width::Width;
use super::{class, escape, group};

/// Whether upper and lower case are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Case {
    #[default]
    Counts,
    Folds,
}

/// What flags make of the pieces that follow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flags {
    /// `a`: classes are those of ASCII.
    pub(super) ascii: bool,
    /// `i`
    pub(super) case: Case,
    /// `m`: `^` and `$` match at lines.
    pub(super) lines: bool,
    /// `x`: white space and comments are left out.
    pub(super) verbose: bool,
}

/// What a group is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Kind {
    /// What is in it.
    #[default]
    Plain,
    /// To look ahead.
    Ahead,
    /// To look behind.
    Behind,
    /// One of two, by a group before.
    Condition,
}

/// The pattern, or a group that is open.
#[derive(Debug, Default)]
struct Open {
    kind: Kind,
    /// Flags to go back to.
    flags: Flags,
    /// Where it starts in `out`.
    start: usize,
    /// Its number, if it can be referred to, and how many such groups were opened before.
    number: Option<usize>,
    groups_before: usize,
    /// Branches that have ended, and the width of all.
    branches: u32,
    ended: Option<Width>,
    /// The width of what was read of a branch before its last piece, and of that.
    before: Width,
    last: Width,
}

impl Open {
    fn add(&mut self, width: Width) {
        self.before = self.before.plus(self.last);
        self.last = width;
    }

    fn end_branch(&mut self) {
        let branch = self.before.plus(self.last);
        self.ended = Some(self.ended.map_or(branch, |ended| ended.or(branch)));
        self.branches += 1;
        (self.before, self.last) = (Width::default(), Width::default());
    }

    /// What it matches, once it is whole.
    fn width(mut self) -> Result<Width, String> {
        self.end_branch();
        let width = self.ended.unwrap_or_default();
        match self.kind {
            Kind::Behind if !width.is_fixed() => {
                Err("look-behind requires fixed-width pattern".to_owned())
            }
            Kind::Ahead | Kind::Behind => Ok(Width::default()),
            Kind::Condition if self.branches < 2 => Ok(width.or(Width::default())),
            Kind::Condition | Kind::Plain => Ok(width),
        }
    }
}

/// Reads a pattern and writes its translation.
pub(super) struct Translator<'a> {
    pub(super) rest: &'a str,
    pub(super) out: String,
    pub(super) flags: Flags,
    now: Open,
    outer: Vec<Open>,
    /// What came last, which decides what a quantifier may do.
    last: Last,
    /// Whether anything but flags was read.
    pub(super) began: bool,
    /// The width of each group that can be referred to; none while it is open.
    groups: Vec<Option<Width>>,
    /// Names of some of them.
    names: Vec<(String, usize)>,
    /// The highest group that a condition asks for.
    asked: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// Nothing that could be repeated.
    Nothing,
    /// A piece.
    Piece,
    /// A group that matches no character, from this place in `out` on.
    Empty(usize),
    /// A repeated piece.
    Repeated,
}

/// The translation of `written`.
pub(super) fn translated(written: &str) -> Result<String, String> {
    let mut translator = Translator {
        rest: written,
        out: String::with_capacity(written.len() + 16),
        flags: Flags::default(),
        now: Open::default(),
        outer: Vec::new(),
        last: Last::Nothing,
        began: false,
        groups: Vec::new(),
        names: Vec::new(),
        asked: 0,
    };
    while let Some(letter) = translator.next() {
        translator.piece(letter)?;
    }
    if !translator.outer.is_empty() {
        return Err("missing ), unterminated subpattern".to_owned());
    }
    if translator.asked > translator.groups.len() {
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
            '*' => return self.repeat("*", (0, u64::MAX)),
            '+' => return self.repeat("+", (1, u64::MAX)),
            '?' => return self.repeat("?", (0, 1)),
            '{' => {
                if let Some((least, most)) = self.count() {
                    return self.repeat_counted(&least, &most);
                }
                self.literal(u32::from('{'));
            }
            '(' => return self.open(),
            ')' => return self.close(),
            '|' => return self.branch(),
            '^' => self.edge(if self.flags.lines { "(?m:^)" } else { r"\A" }),
            '$' if self.flags.lines => self.edge("(?m:$)"),
            '$' => self.edge(r"(?=\n?\z)"),
            '[' => class::translate(self)?,
            '\\' => escape::translate(self)?,
            '.' => {
                self.write(".");
                self.wrote(Width::ONE);
            }
            letter => self.literal(u32::from(letter)),
        }
        Ok(())
    }

    /// A piece that was written.
    pub(super) fn wrote(&mut self, width: Width) {
        self.now.add(width);
        self.came(Last::Piece);
    }

    fn came(&mut self, last: Last) {
        self.last = last;
        self.began = true;
    }

    /// A place between characters, which Python never repeats.
    pub(super) fn edge(&mut self, place: &str) {
        self.write(place);
        self.now.add(Width::default());
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

    /// A character that stands for itself, by its number.
    pub(super) fn literal(&mut self, code: u32) {
        self.out.push_str(&escape::literal(code, self.flags));
        self.wrote(Width::ONE);
    }

    /// `{m}`, `{m,}`, `{,n}` or `{m,n}` after its brace, as digits; anything else is a brace that stands for itself.
    fn count(&mut self) -> Option<(String, String)> {
        let end = self.rest.find('}')?;
        let inside = &self.rest[..end];
        let digits = |text: &str| text.chars().all(|letter| letter.is_ascii_digit());
        let (least, most) = match inside.split_once(',') {
            None if !inside.is_empty() => (inside, inside),
            Some((least, most)) => (if least.is_empty() { "0" } else { least }, most),
            None => return None,
        };
        if !digits(least) || !digits(most) {
            return None;
        }
        let count = (least.to_owned(), most.to_owned());
        self.rest = &self.rest[end + 1..];
        Some(count)
    }

    fn repeat_counted(&mut self, least: &str, most: &str) -> Result<(), String> {
        let number = |text: &str| text.parse::<u64>().unwrap_or(u64::MAX);
        let (from, to) = (number(least), number(most));
        if to < from {
            return Err("min repeat greater than max repeat".to_owned());
        }
        self.repeat(&format!("{{{least},{most}}}"), (from, to))
    }

    fn repeat(&mut self, quantifier: &str, times: (u64, u64)) -> Result<(), String> {
        let way = ["?", "+"].into_iter().find(|way| self.take(way));
        match self.last {
            Last::Nothing => return Err("nothing to repeat".to_owned()),
            Last::Repeated => return Err("multiple repeat".to_owned()),
            // Another time finds the same, and `fancy-regex` refuses to repeat it.
            Last::Empty(start) => {
                if times.0 == 0 {
                    self.out.insert_str(start, "(?:");
                    self.write("|)");
                }
            }
            Last::Piece => {
                self.write(quantifier);
                self.write(way.unwrap_or_default());
            }
        }
        self.now.last = self.now.last.times(times);
        self.last = Last::Repeated;
        Ok(())
    }

    fn branch(&mut self) -> Result<(), String> {
        self.now.end_branch();
        if self.now.kind == Kind::Condition && self.now.branches > 1 {
            return Err("conditional backref with more than two branches".to_owned());
        }
        self.write("|");
        self.came(Last::Nothing);
        Ok(())
    }

    fn open(&mut self) -> Result<(), String> {
        match group::open(self)? {
            Opened::Group => self.came(Last::Nothing),
            Opened::Piece(width) => self.wrote(width),
            Opened::Nothing => {}
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let outer = self.outer.pop().ok_or("unbalanced parenthesis")?;
        let group = std::mem::replace(&mut self.now, outer);
        self.flags = group.flags;
        self.write(")");
        let (start, number) = (group.start, group.number);
        let width = group.width()?;
        if let Some(known) = number.and_then(|number| self.groups.get_mut(number - 1)) {
            *known = Some(width);
        }
        self.now.add(width);
        self.came(if width.is_nothing() {
            Last::Empty(start)
        } else {
            Last::Piece
        });
        Ok(())
    }

    /// Opens a group whose content has `flags`.
    pub(super) fn enter(&mut self, opening: &str, kind: Kind, flags: Flags) {
        let group = Open {
            kind,
            flags: self.flags,
            start: self.out.len(),
            groups_before: self.groups.len(),
            ..Open::default()
        };
        self.outer.push(std::mem::replace(&mut self.now, group));
        self.flags = flags;
        self.write(opening);
    }

    /// Opens a group that can be referred to.
    ///
    /// # Errors
    /// When its name was given before.
    pub(super) fn enter_numbered(&mut self, name: Option<String>) -> Result<(), String> {
        self.groups.push(None);
        let number = self.groups.len();
        let opening = match &name {
            Some(name) if self.number_of(name).is_ok() => {
                return Err(format!("redefinition of group name {name:?}"));
            }
            Some(name) => format!("(?P<{name}>"),
            None => "(".to_owned(),
        };
        self.names.extend(name.map(|name| (name, number)));
        self.enter(&opening, Kind::Plain, self.flags);
        self.now.number = Some(number);
        Ok(())
    }

    /// The number of a named group.
    pub(super) fn number_of(&self, name: &str) -> Result<usize, String> {
        let mut names = self.names.iter();
        let found = names.find(|(known, _)| known == name);
        let found = found.map(|(_, number)| *number);
        found.ok_or_else(|| format!("unknown group name {name:?}"))
    }

    /// What a reference to a group matches.
    pub(super) fn referred(&self, number: usize) -> Result<Width, String> {
        let group = number
            .checked_sub(1)
            .and_then(|place| self.groups.get(place));
        let group = group.ok_or_else(|| format!("invalid group reference {number}"))?;
        self.known_behind(number)?;
        group.ok_or_else(|| "cannot refer to an open group".to_owned())
    }

    /// Takes down that a condition asks for a group, which may come later.
    pub(super) fn ask(&mut self, number: usize) -> Result<(), String> {
        if number == 0 {
            return Err("bad group number".to_owned());
        }
        self.asked = self.asked.max(number);
        self.known_behind(number)
    }

    /// Whoever looks behind knows only groups that were whole before.
    fn known_behind(&self, number: usize) -> Result<(), String> {
        let mut open = self.outer.iter().chain([&self.now]);
        let Some(behind) = open.find(|group| group.kind == Kind::Behind) else {
            return Ok(());
        };
        let known = self.groups.get(number - 1).is_some_and(Option::is_some);
        if known && number <= behind.groups_before {
            return Ok(());
        }
        Err("cannot refer to an open group, or to one of the same look-behind".to_owned())
    }
}
