//! Power of the score interval of success, by seeded repetitions.

use super::Planned;
use crate::contrast::{Counts, Stratum, Usable, excludes_zero};
use crate::random::{Draws, Stream};
use crate::special::two_sided_z;
use crate::spread::count;

/// Repetitions of a planned run.
const REPETITIONS: usize = 2_000;
/// A cell whose arm b has fewer trials takes the rate pooled over cells.
const FEWEST_FOR_OWN_RATE: usize = 5;

pub(super) struct Model {
    /// Of both arms in turn, cell by cell.
    pub(super) trials: Vec<usize>,
    /// Of arm b.
    rates: Vec<f64>,
}

impl Model {
    /// The pilot's rates of arm b, moved towards 1/2 as Jeffreys' prior does, so that 30 of 30 is
    /// not taken for certainty.
    pub(super) fn of(cells: &[Usable]) -> Self {
        let strata: Vec<Stratum> = cells.iter().map(Usable::stratum).collect();
        let likely =
            |counts: Counts| (count(counts.successes) + 0.5) / (count(counts.trials) + 1.0);
        let pooled = likely(Counts {
            successes: strata.iter().map(|it| it.b.successes).sum(),
            trials: strata.iter().map(|it| it.b.trials).sum(),
        });
        let rate = |stratum: &Stratum| {
            if stratum.b.trials < FEWEST_FOR_OWN_RATE {
                pooled
            } else {
                likely(stratum.b)
            }
        };
        Self {
            rates: strata.iter().map(rate).collect(),
            trials: strata
                .iter()
                .flat_map(|it| [it.a.trials, it.b.trials])
                .collect(),
        }
    }

    /// -1 where arm b mostly succeeds and arm a has room to be worse, else 1.
    pub(super) fn direction(&self) -> f64 {
        let mean = self.rates.iter().sum::<f64>() / count(self.rates.len());
        if mean < 0.5 { 1.0 } else { -1.0 }
    }

    /// What is left of a shift where no rate leaves 0 to 1.
    pub(super) fn mean_shift(&self, effect: f64) -> f64 {
        let shifts = self
            .rates
            .iter()
            .map(|rate| (rate + effect).clamp(0.0, 1.0) - rate);
        shifts.sum::<f64>() / count(self.rates.len())
    }

    pub(super) fn power(&self, planned: Planned) -> f64 {
        let z = two_sided_z(1.0 - planned.alpha);
        let mut draws = Draws::new(planned.seed, Stream::Power);
        let mut sample = |chance: f64, existing: usize| {
            let trials = planned.trials.max(existing);
            let successes = (0..trials).filter(|_| draws.happens(chance)).count();
            Counts { successes, trials }
        };
        let hits = (0..REPETITIONS).filter(|_| {
            let strata: Vec<Stratum> = self
                .rates
                .iter()
                .zip(self.trials.chunks_exact(2))
                .map(|(rate, existing)| Stratum {
                    a: sample((rate + planned.effect).clamp(0.0, 1.0), existing[0]),
                    b: sample(*rate, existing[1]),
                })
                .collect();
            excludes_zero(&strata, z)
        });
        count(hits.count()) / count(REPETITIONS)
    }
}
