//! Cases of private homes.

use super::*;
use std::os::unix::fs::PermissionsExt as _;

fn operator() -> (tempfile::TempDir, OperatorHome) {
    let folder = tempfile::tempdir().unwrap();
    let home = OperatorHome {
        home: Some(folder.path().to_owned()),
        codex: Some(folder.path().join("codex")),
        claude: Some(folder.path().join("claude")),
        ..OperatorHome::default()
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
        for name in [
            "HOME",
            "CODEX_HOME",
            "CLAUDE_CONFIG_DIR",
            "XDG_CONFIG_HOME",
            "TMPDIR",
        ] {
            assert!(names.contains(&name), "{name} is not in {names:?}");
        }
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
        ..OperatorHome::default()
    };
    let home = folder.path().join("home");
    copy_settings(AgentKind::ClaudeCode, &home, &operator).unwrap();
    copy_settings(AgentKind::Codex, &home, &operator).unwrap();
    assert!(home.join(".claude.json").is_file() && home.join(".claude/settings.json").is_file());
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
