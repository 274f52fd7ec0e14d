//! One pass over a line of JSON, borrowing from it: a line as its CLI prints it is read here, any other by `serde_json`.
//!
//! A scanner takes less than JSON is: no white space between tokens, no escapes in keys, no halves of surrogate pairs, no
//! great depth, no key twice among those that are read. Where it says `None` the line is read again the usual way, which
//! alone decides what it is. What it takes is JSON, skipped parts included.

use crate::agents::wire::border;

/// Nesting that is followed.
const DEEPEST: u32 = 64;

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
    escaped: bool,
}

impl<'a> Raw<'a> {
    /// The text itself, where nothing in it is escaped.
    pub(super) fn plain(self) -> Option<&'a str> {
        (!self.escaped).then_some(self.inside)
    }

    /// Its text, cut to `limit` bytes on a character border: what is beyond is never looked at.
    pub(super) fn text(self, limit: usize) -> String {
        if !self.escaped {
            return self.inside[..border(self.inside, limit)].to_owned();
        }
        let mut text = String::with_capacity(self.inside.len().min(limit));
        let mut rest = self.inside;
        loop {
            let run = stop(rest.as_bytes(), b'\\').unwrap_or(rest.len());
            let room = limit - text.len();
            text.push_str(&rest[..border(&rest[..run], room)]);
            if run > room || run == rest.len() {
                return text;
            }
            let (character, length) = escape(&rest.as_bytes()[run..]).unwrap_or(('\\', 1));
            if text.len() + character.len_utf8() > limit {
                return text;
            }
            text.push(character);
            rest = &rest[run + length..];
        }
    }
}

impl<'a> Scan<'a> {
    /// Begins at the start of `text`; a raw control character, of which strings may hold none, is odd.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        // Without a way out, so that it is done by vectors.
        let mark = |odd: u8, byte: &u8| odd | u8::from(*byte < b' ');
        let odd = |piece: &[u8]| piece.iter().fold(0, mark) > 0;
        let has_control = text.as_bytes().chunks(128).any(odd);
        (!has_control).then_some(Self {
            text,
            at: 0,
            depth: 0,
        })
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
            if self.took(b'}') {
                self.depth -= 1;
                return Some(());
            }
            self.take(b',')?;
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
            if self.took(b']') {
                self.depth -= 1;
                return Some(());
            }
            self.take(b',')?;
        }
    }

    /// Reads a string.
    #[inline]
    pub(super) fn string(&mut self) -> Option<Raw<'a>> {
        self.take(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += stop(&self.text.as_bytes()[self.at..], b'"')?;
            if self.took(b'"') {
                let inside = &self.text[start..self.at - 1];
                return Some(Raw { inside, escaped });
            }
            escaped = true;
            self.at += escape(&self.text.as_bytes()[self.at..])?.1;
        }
    }

    /// Reads a whole number that is not negative and fits.
    pub(super) fn count(&mut self) -> Option<u64> {
        let start = self.at;
        self.number()?;
        let digits = &self.text[start..self.at];
        digits.parse().ok().filter(|_| !digits.starts_with('-'))
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
            b'"' => self.string().map(|_| ()),
            b'{' => self.members(|scan, _| scan.skip()),
            b'[' => self.elements(Self::skip),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn number(&mut self) -> Option<()> {
        _ = self.took(b'-');
        if !self.took(b'0') {
            self.digits()?;
        }
        if self.took(b'.') {
            self.digits()?;
        }
        if self.took(b'e') || self.took(b'E') {
            _ = self.took(b'+') || self.took(b'-');
            self.digits()?;
        }
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(())
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

/// Where the next `end` or backslash stands. Most strings are short: the first bytes are looked at eight at a time, which
/// is done before a search by vectors has begun.
#[inline]
fn stop(bytes: &[u8], end: u8) -> Option<usize> {
    const NEAR: usize = 4;
    let mut at = 0;
    for eight in bytes.chunks_exact(8).take(NEAR) {
        let found = marks(eight.try_into().ok()?, end);
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr::memchr2(end, b'\\', &bytes[at..]).map(|place| at + place)
}

/// The top bits of the bytes that are `end` or a backslash: of the first such byte at least, and of none before it.
#[inline]
fn marks(eight: [u8; 8], end: u8) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let word = u64::from_le_bytes(eight);
    let is = |byte: u8| {
        let word = word ^ (ONES * u64::from(byte));
        word.wrapping_sub(ONES) & !word
    };
    (is(end) | is(b'\\')) & (ONES << 7)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn skipped(text: &str) -> bool {
        let read = |mut scan: Scan<'_>| {
            scan.skip()?;
            scan.end()
        };
        Scan::of(text).and_then(read).is_some()
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
        ] {
            assert!(!skipped(odd), "{odd}");
        }
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(skipped(&deep(64)) && !skipped(&deep(65)) && !skipped(&deep(100_000)));
    }

    #[test]
    fn numbers_that_are_no_counts_are_odd() {
        let count = |text| Scan::of(text)?.count();
        assert_eq!(count("18446744073709551615"), Some(u64::MAX));
        for odd in ["18446744073709551616", "-1", "-0", "1.0", "1e2", "x", ""] {
            assert_eq!(count(odd), None, "{odd}");
        }
        assert_eq!(Scan::of("-7").unwrap().whole(), Some(-7));
        assert_eq!(Scan::of("2147483648").unwrap().whole(), None);
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
            "[-0-9.eE]{1,6}",
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

    proptest! {
        #[test]
        fn nothing_passes_that_serde_refuses(mut text in json(), place in any::<prop::sample::Index>(), odd in any::<Option<char>>()) {
            if let Some(odd) = odd {
                let place = border(&text, place.index(text.len() + 1));
                text.insert(place, odd);
            }
            if skipped(&text) {
                prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{text}");
            }
        }

        #[test]
        fn a_text_is_what_serde_reads(text in any::<String>(), times in 1_usize..40, limit in 0_usize..200) {
            let text = text.repeat(times);
            let json = serde_json::Value::from(text.clone()).to_string();
            let mut scan = Scan::of(&json).unwrap();
            let raw = scan.string().unwrap();
            prop_assert_eq!(scan.end(), Some(()));
            prop_assert_eq!(raw.text(usize::MAX), text.clone());
            prop_assert_eq!(&raw.text(limit), &text[..border(&text, limit)]);
        }
    }
}
