//! What several judged traces amount to.

use super::finding::LayerStatus;

/// The layers of one trace; none where a spec asks nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Layers {
    /// Layer 1.
    pub answer: Option<LayerStatus>,
    /// Layer 2.
    pub path: Option<LayerStatus>,
    /// Layer 3.
    pub budget: Option<LayerStatus>,
}

impl Layers {
    fn any(self, status: LayerStatus) -> bool {
        [self.answer, self.path, self.budget].contains(&Some(status))
    }
}

/// How many traces passed and failed. One that warns passed; one that failed may warn too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Without a failure and without an error.
    pub passed: usize,
    /// With a failure.
    pub failed: usize,
    /// With a warning.
    pub warned: usize,
    /// Not judged: a crash, or a judge out of reach.
    pub errors: usize,
}

impl Tally {
    /// Counts one trace.
    pub fn add(&mut self, layers: Layers) {
        if layers.any(LayerStatus::Fail) {
            return self.add_failed(layers);
        }
        if layers.any(LayerStatus::Error) {
            // Whoever is not judged is not warned either.
            self.errors += 1;
            return;
        }
        self.passed += 1;
        self.warned += usize::from(layers.any(LayerStatus::Warn));
    }

    /// Counts one trace that failed, whatever its layers say.
    pub fn add_failed(&mut self, layers: Layers) {
        self.failed += 1;
        self.warned += usize::from(layers.any(LayerStatus::Warn));
    }

    /// Counts one trace that could not be judged at all.
    pub const fn add_crash(&mut self) {
        self.errors += 1;
    }

    /// 0: all passed; 1: a failure; 2: nothing was judged, or something could not be.
    #[must_use]
    pub const fn exit_code(self) -> u8 {
        if self.errors > 0 || self.passed + self.failed == 0 {
            2
        } else if self.failed > 0 {
            1
        } else {
            0
        }
    }
}
