//! `suite.retries`: further attempts at trials that something else than the agent decided.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use proctor_model::vocabulary::{Pause, Seconds};

/// How often and when a trial is tried again that something else than the agent decided: a limit or an overload of the
/// provider, a failed login, no network, an agent that never said anything, a simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct RetrySettings {
    /// Attempts at a trial in one start of a run, the first included; each one is a row. 1 tries nothing again.
    #[serde(rename = "max_attempts")]
    #[schemars(range(min = 1, max = 100), extend("default" = 3))]
    pub attempts: u32,
    /// The first wait where the provider tells none; each further one is twice as long, and up to a half more by chance.
    #[serde(rename = "backoff_sec")]
    #[schemars(with = "Pause", extend("default" = 5))]
    pub backoff: Duration,
    /// The longest of these waits.
    #[serde(rename = "max_backoff_sec")]
    #[schemars(with = "Pause", extend("default" = 300))]
    pub longest_backoff: Duration,
    /// The longest that a run waits with nothing else to do, such as for the reset of a usage limit; beyond, it ends and
    /// --resume goes on.
    #[serde(rename = "max_wait_sec")]
    #[schemars(with = "Seconds", extend("default" = 900))]
    pub longest_wait: Duration,
}
