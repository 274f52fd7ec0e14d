//! Finding secrets in bytes that are not all there yet.

use std::io::{self, Read, Write};
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use crate::record::redact_forms::{forms_of, parts_of};

/// Shorter values are no secrets: replacing them would hide evidence.
pub(super) const SHORTEST: usize = 8;

/// So many forms are looked for in one go where nothing is replaced yet. With more than 64 the automaton goes through a text
/// byte by byte, which takes twenty to sixty times as long.
const AT_ONCE: usize = 32;

/// All forms of all secrets in one automaton; the secrets themselves are never shown.
pub(super) struct Search {
    automaton: AhoCorasick,
    /// The same forms, some at a time: nearly every text holds none of them.
    quick: Vec<AhoCorasick>,
    replacements: Vec<String>,
    longest: usize,
    /// The forms by their first byte.
    begin_with: Vec<Vec<Box<[u8]>>>,
}

impl Search {
    /// Looks for these secrets, each with its name; `None` if there are none.
    pub(super) fn of(secrets: &[(String, Arc<str>)]) -> Option<Self> {
        let mut forms: Vec<String> = Vec::new();
        let mut replacements = Vec::new();
        for (name, value) in secrets {
            for form in parts_of(value).into_iter().flat_map(forms_of) {
                if form.len() >= SHORTEST && !forms.contains(&form) {
                    forms.push(form);
                    replacements.push(marker(name));
                }
            }
        }
        let longest = forms.iter().map(String::len).max()?;
        let mut begin_with = vec![Vec::new(); 256];
        for form in &forms {
            let bytes = form.as_bytes();
            begin_with[usize::from(bytes[0])].push(bytes.into());
        }
        // Building fails only above two thousand million states, which no environment can hold.
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .build(&forms)
            .ok()?;
        let quick = forms.chunks(AT_ONCE).map(|some| {
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .build(some)
        });
        Some(Self {
            quick: quick.collect::<Result<_, _>>().ok()?,
            automaton,
            replacements,
            longest,
            begin_with,
        })
    }

    /// Whether bytes hold a secret.
    pub(super) fn finds(&self, bytes: &[u8]) -> bool {
        self.quick.iter().any(|some| some.is_match(bytes))
    }

    /// The text with its secrets replaced.
    pub(super) fn replaced(&self, text: &str) -> String {
        self.automaton.replace_all(text, &self.replacements)
    }

    /// The bytes with their secrets replaced.
    pub(super) fn replaced_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.automaton.replace_all_bytes(bytes, &self.replacements)
    }

    /// Copies `input` to `output` with the secrets replaced, also those that lie across two reads.
    pub(super) fn copy(&self, input: &mut impl Read, output: &mut impl Write) -> io::Result<u64> {
        const CHUNK: u64 = 256 * 1024;
        let mut buffer = Vec::new();
        let mut found = 0;
        loop {
            let read = input.by_ref().take(CHUNK).read_to_end(&mut buffer)?;
            let (replaced, done) = self.strain(&buffer, read == 0, output)?;
            buffer.drain(..done);
            found += replaced;
            if read == 0 {
                return Ok(found);
            }
        }
    }

    /// Writes what is sure of `bytes` with the secrets replaced: how many were, and where that begins which what comes next
    /// may yet make a secret.
    fn strain(
        &self,
        bytes: &[u8],
        is_all: bool,
        output: &mut impl Write,
    ) -> io::Result<(u64, usize)> {
        let sure_from = |from| {
            if is_all {
                bytes.len()
            } else {
                self.open_end(bytes, from)
            }
        };
        let (mut found, mut done, mut sure) = (0, 0, sure_from(0));
        if !self.finds(bytes) {
            output.write_all(&bytes[..sure])?;
            return Ok((0, sure));
        }
        for matched in self.automaton.find_iter(bytes) {
            if matched.start() >= sure {
                break;
            }
            output.write_all(&bytes[done..matched.start()])?;
            output.write_all(self.replacements[matched.pattern()].as_bytes())?;
            found += 1;
            done = matched.end();
            if done > sure {
                sure = sure_from(done);
            }
        }
        output.write_all(&bytes[done..sure])?;
        Ok((found, sure))
    }

    /// Where the first form begins, at `from` or later, of which `bytes` hold only a beginning.
    fn open_end(&self, bytes: &[u8], from: usize) -> usize {
        let first = from.max(bytes.len().saturating_sub(self.longest - 1));
        let opens = |start: &usize| {
            let end = &bytes[*start..];
            let forms = &self.begin_with[usize::from(end[0])];
            forms
                .iter()
                .any(|form| form.len() > end.len() && form.starts_with(end))
        };
        (first..bytes.len()).find(opens).unwrap_or(bytes.len())
    }
}

/// Removes secrets from bytes that come piece by piece; holds back no more than the beginning of one.
pub struct Sieve {
    search: Option<Arc<Search>>,
    held: Vec<u8>,
}

impl Sieve {
    pub(super) fn new(search: Option<Arc<Search>>) -> Self {
        Self {
            search,
            held: Vec::new(),
        }
    }

    /// Gives `keep` what may be written now, in one piece or two.
    pub fn pass(&mut self, bytes: &[u8], mut keep: impl FnMut(&[u8])) {
        let Some(search) = &self.search else {
            return keep(bytes);
        };
        if self.is_apart(search, bytes) && !search.finds(bytes) {
            let sure = search.open_end(bytes, 0);
            if !self.held.is_empty() {
                keep(&self.held);
            }
            self.held.clear();
            self.held.extend_from_slice(&bytes[sure..]);
            return keep(&bytes[..sure]);
        }
        self.held.extend_from_slice(bytes);
        keep(&self.let_go(false));
    }

    /// Whether no secret begins in what was held back and ends in these bytes.
    fn is_apart(&self, search: &Search, bytes: &[u8]) -> bool {
        if self.held.is_empty() {
            return true;
        }
        // Less could leave what was held back the beginning of one.
        if bytes.len() < search.longest {
            return false;
        }
        let seam = [&self.held, &bytes[..search.longest]].concat();
        !search.finds(&seam)
    }

    /// What was held back, when nothing more comes.
    pub fn rest(&mut self) -> Vec<u8> {
        self.let_go(true)
    }

    fn let_go(&mut self, is_all: bool) -> Vec<u8> {
        let mut output = Vec::new();
        if let Some(search) = &self.search {
            // Writing to memory does not fail.
            let strained = search.strain(&self.held, is_all, &mut output);
            let (_, done) = strained.unwrap_or_default();
            self.held.drain(..done);
        }
        output
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
