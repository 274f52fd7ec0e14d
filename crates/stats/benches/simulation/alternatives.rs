//! Methods that were tried and not chosen.

use proctor_stats::{Cell, Interval, Z_95, mean, sample_variance, student_quantile, wilson};

use super::continuous::covers;
use super::world::{Law, Sizes, Source, World};
use super::{Extent, Finding, Limit, cells_named, share};

const REPETITIONS: u32 = 4_000;

/// Nothing in the quick form: no promise rests on them.
pub(super) fn findings(extent: Extent) -> Vec<Finding> {
    if matches!(extent, Extent::Quick) {
        return Vec::new();
    }
    let mut all = Vec::new();
    for rate in [0.5, 0.9] {
        for trials in [3, 5, 10, 30] {
            all.push(newcombe_coverage(rate, trials));
        }
    }
    for cells in [1, 3, 15] {
        for sizes in [Sizes { a: 3, b: 10 }, Sizes { a: 30, b: 10 }] {
            all.push(welch_coverage(cells, sizes));
        }
    }
    all
}

/// Successes in 15 cells.
type Successes = Vec<u32>;

fn newcombe_coverage(rate: f64, trials: u32) -> Finding {
    let arm = |source: &mut Source| -> Successes {
        let cell = |source: &mut Source| (0..trials).filter(|_| source.happens(rate)).count();
        let counts = (0..15).map(|_| u32::try_from(cell(source)).expect("few"));
        counts.collect()
    };
    Finding {
        table: "Not chosen: stratified Newcombe for the difference of success",
        row: format!("{rate} in both arms, 15 cells"),
        column: format!("{trials} trials"),
        share: share(REPETITIONS, |source| {
            covers(newcombe(&arm(source), &arm(source), trials), 0.0)
        }),
        repetitions: REPETITIONS,
        limit: Limit::None,
    }
}

/// X. Yan and X. G. Su, "Stratified Wilson and Newcombe Confidence Intervals for Multiple Binomial
/// Proportions", Statistics in Biopharmaceutical Research 2 (2010), 329-335, with equal weights.
fn newcombe(a: &[u32], b: &[u32], trials: u32) -> Interval {
    let cells = f64::from(u32::try_from(a.len()).expect("few"));
    let n = f64::from(trials);
    let rate = |arm: &[u32]| f64::from(arm.iter().sum::<u32>()) / (n * cells);
    let difference = rate(a) - rate(b);
    let half = |one: f64, other: f64| Z_95 * ((one + other) / n).sqrt() / cells;
    let ([low_a, high_a], [low_b, high_b]) = (limits(a, trials), limits(b, trials));
    Interval {
        low: difference - half(low_a, high_b),
        high: difference + half(high_a, low_b),
    }
}

/// Σ p (1 - p) at the lower and the upper limits of all cells of an arm.
fn limits(arm: &[u32], trials: u32) -> [f64; 2] {
    let n = f64::from(trials);
    let spread = |successes: &u32| {
        let rate = f64::from(*successes) / n;
        rate * (1.0 - rate) + Z_95 * Z_95 / (4.0 * n)
    };
    let total: f64 = arm.iter().map(spread).sum();
    let roots: f64 = arm.iter().map(|it| spread(it).sqrt()).sum();
    let ends = arm.iter().map(|successes| {
        let z = Z_95 * total.sqrt() / roots;
        wilson(*successes as usize, trials as usize, z).expect("an interval")
    });
    ends.fold([0.0, 0.0], |[low, high], it| {
        [
            low + it.low * (1.0 - it.low),
            high + it.high * (1.0 - it.high),
        ]
    })
}

fn welch_coverage(cells: u32, sizes: Sizes) -> Finding {
    let world = World {
        law: Law::Outliers(0.12),
        cells,
        sizes,
        effect: -0.3,
    };
    Finding {
        table: "Not chosen: Welch's interval alone",
        row: format!("{}, {}", world.law.name(), cells_named(cells)),
        column: sizes.name(),
        share: share(REPETITIONS, |source| {
            covers(welch(&world.run(source)), world.effect)
        }),
        repetitions: REPETITIONS,
        limit: Limit::None,
    }
}

/// The t interval of ln a - ln b with the variance of each {cell, arm} by itself.
fn welch(cells: &[Cell]) -> Interval {
    let (mut middle, mut total, mut squares) = (0.0, 0.0, 0.0);
    for cell in cells {
        for (arm, sign) in [(&cell.a, 1.0), (&cell.b, -1.0)] {
            let logs: Vec<f64> = arm.iter().map(|trial| libm::log(trial.value)).collect();
            let size = f64::from(u32::try_from(logs.len()).expect("few"));
            let part = sample_variance(&logs).expect("trials") / size;
            middle += sign * mean(&logs).expect("trials");
            total += part;
            squares += part * part / (size - 1.0);
        }
    }
    let count = f64::from(u32::try_from(cells.len()).expect("few"));
    let half = student_quantile(0.975, total * total / squares) * total.sqrt() / count;
    Interval {
        low: middle / count - half,
        high: middle / count + half,
    }
}
