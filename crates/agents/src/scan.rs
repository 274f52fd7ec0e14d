//! One pass over a line of JSON, borrowing from it: a line as its CLI prints it is read here, any other by `serde_json`.
//!
//! A scanner takes less than JSON is: no white space between tokens, no escapes in keys, no halves of surrogate pairs, no
//! great depth, no numbers that may be too large, no key twice among those that are read. Where it says `None` the line is
//! read again the usual way, which alone decides what it is. What it takes is sound JSON (`sound.rs`), skipped parts included.

mod escapes;

use proctor_record::{places_of_escapes, run_before_escape};

use escapes::{Escapes, are_line_ends, escape_length, with_spaces};
pub(super) use escapes::{Raw, length_of};

/// Nesting that is followed.
const DEEPEST: u32 = 64;

/// Digits before a point, and of an exponent, by which no number can be past all bounds: below 1e299.
const MOST_DIGITS: usize = 200;
const MOST_OF_EXPONENT: usize = 2;

/// A place in a line.
#[derive(Debug, Clone)]
pub(super) struct Scan<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl<'a> Scan<'a> {
    /// Begins at the start of `text`.
    pub(super) const fn of(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
        }
    }

    /// Whether the whole text is a value that is read here.
    pub(super) fn passes(mut self) -> bool {
        self.skip().and_then(|()| self.end()).is_some()
    }

    /// Whether all was read.
    pub(super) fn end(&self) -> Option<()> {
        (self.at == self.text.len()).then_some(())
    }

    /// Reads an object. `each` is given every key and reads its value.
    pub(super) fn members(
        &mut self,
        mut each: impl FnMut(&mut Self, &'a str) -> Option<()>,
    ) -> Option<()> {
        self.open(b'{')?;
        if self.took(b'}') {
            self.depth -= 1;
            return Some(());
        }
        loop {
            let key = self.string()?.plain()?;
            self.take(b':')?;
            each(self, key)?;
            if self.ends(b'}')? {
                return Some(());
            }
        }
    }

    /// Reads a list. `each` reads every element.
    pub(super) fn elements(&mut self, mut each: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.open(b'[')?;
        if self.took(b']') {
            self.depth -= 1;
            return Some(());
        }
        loop {
            each(self)?;
            if self.ends(b']')? {
                return Some(());
            }
        }
    }

    /// Reads a string.
    #[inline]
    pub(super) fn string(&mut self) -> Option<Raw<'a>> {
        let start = self.at + 1;
        let escapes = self.pass_string()?;
        let inside = self.text.get(start..self.at - 1)?;
        Some(Raw { inside, escapes })
    }

    /// Passes over a string; what in it is escaped. In most nothing is, and this is made a part of what reads them.
    #[inline]
    fn pass_string(&mut self) -> Option<Escapes> {
        let [b'"', rest @ ..] = self.text.as_bytes().get(self.at..)? else {
            return None;
        };
        let run = run_before_escape(rest);
        self.at += 1 + run;
        if *rest.get(run)? == b'"' {
            self.at += 1;
            return Some(Escapes::None);
        }
        self.pass_escaped()
    }

    /// The same from a place in it on. Where one escape follows another, 64 bytes are looked at once for all that they hold.
    #[inline(never)]
    fn pass_escaped(&mut self) -> Option<Escapes> {
        let bytes = self.text.as_bytes();
        let mut escapes = Escapes::Usual;
        loop {
            let begin = self.at;
            let rest = bytes.get(begin..).filter(|rest| !rest.is_empty())?;
            let piece = rest.first_chunk().copied();
            let piece = piece.unwrap_or_else(|| with_spaces(rest));
            let mut places = places_of_escapes(&piece);
            self.at += rest.len().min(64);
            if are_line_ends(&piece, places) {
                continue;
            }
            while places != 0 {
                let place = begin + places.trailing_zeros() as usize;
                // A quote, a backslash, or a control character, of which strings may hold none.
                if bytes[place] == b'"' {
                    self.at = place + 1;
                    return Some(escapes);
                }
                let behind = place + escape_length(&bytes[place..], &mut escapes)?;
                self.at = self.at.max(behind);
                let passed = u32::try_from(behind - begin).ok()?;
                places &= u64::MAX.checked_shl(passed).unwrap_or(0);
            }
        }
    }

    /// Reads a whole number that is not negative and fits.
    pub(super) fn count(&mut self) -> Option<u64> {
        let start = self.at;
        let mut count = 0_u64;
        while let Some(digit @ b'0'..=b'9') = self.peek() {
            count = count
                .checked_mul(10)?
                .checked_add(u64::from(digit - b'0'))?;
            self.at += 1;
        }
        let digits = &self.text.as_bytes()[start..self.at];
        let is_plain = !digits.is_empty() && (digits.len() == 1 || digits[0] != b'0');
        let goes_on = matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        (is_plain && !goes_on).then_some(count)
    }

    /// Reads a whole number that fits.
    pub(super) fn whole(&mut self) -> Option<i32> {
        let start = self.at;
        self.number()?;
        self.text[start..self.at].parse().ok()
    }

    /// Reads `true` or `false`.
    pub(super) fn truth(&mut self) -> Option<bool> {
        let is_true = self.peek()? == b't';
        if is_true {
            self.word(b"true")?;
        } else {
            self.word(b"false")?;
        }
        Some(is_true)
    }

    /// Reads `null` as nothing, else a value.
    #[expect(
        clippy::option_option,
        reason = "the outer one says whether it is read, the inner one whether it is there"
    )]
    pub(super) fn maybe<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        if self.peek()? == b'n' {
            return self.word(b"null").map(|()| None);
        }
        read(self).map(Some)
    }

    /// Passes over what is spelled just so; whether it came next.
    #[inline]
    pub(super) fn passed(&mut self, spelled: &str) -> bool {
        let rest = self.text.as_bytes().get(self.at..);
        let is_next = rest.is_some_and(|rest| rest.starts_with(spelled.as_bytes()));
        self.at += if is_next { spelled.len() } else { 0 };
        is_next
    }

    /// Reads any value and gives it as it stands.
    pub(super) fn piece(&mut self) -> Option<&'a str> {
        self.with_piece(Self::skip).map(|((), piece)| piece)
    }

    /// Reads something and gives it with the text that it is.
    pub(super) fn with_piece<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<(T, &'a str)> {
        let start = self.at;
        let value = read(self)?;
        Some((value, &self.text[start..self.at]))
    }

    /// Whether a string comes next.
    pub(super) fn is_string(&self) -> bool {
        self.peek() == Some(b'"')
    }

    /// Reads any value.
    pub(super) fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.pass_string().map(|_| ()),
            b'{' => self.skip_members(),
            b'[' => self.elements(Self::skip),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn skip_members(&mut self) -> Option<()> {
        self.open(b'{')?;
        if self.took(b'}') {
            self.depth -= 1;
            return Some(());
        }
        loop {
            (self.pass_string()? == Escapes::None).then_some(())?;
            self.take(b':')?;
            self.skip()?;
            if self.ends(b'}')? {
                return Some(());
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        _ = self.took(b'-');
        if !self.took(b'0') {
            (self.digits()? <= MOST_DIGITS).then_some(())?;
        }
        if self.took(b'.') {
            self.digits()?;
        }
        if self.took(b'e') || self.took(b'E') {
            _ = self.took(b'+') || self.took(b'-');
            (self.digits()? <= MOST_OF_EXPONENT).then_some(())?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<usize> {
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(count)
    }

    fn word<const LENGTH: usize>(&mut self, word: &[u8; LENGTH]) -> Option<()> {
        let next = self.text.as_bytes()[self.at..].first_chunk();
        (next == Some(word)).then_some(())?;
        self.at += LENGTH;
        Some(())
    }

    fn open(&mut self, bracket: u8) -> Option<()> {
        self.depth += 1;
        (self.depth <= DEEPEST).then_some(())?;
        self.take(bracket)
    }

    /// Goes on behind an element: to the next one, or to the end of all, which this bracket is.
    #[inline]
    fn ends(&mut self, bracket: u8) -> Option<bool> {
        let next = self.peek()?;
        self.at += 1;
        if next == bracket {
            self.depth -= 1;
            return Some(true);
        }
        (next == b',').then_some(false)
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn took(&mut self, byte: u8) -> bool {
        let is_next = self.peek() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }

    #[inline]
    fn take(&mut self, byte: u8) -> Option<()> {
        self.took(byte).then_some(())
    }
}

/// Sets what a key tells; a key that was there already is odd.
pub(super) fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

#[cfg(test)]
mod tests;
