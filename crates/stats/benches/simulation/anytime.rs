//! Confidence sequences that are looked at after every block: how often do they ever err?

use proctor_stats::{AsymptoticSequence, BettingSequence, FIRST_BLOCK};

use super::continuous::covers;
use super::world::{Law, Source};
use super::{Extent, Finding, Limit, share};

pub(super) fn findings(extent: Extent) -> Vec<Finding> {
    let mut all = success(extent);
    all.extend(times(extent));
    all
}

/// Differences of success between equal arms, from the first block on.
fn success(extent: Extent) -> Vec<Finding> {
    let repetitions = extent.pick(20, 1_000);
    let looks = extent.pick(100, 1_000);
    let mut all = Vec::new();
    for rate in [0.5, 0.9, 0.997].into_iter().take(extent.pick(1, 3)) {
        for cells in extent.pick(vec![3], vec![1, 3]) {
            all.push(Finding {
                table: "Stopping early: sequences that ever exclude the truth",
                row: format!("success, betting: rate {rate}, {cells} cells"),
                column: format!("{looks} looks"),
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
        sequence
            .push(total / f64::from(cells))
            .expect("a difference in range");
        !covers(sequence.interval(), 0.0)
    })
}

/// Differences of ln time between equal arms, from block 10 on.
fn times(extent: Extent) -> Vec<Finding> {
    let repetitions = extent.pick(200, 10_000);
    let looks = extent.pick(100, 1_000);
    let laws = [
        Law::LogNormal(0.12),
        Law::LogNormal(0.6),
        Law::Drift(0.12),
        Law::Outliers(0.12),
        Law::Outliers(0.6),
    ];
    let mut all = Vec::new();
    for law in laws.into_iter().take(extent.pick(1, 5)) {
        for cells in extent.pick(vec![1], vec![1, 3]) {
            all.push(Finding {
                table: "Stopping early: sequences that ever exclude the truth",
                row: format!("ln time, asymptotic: {}, {cells} cells", law.name()),
                column: format!("{looks} looks"),
                share: share(repetitions, |source| time_errs(source, law, cells, looks)),
                repetitions,
                limit: Limit::AtMost(0.05),
            });
        }
    }
    all
}

fn time_errs(source: &mut Source, law: Law, cells: u32, looks: usize) -> bool {
    let mut sequence = AsymptoticSequence::new(0.05, 100);
    (0..looks + FIRST_BLOCK - 1).any(|block| {
        let progress = f64::from(u32::try_from(block).expect("few")) / 1_000.0;
        let mut ln_time = || law.draw(0.0, progress, source).ln();
        let total: f64 = (0..cells).map(|_| ln_time() - ln_time()).sum();
        sequence.push(total / f64::from(cells));
        sequence
            .interval()
            .is_some_and(|interval| !covers(interval, 0.0))
    })
}
