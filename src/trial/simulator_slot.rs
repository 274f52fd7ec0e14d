//! The simulator of one trial, once it was asked for.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;

use crate::trial::RunContext;
use proctor_apple::{Lease, Simctl, Trouble, Xcode};
use proctor_supervise::Cancel;

/// The simulator of a trial, and how long it waited for builds.
#[derive(Debug, Default)]
pub(super) struct SimulatorSlot {
    /// The tools, where there are some.
    pub(super) xcode: Option<Xcode>,
    pub(super) lease: OnceCell<Result<Option<Lease>, Trouble>>,
    pub(super) builds_waited: Mutex<Duration>,
}

impl SimulatorSlot {
    /// That of a trial whose processes carry this marker.
    pub(super) fn of(context: &RunContext, marker: &str) -> Self {
        let xcode = context.apple.as_ref().map(|it| it.xcode.of_trial(marker));
        Self {
            xcode,
            ..Self::default()
        }
    }

    /// `simctl` of this trial.
    pub(super) fn simctl<'a>(&'a self, cancel: &'a Cancel) -> Option<Simctl<'a>> {
        let xcode = self.xcode.as_ref()?;
        Some(Simctl { xcode, cancel })
    }

    /// The device that is held.
    pub(super) fn held(&self) -> Option<&Lease> {
        self.lease.get()?.as_ref().ok()?.as_ref()
    }

    /// How long it was waited for.
    pub(super) fn waited(&self) -> Duration {
        self.held().map(|lease| lease.waited).unwrap_or_default()
    }

    pub(super) fn waited_for_a_build(&self, wait: Duration) {
        let waited = self.builds_waited.lock();
        *waited.unwrap_or_else(PoisonError::into_inner) += wait;
    }

    /// How long the agent and builds of graders waited for their turn.
    pub(super) fn builds_waited(&self) -> Duration {
        let waited = self.builds_waited.lock();
        *waited.unwrap_or_else(PoisonError::into_inner)
    }
}
