//! One pass over a line of JSON, borrowing from it: a line as its CLI prints it is read here, any other by `serde_json`.
//!
//! A scanner takes less than JSON is: no white space between tokens, no escapes in keys, no halves of surrogate pairs, no
//! great depth, no numbers that may be too large, no key twice among those that are read. Where it says `None` the line is
//! read again the usual way, which alone decides what it is. What it takes is sound JSON (`sound.rs`), skipped parts included.

use std::borrow::Cow;

use crate::agents::wire::border;
use crate::model::Spelled;
use crate::record::{places_of_byte, places_of_escapes, run_before_escape};

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

/// The inside of a JSON string, as it stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Raw<'a> {
    inside: &'a str,
    escapes: Escapes,
}

/// What escapes a string holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escapes {
    None,
    /// Those alone that `serde_json` writes.
    Usual,
    Odd,
}

impl<'a> Raw<'a> {
    /// The text itself, where nothing in it is escaped.
    pub(super) fn plain(self) -> Option<&'a str> {
        (self.escapes == Escapes::None).then_some(self.inside)
    }

    /// The text as it is spelled, where `serde_json` would spell it so and no more than `limit` bytes are spelled.
    pub(super) fn spelled(self, limit: usize) -> Option<Spelled<'a>> {
        let is_usual = self.escapes != Escapes::Odd && self.inside.len() <= limit;
        is_usual.then(|| Spelled::new(self.inside, self.escapes != Escapes::None))
    }

    /// The same cut to the first `limit` bytes of the text, as [`Self::text`] cuts it.
    pub(super) fn spelled_cut(self, limit: usize) -> Option<Spelled<'a>> {
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
    pub(super) fn without_escapes(inside: &'a str) -> Self {
        Self {
            inside,
            escapes: Escapes::None,
        }
    }

    /// Its text.
    pub(super) fn whole(self) -> Cow<'a, str> {
        let plain = self.plain().map(Cow::Borrowed);
        plain.unwrap_or_else(|| Cow::Owned(self.text(usize::MAX)))
    }

    /// Its text, cut to `limit` bytes on a character border: what is beyond is never looked at.
    pub(super) fn text(self, limit: usize) -> String {
        let mut text = String::with_capacity(self.inside.len().min(limit));
        self.push_to(&mut text, limit);
        text
    }

    /// Adds its text, cut likewise.
    pub(super) fn push_to(self, text: &mut String, limit: usize) {
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

/// How many bytes a text has that `serde_json` spelled so.
pub(super) fn length_of(spelled: Spelled<'_>) -> usize {
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
fn are_line_ends(piece: &[u8; 64], places: u64) -> bool {
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

/// Sets what a key tells; a key that was there already is odd.
pub(super) fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
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
fn escape_length(bytes: &[u8], escapes: &mut Escapes) -> Option<usize> {
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
fn with_spaces(bytes: &[u8]) -> [u8; 64] {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn skipped(text: &str) -> bool {
        Scan::of(text).passes()
    }

    #[test]
    fn what_is_skipped_is_json_and_what_is_not_is_odd() {
        for json in [
            r#"{"a":[1,-0.5e+3,0,true,false,null,"x\"\\\/\b\f\n\r\t\u00e9"],"b":{}}"#,
            "[]",
            "\"\"",
            "-1",
            "0",
            "1E5",
            "[[],{}]",
        ] {
            assert!(skipped(json), "{json}");
        }
        for odd in [
            "",
            "{",
            "[1,]",
            "{\"a\":1,}",
            "{\"a\"}",
            "01",
            "1.",
            ".5",
            "-",
            "1e",
            "tru",
            "\"x",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "{\"a\":1}x",
            "[1 ]",
            "\"a\tb\"",
            "nul",
            "{1:2}",
            "+1",
            "{\"\\u0061\":1}",
            "1e400",
            "[-1.5E+999]",
        ] {
            assert!(!skipped(odd), "{odd}");
        }
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(skipped(&deep(64)) && !skipped(&deep(65)) && !skipped(&deep(100_000)));
    }

    #[test]
    fn numbers_that_are_no_counts_are_odd() {
        let count = |text| {
            let mut scan = Scan::of(text);
            let count = scan.count();
            scan.end().and(count)
        };
        assert_eq!(count("18446744073709551615"), Some(u64::MAX));
        for odd in ["18446744073709551616", "-1", "-0", "1.0", "1e2", "x", ""] {
            assert_eq!(count(odd), None, "{odd}");
        }
        assert_eq!(Scan::of("-7").whole(), Some(-7));
        assert_eq!(Scan::of("2147483648").whole(), None);
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
            "[-0-9.eE]{1,6}",
            "[1-9]{0,310}e?[0-9]{1,3}",
            Just("null".to_owned()),
            Just("\"\\u00e9\\ud83d\\ude00\"".to_owned()),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4)
                    .prop_map(|list| format!("[{}]", list.join(","))),
                prop::collection::vec(("[a-c]{0,2}", inner), 0..4).prop_map(|members| {
                    let members = members
                        .iter()
                        .map(|(key, value)| format!("\"{key}\":{value}"));
                    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
                }),
            ]
        })
    }

    #[test]
    fn only_what_serde_writes_is_taken_as_it_is_spelled() {
        let spelled = |json: &'static str| {
            let raw = Scan::of(json).string().unwrap();
            raw.spelled(100).map(Spelled::inside)
        };
        for usual in ["\"\"", "\"é\"", r#""a\"\\\n\r\t\b\f\u0000\u001b""#] {
            assert_eq!(spelled(usual), Some(&usual[1..usual.len() - 1]), "{usual}");
        }
        for odd in [
            r#""\/""#,
            r#""\u0041""#,
            r#""\u001B""#,
            r#""\u000a""#,
            r#""\n\u00e9""#,
            r#""\/\n""#,
        ] {
            assert_eq!(spelled(odd), None, "{odd}");
        }
        assert_eq!(Scan::of("\"abc\"").string().unwrap().spelled(2), None);
    }

    proptest! {
        #[test]
        fn a_text_of_many_escapes_is_what_serde_reads(pieces in prop::collection::vec(prop::sample::select(vec!["\n", "\n", "\n", "a", "n", "\\", "\"", "\u{1b}", "é", "line"]), 0..300), limit in 0_usize..400) {
            let text = pieces.concat();
            let json = serde_json::Value::from(text.clone()).to_string();
            let mut scan = Scan::of(&json);
            let raw = scan.string().unwrap();
            prop_assert_eq!(scan.end(), Some(()));
            let cut = raw.spelled_cut(limit).unwrap();
            prop_assert_eq!(cut.text(), &text[..border(&text, limit)]);
            prop_assert_eq!(length_of(cut), cut.text().len());
            prop_assert_eq!(length_of(raw.spelled(json.len()).unwrap()), text.len());
        }

        #[test]
        fn nothing_passes_that_serde_refuses(mut text in json(), place in any::<prop::sample::Index>(), odd in any::<Option<char>>()) {
            if let Some(odd) = odd {
                let place = border(&text, place.index(text.len() + 1));
                text.insert(place, odd);
            }
            if skipped(&text) {
                prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
            }
        }

        #[test]
        fn a_text_is_what_serde_reads(text in any::<String>(), times in 1_usize..40, limit in 0_usize..200) {
            let text = text.repeat(times);
            let json = serde_json::Value::from(text.clone()).to_string();
            let mut scan = Scan::of(&json);
            let raw = scan.string().unwrap();
            prop_assert_eq!(scan.end(), Some(()));
            prop_assert_eq!(raw.text(usize::MAX), text.clone());
            prop_assert_eq!(&raw.text(limit), &text[..border(&text, limit)]);
            let spelled = raw.spelled_cut(limit).unwrap().text();
            prop_assert_eq!(&spelled, &text[..border(&text, limit)]);
            prop_assert_eq!(raw.spelled(json.len()).unwrap().text(), text);
        }
    }
}
