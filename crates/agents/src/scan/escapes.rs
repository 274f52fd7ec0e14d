//! The inside of a JSON string: what escapes it holds, and its text.

use std::borrow::Cow;

use crate::wire::border;
use proctor_model::Spelled;
use proctor_record::{places_of_byte, places_of_escapes, run_before_escape};

/// The inside of a JSON string, as it stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Raw<'a> {
    pub(super) inside: &'a str,
    pub(super) escapes: Escapes,
}

/// What escapes a string holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escapes {
    None,
    /// Those alone that `serde_json` writes.
    Usual,
    Odd,
}

impl<'a> Raw<'a> {
    /// The text itself, where nothing in it is escaped.
    pub(crate) fn plain(self) -> Option<&'a str> {
        (self.escapes == Escapes::None).then_some(self.inside)
    }

    /// The text as it is spelled, where `serde_json` would spell it so and no more than `limit` bytes are spelled.
    pub(crate) fn spelled(self, limit: usize) -> Option<Spelled<'a>> {
        let is_usual = self.escapes != Escapes::Odd && self.inside.len() <= limit;
        is_usual.then(|| Spelled::new(self.inside, self.escapes != Escapes::None))
    }

    /// The same cut to the first `limit` bytes of the text, as [`Self::text`] cuts it.
    pub(crate) fn spelled_cut(self, limit: usize) -> Option<Spelled<'a>> {
        let whole = Spelled::new(self.inside, self.escapes != Escapes::None);
        match self.escapes {
            Escapes::Odd => None,
            _ if self.inside.len() <= limit => Some(whole),
            Escapes::None => Some(Spelled::new(
                &self.inside[..border(self.inside, limit)],
                false,
            )),
            Escapes::Usual => {
                // Each usual escape stands for one byte.
                let spared = spared(self.inside, limit);
                let end = border(self.inside, limit.saturating_add(spared));
                let cut = Spelled::new(&self.inside[..end], true);
                Some(cut.with_length(end - spared))
            }
        }
    }

    /// A text in which nothing is escaped.
    pub(crate) fn without_escapes(inside: &'a str) -> Self {
        Self {
            inside,
            escapes: Escapes::None,
        }
    }

    /// Its text.
    pub(crate) fn whole(self) -> Cow<'a, str> {
        let plain = self.plain().map(Cow::Borrowed);
        plain.unwrap_or_else(|| Cow::Owned(self.text(usize::MAX)))
    }

    /// Its text, cut to `limit` bytes on a character border: what is beyond is never looked at.
    pub(crate) fn text(self, limit: usize) -> String {
        let mut text = String::with_capacity(self.inside.len().min(limit));
        self.push_to(&mut text, limit);
        text
    }

    /// Adds its text, cut likewise.
    pub(crate) fn push_to(self, text: &mut String, limit: usize) {
        if self.escapes == Escapes::None {
            return text.push_str(&self.inside[..border(self.inside, limit)]);
        }
        let mut rest = self.inside;
        let mut room = limit;
        loop {
            // A quote is not there unless it is escaped, nor is a control character.
            let run = stop(rest.as_bytes()).unwrap_or(rest.len());
            text.push_str(&rest[..border(&rest[..run], room)]);
            if run > room || run == rest.len() {
                return;
            }
            room -= run;
            let (character, length) = escape(&rest.as_bytes()[run..]).unwrap_or(('\\', 1));
            if character.len_utf8() > room {
                return;
            }
            room -= character.len_utf8();
            text.push(character);
            rest = &rest[run + length..];
        }
    }
}

/// How many bytes a text has that `serde_json` spelled so.
pub(crate) fn length_of(spelled: Spelled<'_>) -> usize {
    let inside = spelled.inside();
    let known = spelled.length();
    known.unwrap_or_else(|| inside.len() - spared(inside, usize::MAX))
}

/// How many bytes fewer the first `limit` bytes of a text are than as `serde_json` spelled them: each escape stands for one.
fn spared(inside: &str, limit: usize) -> usize {
    let bytes = inside.as_bytes();
    let (mut begin, mut behind, mut spared) = (0, 0, 0);
    while let Some(rest) = bytes.get(begin..).filter(|rest| !rest.is_empty()) {
        let piece = rest.first_chunk().copied();
        let piece = piece.unwrap_or_else(|| with_spaces(rest));
        let places = places_of_escapes(&piece);
        // What the last escape of the piece before holds is none.
        let mut places = without_first(places, behind, begin);
        if begin + 64 - spared <= limit && are_line_ends(&piece, places) {
            spared += places.count_ones() as usize;
            places = 0;
        }
        while places != 0 {
            let place = begin + places.trailing_zeros() as usize;
            let is_number = bytes.get(place + 1) == Some(&b'u');
            let length = if is_number { 6 } else { 2 };
            if place - spared >= limit {
                return spared;
            }
            spared += length - 1;
            behind = place + length;
            places = without_first(places, behind, begin);
        }
        begin += 64;
    }
    spared
}

/// Whether these places of a piece, several of them, are those of line ends and nothing else, each with its letter in the piece.
#[inline]
pub(super) fn are_line_ends(piece: &[u8; 64], places: u64) -> bool {
    const SEVERAL: u32 = 3;
    places.count_ones() >= SEVERAL
        && places >> 63 == 0
        && places & !places_of_byte(piece, b'\\') == 0
        && (places << 1) & !places_of_byte(piece, b'n') == 0
}

/// The places of a piece that begins at `begin`, from `from` on.
fn without_first(places: u64, from: usize, begin: usize) -> u64 {
    let passed = u32::try_from(from.saturating_sub(begin)).unwrap_or(u64::BITS);
    places & u64::MAX.checked_shl(passed).unwrap_or(0)
}

/// Where the next quote, backslash or control character stands.
#[inline]
fn stop(bytes: &[u8]) -> Option<usize> {
    let run = run_before_escape(bytes);
    (run < bytes.len()).then_some(run)
}

/// The character that an escape stands for, and how long the escape is.
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let character = match bytes.get(1)? {
        b'n' => '\n',
        b'"' => '"',
        b'\\' => '\\',
        b't' => '\t',
        b'r' => '\r',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'u' => {
            let digit = |sum: u32, byte: &u8| Some(sum * 16 + char::from(*byte).to_digit(16)?);
            let code = bytes.get(2..6)?.iter().try_fold(0, digit)?;
            return Some((char::from_u32(code)?, 6));
        }
        _ => return None,
    };
    Some((character, 2))
}

/// How long the escape is that comes next; notes where it is an odd one.
#[inline]
pub(super) fn escape_length(bytes: &[u8], escapes: &mut Escapes) -> Option<usize> {
    match bytes.first_chunk()? {
        [b'\\', b'n' | b'"' | b'\\' | b't' | b'r' | b'b' | b'f'] => Some(2),
        [b'\\', _] => {
            let (character, length) = escape(bytes)?;
            if !is_usual(character, &bytes[..length]) {
                *escapes = Escapes::Odd;
            }
            Some(length)
        }
        _ => None,
    }
}

/// Fewer bytes than 64, and spaces.
pub(super) fn with_spaces(bytes: &[u8]) -> [u8; 64] {
    let mut piece = [b' '; 64];
    for (place, byte) in piece.iter_mut().zip(bytes) {
        *place = *byte;
    }
    piece
}

/// Whether `serde_json` escapes a character so, by `/` or by its number.
fn is_usual(character: char, escape: &[u8]) -> bool {
    character < ' '
        && !matches!(character, '\n' | '\r' | '\t' | '\u{8}' | '\u{c}')
        && escape
            .last()
            .is_some_and(|digit| !digit.is_ascii_uppercase())
}
