//! The laws that simulated trials follow.

use std::f64::consts::TAU;

use proctor_stats::{Cell, Observation};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// Uniform and normal draws.
pub(crate) struct Source(ChaCha8Rng);

impl Source {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    /// G. E. P. Box and M. E. Muller, The Annals of Mathematical Statistics 29 (1958), 610-611.
    pub(crate) fn normal(&mut self) -> f64 {
        let (radius, turn) = (-2.0 * libm::log(self.uniform()), self.uniform());
        radius.sqrt() * libm::cos(TAU * turn)
    }

    pub(crate) fn happens(&mut self, chance: f64) -> bool {
        self.uniform() < chance
    }
}

/// How trials of one {cell, arm} vary.
#[derive(Clone, Copy)]
pub(crate) enum Law {
    /// exp of a normal with this standard deviation.
    LogNormal(f64),
    /// Normal around 10 with this standard deviation, relative to 1.
    Normal(f64),
    /// Log-normal, one trial in twenty ten times as long.
    Outliers(f64),
    /// Log-normal, slower by 20 % towards the end of the run.
    Drift(f64),
}

impl Law {
    pub(crate) fn name(self) -> String {
        match self {
            Self::LogNormal(sigma) => format!("log-normal, σ {sigma}"),
            Self::Normal(sigma) => format!("normal, σ {sigma}"),
            Self::Outliers(sigma) => format!("σ {sigma}, 1 in 20 ten times as long"),
            Self::Drift(sigma) => format!("σ {sigma}, drift of 20 %"),
        }
    }

    /// One trial at `progress` (0 to 1) of the run; `level` is its ln median, or its mean.
    pub(crate) fn draw(self, level: f64, progress: f64, source: &mut Source) -> f64 {
        let z = source.normal();
        match self {
            Self::LogNormal(sigma) => libm::exp(level + sigma * z),
            Self::Normal(sigma) => level + sigma * z,
            Self::Outliers(sigma) => {
                let longer = if source.happens(0.05) { 10.0 } else { 1.0 };
                longer * libm::exp(level + sigma * z)
            }
            Self::Drift(sigma) => libm::exp(level + sigma * z + libm::log(1.2) * progress),
        }
    }
}

/// Trials of each {cell, arm}.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) a: u32,
    pub(crate) b: u32,
}

impl Sizes {
    pub(crate) const fn both(trials: u32) -> Self {
        Self {
            a: trials,
            b: trials,
        }
    }

    pub(crate) fn name(self) -> String {
        if self.a == self.b {
            format!("{} trials", self.a)
        } else {
            format!("{} and {}", self.a, self.b)
        }
    }
}

/// A suite of cells; each is its own task.
#[derive(Clone, Copy)]
pub(crate) struct World {
    pub(crate) law: Law,
    pub(crate) cells: u32,
    pub(crate) sizes: Sizes,
    /// Mean effect of arm a, on the scale of the law's level.
    pub(crate) effect: f64,
}

impl World {
    /// A run of the interleaved plan. Effects of cells are spread around the mean effect.
    pub(crate) fn run(self, source: &mut Source) -> Vec<Cell> {
        (0..self.cells)
            .map(|cell| self.cell(cell, source))
            .collect()
    }

    fn cell(self, cell: u32, source: &mut Source) -> Cell {
        let level = f64::from(cell % 5) * 0.4;
        let spread = (f64::from(cell) - f64::from(self.cells - 1) / 2.0) * 0.02;
        let blocks = self.sizes.a.max(self.sizes.b);
        let mut arm = |level: f64, trials: u32| -> Vec<Observation> {
            let kept = without_some(blocks, trials, source);
            kept.into_iter()
                .map(|block| Observation {
                    value: self
                        .law
                        .draw(level, progress(block, blocks, source), source),
                    block: Some(block),
                })
                .collect()
        };
        Cell {
            task: cell as usize,
            a: arm(level + self.effect + spread, self.sizes.a),
            b: arm(level, self.sizes.b),
        }
    }
}

/// So many of all blocks, at random: faults took the others.
fn without_some(blocks: u32, kept: u32, source: &mut Source) -> Vec<u32> {
    let mut needed = kept;
    let keeps = |block: &u32| {
        let keep = source.happens(f64::from(needed) / f64::from(blocks - block));
        needed -= u32::from(keep);
        keep
    };
    (0..blocks).filter(keeps).collect()
}

/// Somewhere within the block.
fn progress(block: u32, blocks: u32, source: &mut Source) -> f64 {
    (f64::from(block) + source.uniform()) / f64::from(blocks)
}
