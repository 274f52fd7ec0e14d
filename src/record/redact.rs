//! Replaces known secrets by `[redacted:NAME]` before anything is written; best effort, not a promise.
//!
//! A secret is known by the name of the variable that held it. It is found as it is, escaped for JSON (once
//! and twice), percent-encoded, in hexadecimal, and inside base64 at any offset. What an agent encodes in
//! another way passes.

use std::borrow::Cow;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::record::error::Doing as _;
use crate::record::{AtomicFile, RecordError, json_text, private};

/// Shorter values are no secrets: replacing them would hide evidence.
const SHORTEST: usize = 8;

/// Whether a variable of this name is likely to hold a secret.
#[must_use]
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if matches!(name.as_str(), "SSH_AUTH_SOCK" | "GPG_KEY") {
        return false;
    }
    let word = |part: &str| {
        [
            "KEY",
            "KEYS",
            "TOKEN",
            "AUTH",
            "AUTHORIZATION",
            "COOKIE",
            "PAT",
        ]
        .contains(&part)
            || ["KEY", "TOKEN"].iter().any(|end| part.ends_with(end))
            || ["SECRET", "PASSW", "CREDENTIAL"]
                .iter()
                .any(|inside| part.contains(inside))
    };
    name.split(['_', '-', '.']).any(word)
}

/// Knows the secrets of a run; cheap to clone.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Vec<(String, Arc<str>)>,
    search: Option<Arc<Search>>,
}

/// All forms of all secrets in one automaton; the secrets themselves are never shown.
struct Search {
    automaton: AhoCorasick,
    replacements: Vec<String>,
    longest: usize,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.secrets.iter().map(|(name, _)| name);
        formatter.debug_list().entries(names).finish()
    }
}

impl Redactor {
    /// Learns the secrets among the variables of an environment, by their names.
    pub fn from_variables<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut redactor = Self::default();
        for (name, value) in variables {
            if looks_secret(name) {
                redactor.remember(name, value);
            }
        }
        redactor.rebuild();
        redactor
    }

    /// Learns one more secret, whatever its name; values below 8 bytes are left out.
    pub fn add(&mut self, name: &str, value: &str) {
        self.remember(name, value);
        self.rebuild();
    }

    fn remember(&mut self, name: &str, value: &str) {
        let known = self.secrets.iter().any(|(_, secret)| &**secret == value);
        if value.len() >= SHORTEST && !known {
            self.secrets.push((name.to_owned(), value.into()));
        }
    }

    fn rebuild(&mut self) {
        let mut forms: Vec<String> = Vec::new();
        let mut replacements = Vec::new();
        for (name, value) in &self.secrets {
            for form in forms_of(value) {
                if form.len() >= SHORTEST && !forms.contains(&form) {
                    forms.push(form);
                    replacements.push(marker(name));
                }
            }
        }
        let longest = forms.iter().map(String::len).max().unwrap_or(0);
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(&forms);
        // Building fails only above two thousand million states, which no environment can hold.
        self.search = automaton.ok().filter(|_| longest > 0).map(|automaton| {
            Arc::new(Search {
                automaton,
                replacements,
                longest,
            })
        });
    }

    /// Whether it knows no secret.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.search.is_none()
    }

    /// The text without secrets.
    #[must_use]
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.search {
            Some(search) if search.automaton.is_match(text) => {
                Cow::Owned(search.automaton.replace_all(text, &search.replacements))
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// The bytes without secrets.
    #[must_use]
    pub fn redact_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        match &self.search {
            Some(search) if search.automaton.is_match(bytes) => Cow::Owned(
                search
                    .automaton
                    .replace_all_bytes(bytes, &search.replacements),
            ),
            _ => Cow::Borrowed(bytes),
        }
    }

    /// JSON text with secrets replaced inside its string values only: keys, numbers and structure stay.
    #[must_use]
    pub fn redact_json<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match &self.search {
            Some(search) if search.automaton.is_match(text) => {
                Cow::Owned(json_text::map_values(text, |value| self.redact(value)))
            }
            _ => Cow::Borrowed(text),
        }
    }

    /// [`Self::redact_json`] of a line of JSON that serde wrote; `None` where it holds no secret.
    pub(super) fn redact_json_line(&self, line: &[u8]) -> Option<String> {
        let found = self
            .search
            .as_ref()
            .is_some_and(|search| search.automaton.is_match(line));
        found.then(|| {
            self.redact_json(&String::from_utf8_lossy(line))
                .into_owned()
        })
    }

    /// Replaces the secrets in a file that another program wrote, in bounded memory. A file that holds none is
    /// not touched. Returns how many were replaced.
    ///
    /// # Errors
    /// When the file cannot be read or replaced.
    pub fn redact_file(&self, path: &Path) -> Result<u64, RecordError> {
        let Some(search) = self.search.as_deref() else {
            return Ok(0);
        };
        if !fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file()) {
            return Ok(0);
        }
        let mut input = private::open_file(path)?;
        let found = search
            .copy(&mut input, &mut io::sink())
            .doing("read", path)?;
        if found == 0 {
            return Ok(0);
        }
        let mut input = private::open_file(path)?;
        let mut output = AtomicFile::create(path)?;
        search.copy(&mut input, &mut output).doing("redact", path)?;
        output.commit()?;
        Ok(found)
    }
}

impl Search {
    /// Copies `input` to `output` with the secrets replaced, also those that lie across two reads.
    fn copy(&self, input: &mut impl Read, output: &mut impl Write) -> io::Result<u64> {
        const CHUNK: u64 = 256 * 1024;
        let mut buffer = Vec::new();
        let mut found = 0;
        loop {
            let read = input.by_ref().take(CHUNK).read_to_end(&mut buffer)?;
            // A match that begins before `sure` cannot become longer by what is read next.
            let sure = match read {
                0 => buffer.len(),
                _ => buffer.len().saturating_sub(self.longest - 1),
            };
            let mut done = 0;
            for matched in self.automaton.find_iter(&buffer) {
                if matched.start() >= sure {
                    break;
                }
                output.write_all(&buffer[done..matched.start()])?;
                output.write_all(self.replacements[matched.pattern()].as_bytes())?;
                done = matched.end();
                found += 1;
            }
            let keep_from = done.max(sure);
            output.write_all(&buffer[done..keep_from])?;
            buffer.drain(..keep_from);
            if read == 0 {
                return Ok(found);
            }
        }
    }
}

fn marker(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|character| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
            _ => '_',
        })
        .collect();
    format!("[redacted:{name}]")
}

/// The ways in which a secret is commonly written down.
fn forms_of(value: &str) -> Vec<String> {
    let json = json_text::escaped(value);
    let ascii = json_text::escaped_ascii(value);
    let mut forms = vec![
        value.to_owned(),
        json_text::escaped(&json),
        json_text::escaped(&ascii),
        json.replace('/', "\\/"),
        json,
        ascii,
        hex(value, false),
        hex(value, true),
    ];
    let plus = percent(value, true).replace("%20", "+");
    forms.extend([percent(value, false), percent(value, true), plus]);
    for offset in 0..3 {
        let inside = base64(value, offset);
        forms.push(inside.replace('+', "-").replace('/', "_"));
        forms.push(inside);
    }
    forms
}

fn hex(value: &str, upper: bool) -> String {
    let digits = if upper {
        b"0123456789ABCDEF"
    } else {
        b"0123456789abcdef"
    };
    let digit = |nibble: u8| char::from(digits[usize::from(nibble)]);
    let pair = |byte: u8| [digit(byte >> 4), digit(byte & 15)];
    value.bytes().flat_map(pair).collect()
}

fn percent(value: &str, upper: bool) -> String {
    let encode = |byte: u8| match (byte, upper) {
        (b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~', _) => {
            char::from(byte).to_string()
        }
        (_, true) => format!("%{byte:02X}"),
        (_, false) => format!("%{byte:02x}"),
    };
    value.bytes().map(encode).collect()
}

/// The characters of base64 that `value` alone decides when `offset` bytes (mod 3) stand before it.
fn base64(value: &str, offset: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = std::iter::repeat_n(0, offset)
        .chain(value.bytes())
        .collect();
    let bit = |place: usize| (bytes[place / 8] >> (7 - place % 8)) & 1;
    let sextet = |index: usize| (0..6).fold(0, |sum, place| sum << 1 | bit(index * 6 + place));
    ((offset * 8).div_ceil(6)..bytes.len() * 8 / 6)
        .map(|index| char::from(ALPHABET[usize::from(sextet(index))]))
        .collect()
}

#[cfg(test)]
#[path = "redact_tests.rs"]
mod tests;
