//! `suite.retries`: further attempts at trials that something else than the agent decided.

use std::time::Duration;

use crate::fields::Fields;

/// `retries`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    /// `max_attempts` (3): attempts at a trial in one start, the first included.
    pub attempts: u32,
    /// `backoff_sec` (5): the first wait; each further one is twice as long.
    pub backoff: Duration,
    /// `max_backoff_sec` (300): the longest wait that no provider told.
    pub longest_backoff: Duration,
    /// `max_wait_sec` (900): the longest that a run waits with nothing else to do.
    pub longest_wait: Duration,
}

/// The retries as they were written.
pub(super) fn retries(fields: &Fields<'_>) -> RetrySettings {
    RetrySettings {
        attempts: fields.count("max_attempts"),
        backoff: fields.seconds_or_zero("backoff_sec"),
        longest_backoff: fields.seconds_or_zero("max_backoff_sec"),
        longest_wait: Duration::from_secs(fields.whole("max_wait_sec")),
    }
}
