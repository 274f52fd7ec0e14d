//! Which ids were seen, in bounded memory.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Ids of one generation. At least so many of the last ids are known, at most twice as many.
const GENERATION: usize = 16_384;
/// Places of a generation, of which at most half are taken: what follows a hash is then never far.
const PLACES: usize = 2 * GENERATION;
/// The bits of a place that tell what was seen; the others are the hash's own.
const SIDES: u64 = 0b11;

/// What was seen of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// That something of this id began.
    Begin,
    /// That it ended.
    End,
}

/// Ids that were seen, as hashes of 62 bits: two ids of a session are taken for one once in some 10^9 sessions of that many
/// calls. What is not asked for during 16,384 others may be forgotten; no agent speaks of a call that long after.
#[derive(Debug, Clone, Default)]
pub struct SeenIds {
    young: Generation,
    old: Generation,
}

/// Something for each id, by its [`id_hash`].
pub type ById<T> = HashMap<u64, T, BuildHasherDefault<Itself>>;

impl SeenIds {
    /// Takes in a side of an id; whether it is seen for the first time.
    pub fn is_new(&mut self, id: &str, side: Side) -> bool {
        let hash = id_hash(id);
        if let Some(taken) = self.young.taken(hash) {
            let is_new = *taken & side.bit() == 0;
            *taken |= side.bit();
            return is_new;
        }
        let known = self.grow_old(hash);
        self.young.add(hash, known | side.bit());
        known & side.bit() == 0
    }

    /// Makes room for a hash that is not among the young; what was seen of it before.
    fn grow_old(&mut self, hash: u64) -> u64 {
        let known = self.old.seen(hash);
        if self.young.count >= GENERATION {
            std::mem::swap(&mut self.old, &mut self.young);
            self.young.clear();
        }
        known
    }

    /// Whether a side of an id was seen.
    #[must_use]
    pub fn contains(&self, id: &str, side: Side) -> bool {
        let hash = id_hash(id);
        (self.young.seen(hash) | self.old.seen(hash)) & side.bit() != 0
    }
}

impl Side {
    const fn bit(self) -> u64 {
        match self {
            Self::Begin => 0b01,
            Self::End => 0b10,
        }
    }
}

/// Hashes with what was seen of each, each at the place that it names or at the next one that is free: one look into memory
/// finds most.
#[derive(Debug, Clone, Default)]
struct Generation {
    /// Nothing before the first one is added.
    places: Vec<u64>,
    count: usize,
}

impl Generation {
    fn clear(&mut self) {
        self.places.fill(0);
        self.count = 0;
    }

    /// What was seen.
    fn seen(&self, hash: u64) -> u64 {
        self.at(hash).map_or(0, |(_, taken)| taken & SIDES)
    }

    /// The place of a hash that stands here.
    fn taken(&mut self, hash: u64) -> Option<&mut u64> {
        let (place, taken) = self.at(hash)?;
        self.places.get_mut(place).filter(|_| taken != 0)
    }

    fn add(&mut self, hash: u64, sides: u64) {
        if self.places.is_empty() {
            self.places = vec![0; PLACES];
        }
        let Some((place, taken)) = self.at(hash) else {
            return;
        };
        self.count += usize::from(taken == 0);
        self.places[place] = hash & !SIDES | taken & SIDES | sides;
    }

    /// Where a hash stands or would stand, and what stands there; nothing where there are no places yet.
    fn at(&self, hash: u64) -> Option<(usize, u64)> {
        let places: &[u64; PLACES] = self.places.first_chunk()?;
        let mut place = usize::try_from(hash >> 49).unwrap_or(0);
        loop {
            place %= PLACES;
            let taken = places[place];
            if taken == 0 || (taken ^ hash) & !SIDES == 0 {
                return Some((place, taken));
            }
            place += 1;
        }
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_is_new_once_and_the_last_ones_are_never_forgotten() {
        let mut ids = SeenIds::default();
        for number in 0..100_000_usize {
            let id = number.to_string();
            assert!(ids.is_new(&id, Side::Begin), "{number}");
            assert!(!ids.is_new(&id, Side::Begin), "{number}");
            let earlier = number.saturating_sub(GENERATION - 1).to_string();
            assert!(ids.contains(&earlier, Side::Begin), "{earlier}");
        }
        let never = ["0", ""].map(|id| ids.contains(id, Side::Begin));
        assert_eq!(never, [false, false]);
        assert!(!ids.contains("99999", Side::End));
        assert!(ids.young.count <= GENERATION && ids.old.count <= GENERATION);
        assert_eq!(
            (ids.young.places.len(), ids.old.places.len()),
            (PLACES, PLACES)
        );
    }

    proptest! {
        #[test]
        fn each_side_of_an_id_is_new_once(steps in prop::collection::vec((0_u16..40, any::<bool>()), 0..200)) {
            let (mut ids, mut known) = (SeenIds::default(), std::collections::HashSet::new());
            for (id, is_begin) in steps {
                let side = if is_begin { Side::Begin } else { Side::End };
                let text = id.to_string();
                prop_assert_eq!(ids.contains(&text, side), known.contains(&(id, is_begin)));
                prop_assert_eq!(ids.is_new(&text, side), known.insert((id, is_begin)));
            }
        }
    }
}
