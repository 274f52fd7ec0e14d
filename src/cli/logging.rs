//! Diagnostics of the harness itself: to standard error, off unless `PROCTOR_LOG` asks.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// The variable that holds the filter, like `debug` or `proctor::supervise=trace`.
pub(super) const VARIABLE: &str = "PROCTOR_LOG";

/// Whether diagnostics were asked for.
pub(super) fn wanted() -> bool {
    std::env::var_os(VARIABLE).is_some_and(|filter| !filter.is_empty() && filter != "off")
}

/// Starts telling diagnostics; an unreadable filter is said and otherwise ignored.
pub(super) fn start() -> Option<String> {
    if !wanted() {
        return None;
    }
    let filter = match EnvFilter::try_from_env(VARIABLE) {
        Ok(filter) => filter,
        Err(error) => return Some(format!("{VARIABLE} is ignored: {error}")),
    };
    let started = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
        .try_init();
    started.err().map(|error| error.to_string())
}
