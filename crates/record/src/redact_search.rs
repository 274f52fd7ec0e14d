//! Finding secrets in texts, and in bytes that are not all there yet.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use crate::redact_forms::{encoded_forms, parts_of, spelled_forms};
use crate::redact_spelled::{Anchored, Spelled, run_at_end};

/// Shorter values are no secrets: replacing them would hide evidence.
pub(super) const SHORTEST: usize = 8;

/// So many forms are looked for in one go where nothing is replaced yet. With more than 64 the automaton goes through a text
/// byte by byte, which takes twenty to sixty times as long.
const AT_ONCE: usize = 32;

/// All forms of all secrets in automata; the secrets themselves are never shown.
pub(super) struct Search {
    /// Some forms and anchors at a time: nearly every text holds none of them.
    quick: Vec<AhoCorasick>,
    /// What each of their patterns tells, in the same order.
    tells: Vec<Tells>,
    replacements: Vec<String>,
    spelled: Spelled,
    /// What replaces the secrets of `spelled`.
    spelled_as: Vec<usize>,
    pub(super) longest: usize,
    longest_form: usize,
    /// For each byte whether it stands in a form.
    in_forms: Vec<bool>,
    /// The forms by their first byte.
    begin_with: Vec<Vec<Box<[u8]>>>,
}

/// What it tells that a pattern was found.
#[derive(Default)]
struct Tells {
    /// Which secret's form it is or begins with, and how long the longest of these is.
    form: Option<(usize, usize)>,
    /// The anchors that it is or begins with.
    anchors: Vec<Anchored>,
}

/// A secret in a text, and its replacement.
type Found = (Range<usize>, usize);

impl Search {
    /// Looks for these secrets, each with its name; `None` if there are none.
    pub(super) fn of(secrets: &[(String, Arc<str>)]) -> Option<Self> {
        let mut patterns: BTreeMap<String, Tells> = BTreeMap::new();
        let (mut spelled, mut spelled_as) = (Spelled::new(), Vec::new());
        for (secret, (_, value)) in secrets.iter().enumerate() {
            for part in parts_of(value) {
                let mut forms = encoded_forms(part);
                match spelled.add(part) {
                    None => forms.extend(spelled_forms(part)),
                    Some(anchors) => {
                        spelled_as.push(secret);
                        for anchor in anchors {
                            let tells = patterns.entry(anchor.text).or_default();
                            tells.anchors.push(anchor.of);
                        }
                    }
                }
                for form in forms.into_iter().filter(|form| form.len() >= SHORTEST) {
                    let length = form.len();
                    let tells = patterns.entry(form).or_default();
                    tells.form.get_or_insert((secret, length));
                }
            }
        }
        let forms = patterns.iter().filter(|(_, tells)| tells.form.is_some());
        let (mut begin_with, mut in_forms) = (vec![Vec::new(); 256], vec![false; 256]);
        for (form, _) in forms.clone() {
            let bytes = form.as_bytes();
            begin_with[usize::from(bytes[0])].push(bytes.into());
            for byte in bytes {
                in_forms[usize::from(*byte)] = true;
            }
        }
        let longest_form = forms.map(|(form, _)| form.len()).max()?;
        let texts: Vec<String> = patterns.keys().cloned().collect();
        let tells = with_beginnings(patterns);
        // Building fails only above two thousand million states, which no environment can hold.
        let quick = texts.chunks(AT_ONCE).map(|some| {
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .build(some)
        });
        Some(Self {
            quick: quick.collect::<Result<_, _>>().ok()?,
            tells,
            replacements: secrets.iter().map(|(name, _)| marker(name)).collect(),
            longest: longest_form.max(spelled.longest),
            longest_form,
            in_forms,
            spelled,
            spelled_as,
            begin_with,
        })
    }

    /// Whether bytes hold a secret.
    pub(super) fn finds(&self, bytes: &[u8]) -> bool {
        self.each_found(bytes).next().is_some()
    }

    /// The text with its secrets replaced.
    pub(super) fn replaced(&self, text: &str) -> String {
        let (mut replaced, mut done) = (String::new(), 0);
        for (place, secret) in self.apart(text.as_bytes()) {
            replaced.push_str(&text[done..place.start]);
            replaced.push_str(&self.replacements[secret]);
            done = place.end;
        }
        replaced.push_str(&text[done..]);
        replaced
    }

    /// The bytes with their secrets replaced.
    pub(super) fn replaced_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut replaced = Vec::new();
        // Writing to memory does not fail.
        let strained = self.strain(bytes, true, &mut replaced);
        strained.map(|_| replaced).unwrap_or_default()
    }

    /// All that can be taken for a secret, in no order.
    fn each_found(&self, bytes: &[u8]) -> impl Iterator<Item = Found> {
        let hits = self.quick.iter().zip(self.tells.chunks(AT_ONCE));
        let hits = hits.flat_map(move |(quick, tells)| {
            let mut from = 0;
            std::iter::from_fn(move || {
                let hit = quick.find(Input::new(bytes).range(from..))?;
                from = hit.start() + 1;
                Some((hit.start(), &tells[hit.pattern().as_usize()]))
            })
        });
        hits.flat_map(move |(start, tells)| {
            let form = tells
                .form
                .map(|(secret, length)| (start..start + length, secret));
            let anchors = tells.anchors.iter();
            let spelled =
                anchors.flat_map(move |anchor| self.spelled.around(bytes, (*anchor, start)));
            let spelled = spelled.map(|(place, number)| (place, self.spelled_as[number]));
            form.into_iter().chain(spelled)
        })
    }

    /// The secrets in their order, the longest of those that begin together, and none that begins in another.
    fn apart(&self, bytes: &[u8]) -> Vec<Found> {
        let mut found: Vec<Found> = self.each_found(bytes).collect();
        found.sort_unstable_by_key(|(place, secret)| (place.start, Reverse(place.end), *secret));
        let mut done = 0;
        found.retain(|(place, _)| {
            let is_apart = place.start >= done;
            if is_apart {
                done = place.end;
            }
            is_apart
        });
        found
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
    pub(super) fn strain(
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
        for (place, secret) in self.apart(bytes) {
            if place.start >= sure {
                break;
            }
            output.write_all(&bytes[done..place.start])?;
            output.write_all(self.replacements[secret].as_bytes())?;
            found += 1;
            done = place.end;
            if done > sure {
                sure = sure_from(done);
            }
        }
        output.write_all(&bytes[done..sure])?;
        Ok((found, sure))
    }

    /// Where the first secret begins, at `from` or later, of which `bytes` hold only a beginning.
    pub(super) fn open_end(&self, bytes: &[u8], from: usize) -> usize {
        let first = run_at_end(bytes, (&self.in_forms, self.longest_form));
        let opens = |start: &usize| {
            let end = &bytes[*start..];
            let forms = &self.begin_with[usize::from(end[0])];
            forms
                .iter()
                .any(|form| form.len() > end.len() && form.starts_with(end))
        };
        let form = (first.max(from)..bytes.len()).find(opens);
        let first = self.spelled.open_from(bytes).max(from);
        let spelled = (first..form.unwrap_or(bytes.len()))
            .find(|start| self.spelled.is_open(&bytes[*start..]));
        spelled.or(form).unwrap_or(bytes.len())
    }
}

/// What each pattern tells: with itself all that it begins with, which an automaton does not find beside it.
fn with_beginnings(patterns: BTreeMap<String, Tells>) -> Vec<Tells> {
    let mut all: Vec<Tells> = Vec::new();
    let mut beginnings: Vec<(usize, String)> = Vec::new();
    for (number, (text, mut tells)) in patterns.into_iter().enumerate() {
        while beginnings
            .pop_if(|(_, last)| !text.starts_with(&**last))
            .is_some()
        {}
        if let Some((last, _)) = beginnings.last() {
            let last = &all[*last];
            tells.form = tells.form.or(last.form);
            tells.anchors.extend(&last.anchors);
        }
        beginnings.push((number, text));
        all.push(tells);
    }
    all
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
