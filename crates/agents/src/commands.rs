//! What is known of each agent beside its stream: the command that starts it, the variables it needs, its version.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::home::COMMITTER;
use proctor_config::{AgentKind, names_variable};
use proctor_model::Isolation;
use proctor_supervise::{
    Cancel, ChildSpec, Containment, Jail, JailNetwork, Mount, capture, find_program,
};

/// How long `--version` may take.
const VERSION_LIMIT: Duration = Duration::from_secs(10);
/// The most processes and threads that it may have in a jail.
const VERSION_PROCESSES: u64 = 512;
/// The most bytes that it may write there.
const VERSION_MEMORY: u64 = 64 << 20;

/// What an agent of this kind gets of the operator's variables beside what every child gets.
pub fn lent_to(
    kind: AgentKind,
    operator: &[(OsString, OsString)],
) -> impl Iterator<Item = &(OsString, OsString)> {
    let fits = move |name: &str| {
        let mut rules = operator_variables(kind).iter();
        rules.any(|rule| names_variable(rule, name))
    };
    operator
        .iter()
        .filter(move |(name, _)| name.to_str().is_some_and(fits))
}

/// Names of variables of the operator that an agent of this kind may inherit; `X_*` = every name that starts with `X_`.
///
/// Only what the agent's own login and model need. Keys of clouds are not among them: who runs an agent through one names
/// them in `env_pass`. Marks that an agent leaves in the shells below it are left out too, so that a run that is started
/// from inside an agent measures the same.
const fn operator_variables(kind: AgentKind) -> &'static [&'static str] {
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
        AgentKind::Gemini => &[
            "GEMINI_API_KEY",
            "GEMINI_MODEL",
            "GOOGLE_API_KEY",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_GENAI_USE_GCA",
            "GOOGLE_GENAI_USE_VERTEXAI",
            "GOOGLE_VERTEX_BASE_URL",
        ],
        AgentKind::Opencode => &[
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_GENERATIVE_AI_API_KEY",
            "OPENAI_API_KEY",
            "OPENCODE_API_KEY",
            "OPENCODE_CONFIG",
            "OPENROUTER_API_KEY",
        ],
        AgentKind::Qwen => &[
            "BAILIAN_CODING_PLAN_API_KEY",
            "DASHSCOPE_API_KEY",
            "OPENAI_*",
            "QWEN_MODEL",
        ],
        AgentKind::Copilot => &[
            "COPILOT_GITHUB_TOKEN",
            "COPILOT_MODEL",
            "COPILOT_OFFLINE",
            "COPILOT_PROVIDER_*",
            "GH_TOKEN",
            "GITHUB_TOKEN",
        ],
        AgentKind::Command | AgentKind::Replay => &[],
    }
}

/// A headless command line of this kind, as a new config shows it; empty where there is no usual one.
///
/// Where the agent reads its prompt on standard input, no token holds it: every process can read a command line, and an agent
/// that kills processes by a word of its task would kill itself.
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
            "-",
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
            "--permission-mode",
            "bypassPermissions",
            "{EXTRA_ARGS}",
        ],
        // A prompt that begins with a dash is one only behind `--prompt=` or `--`.
        AgentKind::Gemini => &[
            "gemini",
            "-o",
            "stream-json",
            "--yolo",
            "--skip-trust",
            "{EXTRA_ARGS}",
            "--prompt={PROMPT}",
        ],
        AgentKind::Opencode => &[
            "opencode",
            "run",
            "--format",
            "json",
            "--auto",
            "{EXTRA_ARGS}",
            "--",
            "{PROMPT}",
        ],
        AgentKind::Qwen => &[
            "qwen",
            "-o",
            "stream-json",
            "--yolo",
            "{EXTRA_ARGS}",
            "--prompt={PROMPT}",
        ],
        AgentKind::Copilot => &[
            "copilot",
            "--output-format",
            "json",
            "--allow-all-tools",
            "--allow-all-paths",
            "--no-color",
            "--usage-output-file",
            "{OUT_JSON}",
            "{EXTRA_ARGS}",
            "--prompt={PROMPT}",
        ],
        AgentKind::Command | AgentKind::Replay => &[],
    }
}

/// What an agent of this kind needs to run unwatched and quiet, and to commit.
pub(super) fn quiet_variables(kind: AgentKind) -> Vec<(String, OsString)> {
    let mut variables: Vec<(&str, &str)> = match kind {
        AgentKind::ClaudeCode => vec![("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")],
        AgentKind::Opencode => vec![
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
            ("OPENCODE_DISABLE_SHARE", "1"),
            // Nothing else tells why it is silent while it tries a failed request again, and which servers it could not reach.
            ("OPENCODE_LOG_LEVEL", "WARN"),
            ("OPENCODE_PRINT_LOGS", "1"),
            // A plugin can give the model tools, whatever servers a scenario has.
            ("OPENCODE_PURE", "1"),
        ],
        AgentKind::Qwen => vec![
            ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1"),
            ("QWEN_TELEMETRY_ENABLED", "false"),
        ],
        AgentKind::Gemini => vec![
            ("GEMINI_TELEMETRY_ENABLED", "false"),
            // Git reads no settings of the home in its commands, so that nobody would be there to commit.
            ("GIT_AUTHOR_NAME", COMMITTER.0),
            ("GIT_AUTHOR_EMAIL", COMMITTER.1),
            ("GIT_COMMITTER_NAME", COMMITTER.0),
            ("GIT_COMMITTER_EMAIL", COMMITTER.1),
        ],
        AgentKind::Copilot => vec![("COPILOT_AUTO_UPDATE", "false")],
        AgentKind::Codex | AgentKind::Command | AgentKind::Replay => Vec::new(),
    };
    if kind == AgentKind::ClaudeCode && rustix::process::geteuid().is_root() {
        // As root it refuses to skip permissions unless it is told that it is in a sandbox.
        variables.push(("IS_SANDBOX", "1"));
    }
    let variables = variables.into_iter();
    variables
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect()
}

/// The kinds that are a program of its own, with the name that a config may give them; the usual ones first.
pub const KNOWN_AGENTS: [(AgentKind, &str); 6] = [
    (AgentKind::ClaudeCode, "claude"),
    (AgentKind::Codex, "codex"),
    (AgentKind::Gemini, "gemini"),
    (AgentKind::Opencode, "opencode"),
    (AgentKind::Qwen, "qwen"),
    (AgentKind::Copilot, "copilot"),
];

/// The program of this kind on `path`, if it is there.
#[must_use]
pub fn find_on_path(kind: AgentKind, path: &OsStr) -> Option<PathBuf> {
    let program = default_command(kind).first()?;
    find_program(OsStr::new(program), path, Path::new("/"))
}

/// What `program --version` says on its first line, within ten seconds and with nothing but PATH and `home` in its environment.
///
/// In a jail it has no network, changes nothing, and `home` is an empty folder in memory.
pub async fn version(
    program: &Path,
    (path, home): (&OsStr, &Path),
    (level, cancel): (Isolation, &Cancel),
) -> Option<String> {
    let env = vec![
        (OsString::from("PATH"), path.to_owned()),
        (OsString::from("HOME"), home.as_os_str().to_owned()),
    ];
    let argv = vec![program.as_os_str().to_owned(), OsString::from("--version")];
    let mut spec = ChildSpec::helper(argv, home, env, VERSION_LIMIT);
    spec.containment = match level {
        Isolation::Jail => Containment::Jail(Arc::new(without_rights(home))),
        Isolation::None | Isolation::External => Containment::Supervised,
    };
    let (ending, output) = capture(&spec, 64 * 1024, cancel).await;
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

fn without_rights(home: &Path) -> Jail {
    Jail {
        mounts: vec![Mount::Empty {
            at: fs::canonicalize(home).unwrap_or_else(|_| home.to_owned()),
            write: true,
        }],
        processes: Some(VERSION_PROCESSES),
        in_memory: Some(VERSION_MEMORY),
        network: JailNetwork::Loopback(Vec::new()),
    }
}
