//! The MCP servers that Codex itself lists (`codex mcp list --json`): its stream names none.

use std::ffi::OsString;
use std::path::Path;

use serde::Deserialize;

use crate::answer::{Answer, Asked};
use crate::mcp::server_names;
use crate::start::Invocation;
use proctor_config::ScenarioSpec;

/// Settings of the machine, the only ones beside those that a trial gives it. It is asked only where there are some.
const OF_THE_MACHINE: &str = "/etc/codex";

/// Its question.
#[derive(Debug)]
pub(crate) struct Configured {
    /// Its command line up to `exec`, and what it is given beside it.
    words: Vec<OsString>,
    /// The servers of the scenario.
    expected: Vec<String>,
}

/// A server of its answer.
#[derive(Debug, Deserialize)]
struct Listed {
    name: String,
    enabled: bool,
}

impl Configured {
    /// The question for a Codex that is to be started so; `None` where nobody but the trial configures it.
    pub(crate) fn of(scenario: &ScenarioSpec, invocation: &Invocation) -> Option<Self> {
        let exec = invocation.argv.iter().position(|word| word == "exec")?;
        Path::new(OF_THE_MACHINE).is_dir().then(|| Self {
            words: with_overrides(&invocation.argv[..exec], &invocation.extra_args),
            expected: scenario
                .mcp_config
                .as_deref()
                .map(server_names)
                .unwrap_or_default(),
        })
    }

    /// What it is asked.
    pub(crate) fn first(&self) -> Asked {
        let question = ["mcp", "list", "--json"].map(OsString::from);
        Asked::Further(self.words.iter().cloned().chain(question).collect())
    }

    /// What follows from its answer.
    pub(crate) fn heard(&self, answer: &Answer) -> Asked {
        let listed = serde_json::from_slice::<Vec<Listed>>(&answer.stdout).ok();
        let Some(listed) = listed.filter(|_| answer.succeeded) else {
            return Asked::Untold(format!("`codex mcp list`: {}", answer.ended));
        };
        let mut on = listed.into_iter().filter(|server| server.enabled);
        let foreign = on.find(|server| !self.expected.contains(&server.name));
        foreign.map_or(Asked::Fit, |server| {
            Asked::Refused(format!(
                "Codex would start the MCP server {}, which the scenario does not name, from settings of this machine ({OF_THE_MACHINE}); take it out of them while you measure, or run in a jail, which does not show them (isolation: jail)",
                server.name
            ))
        })
    }
}

/// The first words of a command line with its overrides (`-c KEY=VALUE`).
fn with_overrides(first: &[OsString], extra_args: &[String]) -> Vec<OsString> {
    let overrides = extra_args.windows(2).filter(|pair| pair[0] == "-c");
    let overrides = overrides.flatten().map(OsString::from);
    first.iter().cloned().chain(overrides).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_codex_lists_and_no_scenario_names_is_refused() {
        let configured = Configured {
            words: with_overrides(
                &["codex".into()],
                &["--x", "-c", "a=1", "-c", "b=2"].map(str::to_owned),
            ),
            expected: vec!["lab".to_owned()],
        };
        let words = "codex -c a=1 -c b=2 mcp list --json";
        let words = words.split(' ').map(OsString::from).collect();
        assert_eq!(configured.first(), Asked::Further(words));
        let heard = |stdout: &str| {
            configured.heard(&Answer {
                succeeded: true,
                ended: "exit code 0".to_owned(),
                stdout: stdout.as_bytes().to_vec(),
                stderr: Vec::new(),
            })
        };
        let lab = r#"{"name":"lab","enabled":true,"transport":{"type":"stdio"}}"#;
        let off = r#"{"name":"sys","enabled":false}"#;
        assert_eq!(heard(&format!("[{lab},{off}]")), Asked::Fit);
        let refused = heard(&format!("[{lab},{}]", off.replace("false", "true")));
        let is_named = |why: &str| why.contains("server sys, which") && why.contains("/etc/codex");
        assert!(
            matches!(&refused, Asked::Refused(why) if is_named(why)),
            "{refused:?}"
        );
        let untold = Asked::Untold("`codex mcp list`: exit code 0".to_owned());
        assert_eq!(heard("No MCP servers"), untold);
    }
}
