//! Power of the t interval of ratios and differences.

use super::Planned;
use crate::contrast::{Spread, StandardError, Undetermined, Usable, standard_error};
use crate::special::{noncentral_t_above, student_quantile};
use crate::spread::count;

/// A {cell, arm} with fewer trials takes the variance pooled over cells.
const FEWEST_FOR_OWN_VARIANCE: f64 = 5.0;

pub(super) struct Model {
    pub(super) trials: Vec<usize>,
    variances: Vec<f64>,
}

impl Model {
    /// The pilot's variances; those of both arms in turn, cell by cell.
    pub(super) fn of(cells: &[Usable]) -> Result<Self, Undetermined> {
        let spreads: Vec<[Spread; 2]> = cells.iter().map(Usable::spreads).collect();
        standard_error(spreads.iter().flatten().copied(), cells.len())?;
        let overall = pooled(spreads.iter().flatten()).unwrap_or_default();
        let of_arms =
            [0, 1].map(|arm| pooled(spreads.iter().map(|it| &it[arm])).unwrap_or(overall));
        let own = |spread: &Spread, arm: usize| {
            if spread.trials < FEWEST_FOR_OWN_VARIANCE {
                of_arms[arm]
            } else {
                spread.variance
            }
        };
        let variances = spreads.iter().flat_map(|[a, b]| [own(a, 0), own(b, 1)]);
        Ok(Self {
            variances: variances.collect(),
            trials: cells
                .iter()
                .flat_map(Usable::samples)
                .map(<[f64]>::len)
                .collect(),
        })
    }

    /// A size of effects to start a search from.
    pub(super) fn scale(&self) -> f64 {
        let most = self.variances.iter().copied().fold(0.0, f64::max);
        most.sqrt()
    }

    /// Both tails of the noncentral t: J. Cohen, "Statistical Power Analysis for the Behavioral
    /// Sciences", 2nd edition (1988), chapter 2, with Satterthwaite's degrees of freedom.
    pub(super) fn power(&self, planned: Planned) -> f64 {
        let samples = self.variances.iter().zip(&self.trials);
        let spreads = samples.map(|(variance, existing)| Spread {
            trials: count(planned.trials.max(*existing)),
            variance: *variance,
        });
        let Ok(StandardError { error, freedom }) =
            standard_error(spreads, self.variances.len() / 2)
        else {
            return 0.0;
        };
        let critical = student_quantile(1.0 - planned.alpha / 2.0, freedom);
        let shift = planned.effect / error;
        let tails = [shift, -shift].map(|shift| noncentral_t_above(critical, freedom, shift));
        tails[0] + tails[1]
    }
}

/// The mean of variances, weighted by degrees of freedom.
fn pooled<'a>(spreads: impl Iterator<Item = &'a Spread>) -> Option<f64> {
    let (mut total, mut freedom) = (0.0, 0.0);
    for spread in spreads {
        total += spread.variance * (spread.trials - 1.0);
        freedom += spread.trials - 1.0;
    }
    (freedom > 0.0).then(|| total / freedom)
}
