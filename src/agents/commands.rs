//! What is known of each agent beside its stream: the command that starts it, the variables it needs, its version.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::config::AgentKind;
use crate::supervise::{Cancel, ChildSpec, capture, find_program};

/// How long `--version` may take.
const VERSION_LIMIT: Duration = Duration::from_secs(10);

/// Names of variables of the operator that an agent of this kind may inherit; `X_*` = every name that starts with `X_`.
///
/// Only what the agent's own login and model need. Keys of clouds are not among them: who runs an agent through one names
/// them in `env_pass`. Marks that an agent leaves in the shells below it are left out too, so that a run that is started
/// from inside an agent measures the same.
#[must_use]
pub const fn operator_variables(kind: AgentKind) -> &'static [&'static str] {
    match kind {
        AgentKind::Codex => &["CODEX_API_KEY", "CODEX_HOME", "OPENAI_*"],
        AgentKind::ClaudeCode => &[
            "ANTHROPIC_*",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CODE_SUBAGENT_MODEL",
            "CLAUDE_CONFIG_DIR",
            "MAX_THINKING_TOKENS",
        ],
        AgentKind::Command | AgentKind::Replay => &[],
    }
}

/// A headless command line of this kind, as a new config shows it; empty where there is no usual one.
#[must_use]
pub const fn default_command(kind: AgentKind) -> &'static [&'static str] {
    match kind {
        AgentKind::Codex => &[
            "codex",
            "exec",
            "{EXTRA_ARGS}",
            "--json",
            "--dangerously-bypass-approvals-and-sandbox",
            "-c",
            "features.plugins=false",
            "-c",
            "analytics.enabled=false",
            "--output-last-message",
            "{OUT_JSON}",
            "{PROMPT}",
        ],
        AgentKind::ClaudeCode => &[
            "claude",
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--disable-slash-commands",
            "--setting-sources",
            "local",
            "--no-session-persistence",
            "--permission-mode",
            "bypassPermissions",
            "{EXTRA_ARGS}",
            "--",
            "{PROMPT}",
        ],
        AgentKind::Command | AgentKind::Replay => &[],
    }
}

/// The program of this kind on `path`, if it is there.
#[must_use]
pub fn find_on_path(kind: AgentKind, path: &OsStr) -> Option<PathBuf> {
    let program = default_command(kind).first()?;
    find_program(OsStr::new(program), path, Path::new("/"))
}

/// What `program --version` says on its first line, within ten seconds and with nothing but PATH and `home` to see.
pub async fn version(program: &Path, path: &OsStr, home: &Path) -> Option<String> {
    let env = vec![
        (OsString::from("PATH"), path.to_owned()),
        (OsString::from("HOME"), home.as_os_str().to_owned()),
    ];
    let argv = vec![program.as_os_str().to_owned(), OsString::from("--version")];
    let spec = ChildSpec::helper(argv, home, env, VERSION_LIMIT);
    let (ending, output) = capture(&spec, 64 * 1024, &Cancel::new()).await;
    let text = String::from_utf8_lossy(&output.stdout);
    let first = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    ending.succeeded().then(|| {
        first
            .chars()
            .filter(|character| !character.is_control())
            .take(200)
            .collect()
    })
}
