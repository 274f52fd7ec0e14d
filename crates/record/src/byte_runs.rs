//! How far a text goes on without certain bytes, sixteen of them looked at at once.

use wide::u8x16;

const PIECE: usize = 16;

/// How many bytes come before one that JSON strings hold only escaped: a quote, a backslash, a control character.
#[must_use]
#[inline]
pub fn run_before_escape(bytes: &[u8]) -> usize {
    run_before(bytes, escapes)
}

/// A bit for each of 64 bytes that JSON strings hold only escaped, the first byte's the lowest.
#[must_use]
#[inline]
pub fn places_of_escapes(bytes: &[u8; 64]) -> u64 {
    places_of(bytes, escapes)
}

/// A bit for each of 64 bytes that is this one, likewise.
#[must_use]
#[inline]
pub fn places_of_byte(bytes: &[u8; 64], byte: u8) -> u64 {
    places_of(bytes, |bytes| bytes.simd_eq(u8x16::splat(byte)))
}

#[inline]
fn places_of(bytes: &[u8; 64], marks: impl Fn(u8x16) -> u8x16) -> u64 {
    let (pieces, _) = bytes.as_chunks::<PIECE>();
    let places = |sum: u64, piece: &[u8; PIECE]| {
        sum >> PIECE | u64::from(marks(u8x16::new(*piece)).to_bitmask()) << (64 - PIECE)
    };
    pieces.iter().fold(0, places)
}

fn escapes(bytes: u8x16) -> u8x16 {
    let is = |byte: u8| bytes.simd_eq(u8x16::splat(byte));
    is(b'"') | is(b'\\') | at_most(bytes, b' ' - 1)
}

/// How many bytes come before one that is no printable ASCII.
#[must_use]
#[inline]
pub fn run_of_printable(bytes: &[u8]) -> usize {
    run_before(bytes, |bytes| {
        let beyond = bytes.max(u8x16::splat(b'~' + 1)).simd_eq(bytes);
        beyond | at_most(bytes, b' ' - 1)
    })
}

/// The same, and no backslash.
#[must_use]
#[inline]
pub fn run_of_plain(bytes: &[u8]) -> usize {
    run_before(bytes, |bytes| {
        let beyond = bytes.max(u8x16::splat(b'~' + 1)).simd_eq(bytes);
        beyond | at_most(bytes, b' ' - 1) | bytes.simd_eq(u8x16::splat(b'\\'))
    })
}

fn at_most(bytes: u8x16, limit: u8) -> u8x16 {
    bytes.min(u8x16::splat(limit)).simd_eq(bytes)
}

/// How many bytes come before the first that `marks` marks, which a space is not.
#[inline]
fn run_before(bytes: &[u8], marks: impl Fn(u8x16) -> u8x16) -> usize {
    let first = |piece: [u8; PIECE]| {
        let found = marks(u8x16::new(piece)).to_bitmask();
        (found != 0).then(|| found.trailing_zeros() as usize)
    };
    // Most runs are short.
    if let Some(found) = bytes.first_chunk().and_then(|piece| first(*piece)) {
        return found;
    }
    let (pieces, rest) = bytes.as_chunks();
    for (place, piece) in pieces.iter().enumerate() {
        if let Some(found) = first(*piece) {
            return place * PIECE + found;
        }
    }
    // The last sixteen bytes, some of them for the second time; of fewer, with spaces behind them.
    if let Some(last) = bytes.last_chunk().filter(|_| !rest.is_empty()) {
        return first(*last).map_or(bytes.len(), |found| bytes.len() - PIECE + found);
    }
    let mut last = [b' '; PIECE];
    for (place, byte) in last.iter_mut().zip(rest) {
        *place = *byte;
    }
    first(last).unwrap_or(PIECE).min(rest.len()) + pieces.len() * PIECE
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_run_ends_where_a_look_at_each_byte_ends_it(plain in 0_usize..70, odd in any::<Option<u8>>(), behind in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut bytes = vec![b'a'; plain];
            bytes.extend(odd);
            bytes.extend(behind);
            let run = |ends: fn(u8) -> bool| bytes.iter().take_while(|byte| !ends(**byte)).count();
            prop_assert_eq!(run_before_escape(&bytes), run(|byte| byte < b' ' || byte == b'"' || byte == b'\\'));
            prop_assert_eq!(run_of_printable(&bytes), run(|byte| !(b' '..=b'~').contains(&byte)));
            let many = [bytes.as_slice(), &[b'\n'; 64]].concat();
            let places = places_of_escapes(many.first_chunk().unwrap());
            prop_assert_eq!(places.trailing_zeros() as usize, run_before_escape(&many).min(64));
            let marked = many.iter().take(64).filter(|byte| **byte < b' ' || **byte == b'"' || **byte == b'\\');
            prop_assert_eq!(places.count_ones() as usize, marked.count());
            let places = places_of_byte(many.first_chunk().unwrap(), b'a');
            let is_one = |place: usize| places >> place & 1 == 1;
            prop_assert!((0..64).all(|place| is_one(place) == (many[place] == b'a')));
            prop_assert_eq!(run_of_plain(&bytes), run(|byte| byte == b'\\' || !(b' '..=b'~').contains(&byte)));
        }
    }
}
