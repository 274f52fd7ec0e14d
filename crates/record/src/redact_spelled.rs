//! Secrets whose characters are spelled in any way that programs write them: as they are, behind backslashes, as `\uXXXX`, `%XX`,
//! `&#NN;` and the like, each character in its own.
//!
//! A text is searched for what survives all of these: the longest run of letters and digits of a secret, or one character in
//! each spelling that programs give to all characters alike. Around it the rest is read, backward and forward.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::redact_character::Character;

/// Of fewer letters and digits in a row a text is full.
const SHORTEST_RUN: usize = 3;
/// A run of fewer different ones follows itself at every step in a text that is full of it, and each would be read around.
const FEWEST_KINDS: usize = 3;
/// Longer ones tell no more.
const LONGEST_RUN: usize = 16;

/// What a text is searched for, and which character of which secret it spells where it is found.
#[derive(Debug, Clone)]
pub(super) struct Anchor {
    pub(super) text: String,
    pub(super) of: Anchored,
}

/// A character of a secret, and how many bytes of the anchor there are up to its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Anchored {
    secret: usize,
    character: usize,
    end: usize,
}

/// Secrets that have an anchor.
pub(super) struct Spelled {
    characters: Vec<Character>,
    by_character: BTreeMap<char, usize>,
    secrets: Vec<Vec<usize>>,
    pub(super) longest: usize,
    /// Those that may begin with this byte.
    begin_with: Vec<Vec<usize>>,
    /// For each byte whether it stands in any of them.
    has: Vec<bool>,
}

impl Spelled {
    /// None yet.
    pub(super) fn new() -> Self {
        Self {
            characters: Vec::new(),
            by_character: BTreeMap::new(),
            secrets: Vec::new(),
            longest: 0,
            begin_with: vec![Vec::new(); 256],
            has: vec![false; 256],
        }
    }

    /// Learns the next one and gives what to search for; `None` where it has too few letters and digits in a row.
    pub(super) fn add(&mut self, value: &str) -> Option<Vec<Anchor>> {
        let run = longest_run(value)?;
        let secret = self.secrets.len();
        let characters: Vec<usize> = value.chars().map(|one| self.known(one)).collect();
        let each = characters.iter().map(|one| &self.characters[*one]);
        self.longest = self.longest.max(each.map(Character::longest).sum());
        for byte in self.characters[characters[0]].first_bytes() {
            self.begin_with[usize::from(byte)].push(secret);
        }
        self.secrets.push(characters);
        Some(anchors(value, (secret, run)))
    }

    fn known(&mut self, one: char) -> usize {
        *self.by_character.entry(one).or_insert_with(|| {
            let character = Character::of(one);
            for byte in character.bytes() {
                self.has[usize::from(byte)] = true;
            }
            self.characters.push(character);
            self.characters.len() - 1
        })
    }

    fn characters(&self, secret: usize) -> impl DoubleEndedIterator<Item = &Character> {
        let numbers = self.secrets[secret].iter();
        numbers.map(|number| &self.characters[*number])
    }

    /// Where the secret stands whose anchor was found at `place`, and which one it is, by the order in which they were learned. It may
    /// begin in several ways, with backslashes or without.
    pub(super) fn around(
        &self,
        bytes: &[u8],
        (anchored, place): (Anchored, usize),
    ) -> impl Iterator<Item = (Range<usize>, usize)> {
        let Anchored {
            secret,
            character,
            end,
        } = anchored;
        let mut starts = vec![place + end];
        let before = self.characters(secret).rev();
        let after = self.secrets[secret].len() - character - 1;
        for one in before.skip(after) {
            starts = each(&starts, |at, found| one.before(bytes, at, found));
        }
        let mut ends = vec![place + end];
        for one in self.characters(secret).skip(character + 1) {
            ends = each(&ends, |at, found| _ = one.after(bytes, at, found));
        }
        let end = ends.pop();
        let starts = starts.into_iter();
        starts.filter_map(move |start| Some((start..end?, secret)))
    }

    /// Where the first secret may begin of which `bytes` hold only a beginning.
    pub(super) fn open_from(&self, bytes: &[u8]) -> usize {
        run_at_end(bytes, (&self.has, self.longest))
    }

    /// Whether a secret begins where these bytes do, and could go on behind their end.
    pub(super) fn is_open(&self, bytes: &[u8]) -> bool {
        let secrets = bytes
            .first()
            .map(|byte| &self.begin_with[usize::from(*byte)]);
        let mut secrets = secrets.into_iter().flatten();
        secrets.any(|secret| self.goes_on(*secret, bytes))
    }

    fn goes_on(&self, secret: usize, bytes: &[u8]) -> bool {
        let mut characters = self.characters(secret);
        let mut is_cut = false;
        let mut ends = Vec::new();
        // Nearly all end here.
        if let Some(first) = characters.next() {
            is_cut = first.after(bytes, 0, &mut ends);
        }
        for one in characters {
            if is_cut || ends.is_empty() {
                break;
            }
            ends = each(&ends, |at, found| is_cut |= one.after(bytes, at, found));
        }
        is_cut
    }
}

/// Where the bytes at the end begin that `has` knows all of, but no more than `longest`.
pub(super) fn run_at_end(bytes: &[u8], (has, longest): (&[bool], usize)) -> usize {
    let first = bytes.len().saturating_sub(longest);
    let mut last = bytes[first..].iter();
    let other = last.rposition(|byte| !has[usize::from(*byte)]);
    other.map_or(first, |other| first + other + 1)
}

/// All places that one of these leads to, in their order.
fn each(places: &[usize], mut step: impl FnMut(usize, &mut Vec<usize>)) -> Vec<usize> {
    let mut found = Vec::new();
    for place in places {
        step(*place, &mut found);
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The longest run of letters and digits, in bytes.
fn longest_run(value: &str) -> Option<Range<usize>> {
    let mut longest = 0..0;
    let mut start = 0;
    for (place, byte) in value.bytes().chain([b'-']).enumerate() {
        if !byte.is_ascii_alphanumeric() {
            if place - start > longest.len() {
                longest = start..place;
            }
            start = place + 1;
        }
    }
    longest.end = longest.end.min(longest.start + LONGEST_RUN);
    let kinds: BTreeSet<u8> = value[longest.clone()].bytes().collect();
    (longest.len() >= SHORTEST_RUN && kinds.len() >= FEWEST_KINDS).then_some(longest)
}

fn anchors(value: &str, (secret, run): (usize, Range<usize>)) -> Vec<Anchor> {
    let anchor = |(text, character, end)| Anchor {
        text,
        of: Anchored {
            secret,
            character,
            end,
        },
    };
    let first_of_run = value[..run.start].chars().count();
    // Some spellings are too short without what follows them, so it is not the last one. Digits have no capitals.
    let ascii = value.chars().enumerate().filter(|(_, one)| one.is_ascii());
    let before_last = ascii.filter(|(place, _)| place + 1 < value.chars().count());
    let is_plain = |one: char| u32::from(one) >= 0x10 && u32::from(one) & 15 < 10;
    let plain = before_last.clone().find(|(_, one)| is_plain(*one));
    let mut anchors = vec![(value[run].to_owned(), first_of_run, 1)];
    if let Some((place, one)) = plain.or_else(|| before_last.clone().next()) {
        let code = u32::from(one);
        let decimal = format!("#{code};");
        let end = decimal.len();
        anchors.extend([(decimal, place, end), (format!("\\{code:03o}\\"), place, 4)]);
        let mut hex = vec![format!("{code:02x}"), format!("{code:02X}")];
        hex.dedup();
        for hex in hex {
            anchors.extend([
                (format!("u00{hex}"), place, 5),
                (format!("%{hex}%"), place, 3),
                (format!("#x{hex};"), place, 5),
                (format!("\\x{hex}\\"), place, 4),
            ]);
        }
    }
    anchors.into_iter().map(anchor).collect()
}
