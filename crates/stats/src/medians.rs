//! The contrast of medians, shown beside that of means.

use crate::contrast::{Cell, InvalidValue, Settings, Undetermined, Usable, usable};
use crate::contrast::{spreads, standard_error};
use crate::random::{Draws, Stream};
use crate::spread::count;
use crate::{Interval, median, quantile, sort_floats};

/// Bootstrap samples.
const SAMPLES: usize = 2_000;

/// Medians of arm a against those of arm b.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianContrast {
    /// The mean over cells, with equal weights, of ln median a - ln median b as a ratio, or of the
    /// difference of medians.
    pub estimate: Option<f64>,
    /// On these tasks, by the bootstrap.
    pub interval: Result<Interval, Undetermined>,
}

/// Compares the medians of both arms by a bootstrap that draws within each {cell, arm}.
///
/// Small samples vary too little under a bootstrap: deviations of a {cell, arm} are scaled by
/// sqrt(n / (n - 1)). T. C. Hesterberg, "What Teachers Should Know about the Bootstrap", The
/// American Statistician 69 (2015), 371-386, section 3.2. A {cell, arm} with a single trial is
/// taken as it is.
///
/// # Errors
/// A value that its scale does not allow.
pub fn median_contrast(cells: &[Cell], settings: Settings) -> Result<MedianContrast, InvalidValue> {
    let (cells, _) = usable(cells, settings.scale)?;
    let estimate = estimate(&cells);
    let interval = match estimate {
        None => Err(Undetermined::NoCells),
        Some(_) => standard_error(&spreads(&cells))
            .map(|_| settings.scale.reported_ends(bootstrap(&cells, settings))),
    };
    Ok(MedianContrast {
        estimate: estimate.map(|effect| settings.scale.reported(effect)),
        interval,
    })
}

fn estimate(cells: &[Usable]) -> Option<f64> {
    let differences = cells.iter().map(|cell| {
        let [a, b] = cell.samples().map(sorted_median);
        a - b
    });
    (!cells.is_empty()).then(|| differences.sum::<f64>() / count(cells.len()))
}

fn sorted_median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sort_floats(&mut sorted);
    median(&sorted).unwrap_or_default()
}

fn bootstrap(cells: &[Usable], settings: Settings) -> Interval {
    let mut draws = Draws::new(settings.seed.unwrap_or_default(), Stream::Bootstrap);
    let mut effects: Vec<f64> = (0..SAMPLES)
        .map(|_| {
            let differences = cells.iter().map(|cell| {
                let [a, b] = cell
                    .samples()
                    .map(|values| scaled_median(values, &mut draws));
                a - b
            });
            differences.sum::<f64>() / count(cells.len())
        })
        .collect();
    sort_floats(&mut effects);
    let at = |share: f64| quantile(&effects, share).unwrap_or_default();
    Interval {
        low: at((1.0 - settings.confidence) / 2.0),
        high: at(f64::midpoint(1.0, settings.confidence)),
    }
}

/// The median of as many draws with replacement, moved away from the median of the sample.
fn scaled_median(values: &[f64], draws: &mut Draws) -> f64 {
    if values.len() < 2 {
        return values[0];
    }
    let sample: Vec<f64> = values
        .iter()
        .map(|_| values[draws.below(values.len())])
        .collect();
    let middle = sorted_median(values);
    let size = count(values.len());
    middle + (sorted_median(&sample) - middle) * (size / (size - 1.0)).sqrt()
}
