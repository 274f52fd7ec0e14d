//! Isolation: which level this machine gives, and why not a higher one.

use crate::cli::commands::doctor::Patient;
use crate::cli::commands::doctor::check::{Check, State};
use crate::supervise;

/// What a run would have.
pub(super) fn check(_patient: &Patient) -> Check {
    let probe = supervise::probe();
    let check = |state, found: String| {
        Check::new("isolation", state)
            .found(found)
            .needed_for("keeping agents from your files, your processes and each other")
    };
    match &probe.obstacle {
        None => check(State::Ok, probe.level.as_str().to_owned()),
        Some((why, advice)) => {
            let found = format!("{}: {why}", probe.level.as_str());
            check(State::Warn, found).advice(advice)
        }
    }
}
