//! Confidence sequences that are looked at after every block: how often do they ever err?

use proctor_stats::{AsymptoticSequence, BettingSequence, FIRST_BLOCK};

use super::continuous::covers;
use super::world::{Law, Source};
use super::{Extent, Finding, Limit, cells_named, share};

pub(super) fn findings(extent: Extent) -> Vec<Finding> {
    let mut all = success(extent);
    all.extend(times(extent));
    all
}

/// Differences of success between equal arms, from the first block on.
fn success(extent: Extent) -> Vec<Finding> {
    let repetitions = extent.pick(20, 4_000);
    let looks = extent.pick(100, 1_000);
    let mut all = Vec::new();
    for rate in [0.5, 0.9, 0.997].into_iter().take(extent.pick(1, 3)) {
        for cells in extent.pick(vec![3], vec![1, 3, 15]) {
            all.push(Finding {
                table: "Stopping early, success: betting sequences that ever exclude the truth",
                row: format!("rate {rate}, {looks} looks"),
                column: cells_named(cells),
                share: share(repetitions, |source| {
                    success_errs(source, rate, cells, looks)
                }),
                repetitions,
                limit: Limit::AtMost(0.05),
            });
        }
    }
    all
}

fn success_errs(source: &mut Source, rate: f64, cells: u32, looks: usize) -> bool {
    let mut sequence = BettingSequence::new(0.05);
    (0..looks).any(|_| {
        let mut outcome = || f64::from(u8::from(source.happens(rate)));
        let total: f64 = (0..cells).map(|_| outcome() - outcome()).sum();
        let pushed = sequence.push(total / f64::from(cells));
        pushed.expect("a difference in range");
        !covers(sequence.interval(), 0.0)
    })
}

/// A run whose ln times are looked at after each block, from block 10 on.
#[derive(Clone, Copy)]
struct Watched {
    law: Law,
    cells: u32,
    tuned_for: usize,
    looks: usize,
}

fn times(extent: Extent) -> Vec<Finding> {
    let repetitions = extent.pick(200, 4_000);
    let looks = extent.pick(100, 1_000);
    let laws = [
        Law::LogNormal(0.3),
        Law::Drift(0.12),
        Law::Outliers(0.12),
        Law::Outliers(0.6),
    ];
    let mut all = Vec::new();
    for law in laws.into_iter().take(extent.pick(1, 4)) {
        for cells in extent.pick(vec![1], vec![1, 3]) {
            for tuned_for in extent.pick(vec![100], vec![30, 100, 300]) {
                let watched = Watched {
                    law,
                    cells,
                    tuned_for,
                    looks,
                };
                all.push(Finding {
                    table: "Stopping early, time: asymptotic sequences that ever exclude the truth",
                    row: format!("{}, {}, {looks} looks", law.name(), cells_named(cells)),
                    column: format!("tuned for block {tuned_for}"),
                    share: share(repetitions, |source| watched.errs(source)),
                    repetitions,
                    limit: Limit::AtMost(0.05),
                });
            }
        }
    }
    all
}

impl Watched {
    fn errs(self, source: &mut Source) -> bool {
        let mut sequence = AsymptoticSequence::new(0.05, self.tuned_for);
        (0..self.looks + FIRST_BLOCK - 1).any(|block| {
            let progress = f64::from(u32::try_from(block).expect("few")) / 1_000.0;
            let mut ln_time = || libm::log(self.law.draw(0.0, progress, source));
            let total: f64 = (0..self.cells).map(|_| ln_time() - ln_time()).sum();
            sequence.push(total / f64::from(self.cells));
            let interval = sequence.interval();
            interval.is_some_and(|interval| !covers(interval, 0.0))
        })
    }
}
