//! Which ids were seen, in bounded memory.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// Ids of one generation. At least so many of the last ids are known, at most twice as many.
const GENERATION: usize = 16_384;

/// Ids that were seen, as hashes of 64 bits: two ids of a session are taken for one once in some 10^10 sessions of that many
/// calls. What is not asked for during 16,384 others may be forgotten; no agent speaks of a call that long after.
#[derive(Debug, Clone, Default)]
pub struct SeenIds {
    young: Hashes,
    old: Hashes,
}

type Hashes = HashSet<u64, BuildHasherDefault<Itself>>;

/// Something for each id, by its [`id_hash`].
pub type ById<T> = HashMap<u64, T, BuildHasherDefault<Itself>>;

impl SeenIds {
    /// Takes an id in; whether it is seen for the first time.
    pub fn is_new(&mut self, id: &str) -> bool {
        let hash = id_hash(id);
        if self.young.contains(&hash) {
            return false;
        }
        if self.young.len() >= GENERATION {
            std::mem::swap(&mut self.old, &mut self.young);
            self.young.clear();
        }
        self.young.insert(hash);
        !self.old.contains(&hash)
    }

    /// Whether an id was seen.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        let hash = id_hash(id);
        self.young.contains(&hash) || self.old.contains(&hash)
    }
}

/// An id in 64 bits. Eight bytes of it at a time, each mixed in by steps that lose nothing. Nobody gains by making two ids that collide:
/// the same id twice does the same.
#[must_use]
pub fn id_hash(id: &str) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| {
        let sum = (sum ^ word).wrapping_mul(ODD);
        sum ^ sum >> 29
    };
    let start = mix(0, id.len() as u64);
    let (words, rest) = id.as_bytes().as_chunks();
    let words = words.iter().copied().map(u64::from_le_bytes);
    let mut last = [0; 8];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    mix(mix(words.fold(start, mix), u64::from_le_bytes(last)), 0)
}

/// What is a hash already needs no other.
#[derive(Debug, Clone, Copy, Default)]
pub struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_new_once_and_the_last_ones_are_never_forgotten() {
        let mut ids = SeenIds::default();
        for number in 0..100_000_usize {
            assert!(ids.is_new(&number.to_string()), "{number}");
            assert!(!ids.is_new(&number.to_string()), "{number}");
            let earlier = number.saturating_sub(GENERATION - 1).to_string();
            assert!(ids.contains(&earlier), "{earlier}");
        }
        assert!(!ids.contains("0") && !ids.contains(""));
        assert!(ids.young.len() <= GENERATION && ids.old.len() <= GENERATION);
    }
}
