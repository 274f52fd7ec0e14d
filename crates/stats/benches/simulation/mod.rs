//! Simulated runs with known effects, and how often intervals, tests and plans are right in them.

mod alternatives;
mod anytime;
mod continuous;
mod planning;
mod rates;
mod world;

pub(crate) use world::Source;

/// How much is simulated.
#[derive(Clone, Copy)]
#[expect(dead_code, reason = "the tests take one, the bench takes the other")]
pub(crate) enum Extent {
    /// Seconds, for the tests.
    Quick,
    /// Minutes, for the table.
    Full,
}

impl Extent {
    pub(crate) fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// What a share of repetitions must keep to.
#[derive(Clone, Copy)]
pub(crate) enum Limit {
    Between(f64, f64),
    AtMost(f64),
    /// Within five points of this share.
    Near(f64),
    /// Tabulated, no promise.
    None,
}

/// The share of repetitions in which something held.
pub(crate) struct Finding {
    pub(crate) table: &'static str,
    pub(crate) row: String,
    pub(crate) column: String,
    pub(crate) share: f64,
    pub(crate) repetitions: u32,
    pub(crate) limit: Limit,
}

impl Finding {
    /// Whether the limit is kept, give or take three standard errors of the simulation.
    pub(crate) fn holds(&self) -> bool {
        let allowed = |edge: f64| 3.0 * (edge * (1.0 - edge) / f64::from(self.repetitions)).sqrt();
        match self.limit {
            Limit::Between(low, high) => {
                self.share >= low - allowed(low) && self.share <= high + allowed(high)
            }
            Limit::AtMost(most) => self.share <= most + allowed(most),
            Limit::Near(share) => (self.share - share).abs() <= 0.05 + allowed(share),
            Limit::None => true,
        }
    }
}

/// The share of repetitions in which `holds` holds, each with a source of its own.
pub(crate) fn share(repetitions: u32, holds: impl Fn(&mut Source) -> bool) -> f64 {
    let hits = (0..repetitions).filter(|index| holds(&mut Source::new(u64::from(*index))));
    f64::from(u32::try_from(hits.count()).expect("no more than repetitions"))
        / f64::from(repetitions)
}

/// A number of cells, in words.
pub(crate) fn cells_named(cells: u32) -> String {
    match cells {
        1 => "1 cell".to_owned(),
        several => format!("{several} cells"),
    }
}

/// All simulations, to be run one after another.
pub(crate) const SIMULATIONS: [fn(Extent) -> Vec<Finding>; 5] = [
    continuous::findings,
    rates::findings,
    planning::findings,
    anytime::findings,
    alternatives::findings,
];
