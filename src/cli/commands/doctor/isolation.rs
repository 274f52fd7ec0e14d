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
        None if probe.root_of_all => check(
            State::Warn,
            "jail, but root stays root in it: it can write to /proc/sys, and has no limit of processes".to_owned(),
        )
        .advice("run proctor as an ordinary user, or keep TMPDIR on ext4, xfs, btrfs or tmpfs"),
        None => check(State::Ok, probe.level.as_str().to_owned()),
        Some((why, advice)) => {
            let found = format!("{}: {why}", probe.level.as_str());
            check(State::Warn, found).advice(advice)
        }
    }
}
