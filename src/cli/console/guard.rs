//! On GitHub Actions, lines of a log can be commands to the runner: text of agents must not be one.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::cli::console::say;
use crate::cli::out::Colour;

/// While it lives, the runner of GitHub Actions takes no line of this step as a command.
///
/// The token that ends the pause is random, so that no agent can end it.
#[derive(Debug)]
pub(in crate::cli) struct CommandsStopped {
    token: Option<String>,
}

impl CommandsStopped {
    /// Begins the pause, where the environment says that it is needed.
    pub(in crate::cli) fn begin() -> Self {
        let on_actions = std::env::var_os("GITHUB_ACTIONS").is_some_and(|value| value == "true");
        let token = on_actions.then(random_token);
        if let Some(token) = &token {
            say(Colour::AUTO, format_args!("::stop-commands::{token}"));
        }
        Self { token }
    }
}

impl Drop for CommandsStopped {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            say(Colour::AUTO, format_args!("::{token}::"));
        }
    }
}

/// 128 bits from the randomness that the standard library seeds its hash maps with.
fn random_token() -> String {
    let word = || RandomState::new().build_hasher().finish();
    format!("proctor-{:016x}{:016x}", word(), word())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ() {
        assert_ne!(random_token(), random_token());
    }
}
