//! A home of the trial's own: where an agent's settings, sessions and temporary files go instead of the operator's.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::agents::InvocationError;
use crate::config::AgentKind;

/// Where the operator's own agents keep their things.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperatorHome {
    /// `HOME`
    pub home: Option<PathBuf>,
    /// `CODEX_HOME`, else `~/.codex`.
    pub codex: Option<PathBuf>,
    /// `CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub claude: Option<PathBuf>,
}

impl OperatorHome {
    /// As the environment of this process tells.
    #[must_use]
    pub fn from_env() -> Self {
        let path = |name| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let home = path("HOME");
        let below = |folder| home.as_ref().map(|home| home.join(folder));
        Self {
            codex: path("CODEX_HOME").or_else(|| below(".codex")),
            claude: path("CLAUDE_CONFIG_DIR").or_else(|| below(".claude")),
            home,
        }
    }
}

/// What a trial's own home amounts to.
#[derive(Debug, Default)]
pub(super) struct PrivateHome {
    /// Variables that lead there.
    pub(super) env: Vec<(String, OsString)>,
    /// The home, where the whole of it is private.
    pub(super) home: Option<PathBuf>,
    /// Files with secrets, to be removed when the trial ends.
    pub(super) secrets: Vec<PathBuf>,
}

/// Makes the private parts of a home below `private`.
///
/// `clean` moves everything: HOME, TMPDIR and both agents' folders, into which only the login of `kind` is copied. Without
/// it the operator's HOME stays in use; only a Codex whose sessions are to be read (`own_codex`) gets a folder of its own,
/// with the operator's login and settings, from which MCP servers are taken out: those belong to the scenario.
///
/// # Errors
/// A folder or file that cannot be made.
pub(super) fn make(
    kind: AgentKind,
    clean: bool,
    own_codex: bool,
    place: (&Path, &OperatorHome),
) -> Result<PrivateHome, InvocationError> {
    let (private, operator) = place;
    let mut made = PrivateHome::default();
    if !clean {
        if own_codex && kind == AgentKind::Codex {
            let codex = private.join("codex");
            folder(&codex)?;
            copy_codex(operator, &codex, true, &mut made)?;
            made.env
                .push(("CODEX_HOME".to_owned(), codex.into_os_string()));
        }
        return Ok(made);
    }
    let home = private.join("home");
    let codex = home.join(".codex");
    let claude = home.join(".claude");
    let temporary = private.join("tmp");
    for path in [&home, &codex, &claude, &temporary] {
        folder(path)?;
    }
    // Agents commit, and git wants to know who; the operator's name is not theirs.
    let identity = b"[user]\n\tname = agent\n\temail = agent@localhost\n";
    write_private(&home.join(".gitconfig"), identity)?;
    match kind {
        AgentKind::Codex => copy_codex(operator, &codex, false, &mut made)?,
        AgentKind::ClaudeCode => copy_secret(
            operator.claude.as_deref(),
            ".credentials.json",
            (&claude, &mut made),
        )?,
        AgentKind::Command | AgentKind::Replay => {}
    }
    made.env.extend([
        ("HOME".to_owned(), home.clone().into_os_string()),
        ("CODEX_HOME".to_owned(), codex.into_os_string()),
        ("CLAUDE_CONFIG_DIR".to_owned(), claude.into_os_string()),
        ("TMPDIR".to_owned(), temporary.into_os_string()),
    ]);
    made.home = Some(home);
    Ok(made)
}

/// What an agent needs of the operator's home to be logged in and set up as the operator has it: its folder, and files there.
const fn settings_of(kind: AgentKind) -> &'static [&'static str] {
    match kind {
        AgentKind::ClaudeCode => &[".credentials.json", "settings.json", "CLAUDE.md"],
        AgentKind::Codex => &["auth.json", "config.toml", "AGENTS.md"],
        AgentKind::Command | AgentKind::Replay => &[],
    }
}

/// Copies the operator's login and settings of an agent into `home`, which stands for the operator's own where that is
/// hidden. Sessions, histories and memories stay out.
///
/// # Errors
/// A file that cannot be written.
pub fn copy_settings(
    kind: AgentKind,
    home: &Path,
    operator: &OperatorHome,
) -> Result<(), InvocationError> {
    let folder = match kind {
        AgentKind::ClaudeCode => operator.claude.as_deref(),
        AgentKind::Codex => operator.codex.as_deref(),
        AgentKind::Command | AgentKind::Replay => None,
    };
    let (Some(theirs), Some(folder)) = (&operator.home, folder) else {
        return Ok(());
    };
    let mut files: Vec<PathBuf> = settings_of(kind)
        .iter()
        .map(|name| folder.join(name))
        .collect();
    if kind == AgentKind::ClaudeCode {
        files.push(theirs.join(".claude.json"));
    }
    for file in files {
        if let (Ok(inside), Some(text)) = (file.strip_prefix(theirs), regular_text(&file)) {
            write_private(&home.join(inside), text.as_bytes())?;
        }
    }
    Ok(())
}

fn copy_codex(
    operator: &OperatorHome,
    to: &Path,
    with_settings: bool,
    made: &mut PrivateHome,
) -> Result<(), InvocationError> {
    let from = operator.codex.as_deref();
    copy_secret(from, "auth.json", (to, made))?;
    if !with_settings {
        return Ok(());
    }
    copy_secret(from, "AGENTS.md", (to, made))?;
    if let Some(settings) = from.and_then(|from| regular_text(&from.join("config.toml"))) {
        let file = to.join("config.toml");
        write_private(&file, without_mcp_servers(&settings).as_bytes())?;
        made.secrets.push(file);
    }
    Ok(())
}

/// Copies `name` for the trial alone, if the operator has it.
fn copy_secret(
    from: Option<&Path>,
    name: &str,
    to: (&Path, &mut PrivateHome),
) -> Result<(), InvocationError> {
    let (folder, made) = to;
    let Some(text) = from.and_then(|from| regular_text(&from.join(name))) else {
        return Ok(());
    };
    let file = folder.join(name);
    write_private(&file, text.as_bytes())?;
    made.secrets.push(file);
    Ok(())
}

/// The text of a regular file; links are followed, since people keep their settings elsewhere.
fn regular_text(path: &Path) -> Option<String> {
    fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    fs::read_to_string(path).ok()
}

/// Codex settings less their `mcp_servers`, by lines: tables of that name, and keys of it before any table.
fn without_mcp_servers(settings: &str) -> String {
    let mut kept = String::new();
    let mut in_servers = false;
    let mut in_table = false;
    for line in settings.lines() {
        let text = line.trim_start();
        if let Some(table) = text.strip_prefix('[') {
            let name = table.trim_start_matches('[').trim_start();
            in_table = true;
            in_servers = is_mcp_key(name);
        } else if !in_table {
            in_servers = is_mcp_key(text);
        }
        if !in_servers {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn is_mcp_key(text: &str) -> bool {
    let bare = text.trim_start_matches(['"', '\'']);
    bare.strip_prefix("mcp_servers")
        .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
}

/// Makes a folder that only the operator can enter.
fn folder(path: &Path) -> Result<(), InvocationError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|source| InvocationError::Private {
            path: path.to_owned(),
            source,
        })
}

/// Writes a file that only the operator can read, in place of whatever is there.
pub(super) fn write_private(path: &Path, bytes: &[u8]) -> Result<(), InvocationError> {
    let write = || {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(bytes)
    };
    write().map_err(|source| InvocationError::Private {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn operator() -> (tempfile::TempDir, OperatorHome) {
        let folder = tempfile::tempdir().unwrap();
        let home = OperatorHome {
            home: Some(folder.path().to_owned()),
            codex: Some(folder.path().join("codex")),
            claude: Some(folder.path().join("claude")),
        };
        for (path, text) in [
            ("codex/auth.json", "{\"key\":1}"),
            (
                "codex/config.toml",
                "model = \"m\"\nmcp_servers.x.command = \"y\"\n[mcp_servers.lab]\ncommand = \"z\"\n[mcp_servers.lab.env]\nA = \"b\"\n[tui]\nmcp_servers = 1\n",
            ),
            ("claude/.credentials.json", "{}"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (folder, home)
    }

    #[test]
    fn a_clean_home_holds_the_login_of_its_agent_and_nothing_else_of_the_operator() {
        for (kind, secret) in [
            (AgentKind::Codex, Some("home/.codex/auth.json")),
            (
                AgentKind::ClaudeCode,
                Some("home/.claude/.credentials.json"),
            ),
            (AgentKind::Command, None),
        ] {
            let (_operator_folder, operator) = operator();
            let private = tempfile::tempdir().unwrap();
            let made = make(kind, true, true, (private.path(), &operator)).unwrap();
            let expected: Vec<PathBuf> = secret
                .iter()
                .map(|path| private.path().join(path))
                .collect();
            assert_eq!(made.secrets, expected);
            for path in &made.secrets {
                assert_eq!(
                    fs::metadata(path).unwrap().permissions().mode() & 0o777,
                    0o600
                );
            }
            let names: Vec<&str> = made.env.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR", "TMPDIR"]);
            assert!(!private.path().join("home/.codex/config.toml").exists());
        }
    }

    #[test]
    fn without_a_clean_home_only_codex_sessions_are_private() {
        let (_folder, operator) = operator();
        let private = tempfile::tempdir().unwrap();
        let made = make(AgentKind::Codex, false, true, (private.path(), &operator)).unwrap();
        assert_eq!(
            made.env,
            [("CODEX_HOME".to_owned(), private.path().join("codex").into())]
        );
        assert_eq!(made.home, None);
        let settings = fs::read_to_string(private.path().join("codex/config.toml")).unwrap();
        assert_eq!(settings, "model = \"m\"\n[tui]\nmcp_servers = 1\n");
        let none = make(
            AgentKind::ClaudeCode,
            false,
            true,
            (private.path(), &operator),
        )
        .unwrap();
        assert!(none.env.is_empty() && none.secrets.is_empty());
    }

    #[test]
    fn login_and_settings_are_copied_to_where_they_lie_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let theirs = folder.path().join("theirs");
        for name in [
            ".claude.json",
            ".claude/settings.json",
            ".claude/projects/x.jsonl",
            ".ssh/id",
        ] {
            let path = theirs.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        let operator = OperatorHome {
            claude: Some(theirs.join(".claude")),
            codex: Some(theirs.join(".codex")),
            home: Some(theirs),
        };
        let home = folder.path().join("home");
        copy_settings(AgentKind::ClaudeCode, &home, &operator).unwrap();
        copy_settings(AgentKind::Codex, &home, &operator).unwrap();
        assert!(
            home.join(".claude.json").is_file() && home.join(".claude/settings.json").is_file()
        );
        assert!(!home.join(".claude/projects").exists() && !home.join(".ssh").exists());
    }

    #[test]
    fn a_login_that_is_a_pipe_is_left_alone() {
        let (folder, operator) = operator();
        let path = folder.path().join("codex/auth.json");
        fs::remove_file(&path).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR).unwrap();
        let private = tempfile::tempdir().unwrap();
        let made = make(AgentKind::Codex, true, true, (private.path(), &operator)).unwrap();
        assert!(made.secrets.is_empty());
    }
}
