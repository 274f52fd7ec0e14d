//! Coverage of success rates and of their differences: tabulated, whatever it is.

use proctor_stats::{Cell, Observation, Scale, Z_95, wilson};

use super::continuous::{compared, covers};
use super::world::Source;
use super::{Extent, Finding, Limit, cells_named, share};

pub(super) fn findings(extent: Extent) -> Vec<Finding> {
    let mut all = single_rates(extent);
    all.extend(differences(extent));
    all
}

/// Exact coverage of Wilson's interval, summed over all outcomes.
fn single_rates(extent: Extent) -> Vec<Finding> {
    let rates = [0.5, 0.9, 0.9975];
    let trials = [3, 10, 40, 400];
    let mut all = Vec::new();
    for rate in rates.into_iter().skip(extent.pick(2, 0)) {
        for trials in trials.into_iter().skip(extent.pick(3, 0)) {
            all.push(Finding {
                table: "Wilson's interval of a single rate (exact)",
                row: format!("rate {rate}"),
                column: format!("{trials} trials"),
                share: wilson_coverage(rate, trials),
                repetitions: u32::MAX,
                limit: Limit::None,
            });
        }
    }
    all
}

fn wilson_coverage(rate: f64, trials: u32) -> f64 {
    let all = f64::from(trials);
    let mut covered = 0.0;
    for successes in 0..=trials {
        let found = wilson(successes as usize, trials as usize, Z_95).expect("an interval");
        if covers(found, rate) {
            let (hits, misses) = (f64::from(successes), f64::from(trials - successes));
            let ways =
                libm::lgamma(all + 1.0) - libm::lgamma(hits + 1.0) - libm::lgamma(misses + 1.0);
            covered += libm::exp(ways + hits * libm::log(rate) + misses * libm::log(1.0 - rate));
        }
    }
    covered
}

/// Rates of both arms, in turn over the cells.
struct Case {
    name: &'static str,
    a: &'static [f64],
    b: &'static [f64],
}

const CASES: [Case; 6] = [
    Case {
        name: "0.5 in both arms",
        a: &[0.5],
        b: &[0.5],
    },
    Case {
        name: "0.9 in both arms",
        a: &[0.9],
        b: &[0.9],
    },
    Case {
        name: "0.997 in both arms",
        a: &[0.997],
        b: &[0.997],
    },
    Case {
        name: "0.997 against 0.9",
        a: &[0.997],
        b: &[0.9],
    },
    Case {
        name: "cells of 0.5, 0.9 and 0.997 in both arms",
        a: &[0.5, 0.9, 0.997],
        b: &[0.5, 0.9, 0.997],
    },
    Case {
        name: "effects that differ: 0.5, 0.9, 0.997 against 0.4, 0.997, 0.7",
        a: &[0.5, 0.9, 0.997],
        b: &[0.4, 0.997, 0.7],
    },
];

fn differences(extent: Extent) -> Vec<Finding> {
    let mut all = Vec::new();
    for case in &CASES {
        for cells in extent.pick(vec![3], vec![1, 3, 15]) {
            if cells == 1 && case.a.len() > 1 {
                continue;
            }
            for trials in extent.pick(vec![5], vec![3, 5, 10, 30]) {
                all.push(difference(case, cells, trials, extent));
            }
        }
    }
    all
}

fn difference(case: &Case, cells: u32, trials: u32, extent: Extent) -> Finding {
    let rates = |arm: &'static [f64]| arm.iter().copied().cycle().take(cells as usize);
    let truth = (rates(case.a).sum::<f64>() - rates(case.b).sum::<f64>()) / f64::from(cells);
    let repetitions = extent.pick(200, 4_000);
    let interval = |source: &mut Source| {
        let drawn: Vec<Cell> = rates(case.a)
            .zip(rates(case.b))
            .map(|(a, b)| Cell {
                task: 0,
                a: outcomes(a, trials, source),
                b: outcomes(b, trials, source),
            })
            .collect();
        compared(&drawn, Scale::Success, None)
            .these_tasks
            .expect("an interval")
    };
    Finding {
        table: "Difference of success (stratified Miettinen-Nurminen)",
        row: format!("{}, {}", case.name, cells_named(cells)),
        column: format!("{trials} trials"),
        share: share(repetitions, |source| covers(interval(source), truth)),
        repetitions,
        limit: Limit::Between(0.93, 1.0),
    }
}

fn outcomes(rate: f64, trials: u32, source: &mut Source) -> Vec<Observation> {
    let outcome = |block| Observation {
        value: f64::from(u8::from(source.happens(rate))),
        block: Some(block),
    };
    (0..trials).map(outcome).collect()
}
