//! Draws that a seed determines, the same on every machine.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// What draws are for; each purpose has a stream of its own, so that none disturbs another.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    Permutation = 1,
    Bootstrap = 2,
    Drift = 3,
    Power = 4,
}

/// A source of uniform draws.
pub(crate) struct Draws(ChaCha8Rng);

impl Draws {
    pub(crate) fn new(seed: u64, stream: Stream) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(stream as u64);
        Self(random)
    }

    /// A whole number below `bound`.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the product shifted by 64 bits lies below the bound"
    )]
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.0.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A number between 0 and 1, below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub(crate) fn uniform(&mut self) -> f64 {
        const ALL: f64 = 9_007_199_254_740_992.0; // 2^53
        (self.0.next_u64() >> 11) as f64 / ALL
    }

    /// Puts `count` values drawn without replacement at the front of `values`.
    pub(crate) fn draw_to_front(&mut self, values: &mut [f64], count: usize) {
        for index in 0..count {
            let other = index + self.below(values.len() - index);
            values.swap(index, other);
        }
    }
}
