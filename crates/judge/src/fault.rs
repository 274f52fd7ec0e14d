//! Why a call gave no reply, and whether another one may.

use std::time::Duration;

/// Why a call gave no reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// It will be the same next time: a wrong key, a request that is not taken, a program that is not there.
    Final(String),
    /// It may pass, and nothing was done for it: no network, an overload, a limit. What the server says of when.
    Passing(String, Option<Duration>),
    /// It broke down on the way: it may pass, and what it cost is not known.
    Broken(String),
    /// What came is no reply.
    Unreadable(String),
    /// A person asked to stop.
    Cancelled,
}
