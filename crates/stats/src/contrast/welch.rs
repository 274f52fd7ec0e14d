//! The standard error of a mean over cells whose variances differ.

use super::Undetermined;
use crate::Interval;
use crate::special::student_quantile;
use crate::spread::{count, sample_variance};

/// Size and variance of the trials of one {cell, arm}.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) trials: f64,
    /// 0 for a single trial, where it is not used.
    pub(crate) variance: f64,
}

impl Spread {
    pub(crate) fn of(values: &[f64]) -> Self {
        Self {
            trials: count(values.len()),
            variance: sample_variance(values).unwrap_or_default(),
        }
    }
}

/// A standard error and how well it is known.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StandardError {
    pub(crate) error: f64,
    pub(crate) freedom: f64,
}

impl StandardError {
    pub(crate) fn interval(&self, middle: f64, confidence: f64) -> Interval {
        let half = student_quantile(f64::midpoint(1.0, confidence), self.freedom) * self.error;
        Interval {
            low: middle - half,
            high: middle + half,
        }
    }
}

/// The standard error of a mean over `cells` cells: the root of Σ s²/n / C², with Satterthwaite's
/// degrees of freedom.
///
/// A {cell, arm} with a single trial borrows the pooled variance of all others. The sum stays a
/// combination of independent variances, with larger coefficients.
pub(crate) fn standard_error(
    spreads: impl IntoIterator<Item = Spread>,
    cells: usize,
) -> Result<StandardError, Undetermined> {
    let (several, single): (Vec<Spread>, Vec<Spread>) =
        spreads.into_iter().partition(|spread| spread.trials > 1.0);
    let freedom: f64 = several.iter().map(|spread| spread.trials - 1.0).sum();
    if freedom == 0.0 {
        return Err(Undetermined::OneTrialEach);
    }
    let (mut total, mut squares) = (0.0, 0.0);
    for spread in several {
        let own = spread.trials - 1.0;
        let part = spread.variance * (1.0 / spread.trials + count(single.len()) * own / freedom);
        total += part;
        squares += part * part / own;
    }
    if total == 0.0 {
        return Err(Undetermined::NoVariance);
    }
    Ok(StandardError {
        error: total.sqrt() / count(cells),
        freedom: total * total / squares,
    })
}
