//! Cases of MCP dialects.

use super::*;

const FILE: &str = r#"{"mcpServers": {
    "XcodeBuildMCP-Dev": {"type": "stdio", "command": "npx", "args": ["-y", "a \"b\"\\c"],
        "env": {"MODE": "x=1\n", "odd name": "é"}, "tool_timeout_sec": 600, "x": [1, 2.50]},
    "off.one": {"command": "/bin/true", "enabled": false},
    "far": {"type": "http", "url": "https://example.invalid/mcp", "headers": {"A": "b"}}}}"#;

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("servers.json");
    fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn codex_gets_one_toml_value_per_entry() {
    let (_folder, path) = file(FILE);
    let suite_key = "SUITE_KEY".to_owned();
    let servers = codex_servers(Some(&path), std::iter::once(&suite_key)).unwrap();
    let arguments = servers.arguments;
    assert_eq!(arguments[..2], ["-c", "features.apps=false"]);
    let values: Vec<&str> = arguments
        .iter()
        .filter(|argument| *argument != "-c")
        .map(String::as_str)
        .collect();
    for expected in [
        r#"mcp_servers.XcodeBuildMCP-Dev.command="npx""#,
        r#"mcp_servers.XcodeBuildMCP-Dev.args=["-y", "a \"b\"\\c"]"#,
        r#"mcp_servers.XcodeBuildMCP-Dev.env.MODE="x=1\n""#,
        r#"mcp_servers.XcodeBuildMCP-Dev.env."odd name"="é""#,
        r#"mcp_servers.XcodeBuildMCP-Dev.env.EVAL_MCP_PROCESS="1""#,
        "mcp_servers.XcodeBuildMCP-Dev.tool_timeout_sec=600",
        r#"mcp_servers."off.one".enabled=false"#,
        r#"mcp_servers.far.url="https://example.invalid/mcp""#,
        r#"mcp_servers.far.http_headers.A="b""#,
    ] {
        assert!(
            values.contains(&expected),
            "{expected} is not in {values:#?}"
        );
    }
    let inherited = values
        .iter()
        .find(|value| value.starts_with("mcp_servers.XcodeBuildMCP-Dev.env_vars"));
    let inherited = inherited.expect("names to hand on");
    assert!(inherited.contains("\"EVAL_CMD_LOG\"") && inherited.contains("\"SUITE_KEY\""));
    assert!(
        !values
            .iter()
            .any(|value| value.starts_with("mcp_servers.far.env"))
    );
}

#[test]
fn secrets_of_servers_stand_in_no_command_line_of_codex() {
    let text = r#"{"mcpServers": {
        "a": {"command": "x", "env": {"A_TOKEN": "canary-1", "MODE": "plain"}},
        "b": {"command": "y", "env": {"A_TOKEN": "canary-1"}, "env_vars": ["OWN_KEY"]},
        "c": {"url": "http://x", "headers": {"Authorization": "Bearer canary-2", "Accept": "plain"}},
        "d": {"url": "http://y", "http_headers": {"X-Api-Key": "canary-3"}}}}"#;
    let (_folder, path) = file(text);
    let none = std::iter::empty::<&String>();
    let servers = codex_servers(Some(&path), none).unwrap();
    let line = servers.arguments.join(" ");
    assert!(!line.contains("canary"), "{line}");
    for expected in [
        "mcp_servers.a.env.MODE=\"plain\"",
        "mcp_servers.c.http_headers.Accept=\"plain\"",
        "mcp_servers.c.env_http_headers.Authorization=\"PROCTOR_MCP_HEADER_1\"",
        "mcp_servers.d.env_http_headers.X-Api-Key=\"PROCTOR_MCP_HEADER_2\"",
    ] {
        assert!(line.contains(expected), "{expected}: {line}");
    }
    let handed_on = line.matches("\"A_TOKEN\"").count();
    assert_eq!(handed_on, 2, "{line}");
    assert_eq!(servers.env["A_TOKEN"], "canary-1");
    assert_eq!(servers.env["PROCTOR_MCP_HEADER_1"], "Bearer canary-2");

    let (_folder, path) = file(&text.replacen("canary-1", "canary-9", 1));
    let none = std::iter::empty::<&String>();
    let message = codex_servers(Some(&path), none).unwrap_err().to_string();
    assert!(message.contains("mcpServers.b.env.A_TOKEN"), "{message}");
}

#[test]
fn a_shell_scenario_switches_mcp_off() {
    let none = std::iter::empty::<&String>();
    assert_eq!(
        codex_servers(None, none).unwrap().arguments,
        ["-c", "features.apps=false", "-c", "mcp_servers={}"]
    );
    let folder = tempfile::tempdir().unwrap();
    let (arguments, file) = claude_arguments(None, folder.path()).unwrap();
    assert_eq!(arguments[..2], ["--strict-mcp-config", "--mcp-config"]);
    assert_eq!(Path::new(&arguments[2]), file);
    assert_eq!(fs::read_to_string(file).unwrap(), "{\"mcpServers\":{}}\n");
}

#[test]
fn claude_gets_the_scenarios_file_with_its_programs_marked() {
    let (folder, path) = file(FILE);
    let (_, copy) = claude_arguments(Some(&path), folder.path()).unwrap();
    let given: serde_json::Value = serde_json::from_str(FILE).unwrap();
    let mut copied: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(copy).unwrap()).unwrap();
    for name in ["XcodeBuildMCP-Dev", "off.one"] {
        let env = copied["mcpServers"][name]["env"].as_object_mut().unwrap();
        assert_eq!(env.remove("EVAL_MCP_PROCESS").unwrap(), "1");
    }
    copied["mcpServers"]["off.one"]
        .as_object_mut()
        .unwrap()
        .remove("env");
    assert_eq!(copied, given);
}

#[test]
fn a_malformed_file_is_named_with_its_problem() {
    let cases = [
        ("{", "EOF"),
        ("[]", "invalid"),
        ("{}", "mcpServers"),
        (
            r#"{"mcpServers": {"a": {"command": 1}}}"#,
            "mcpServers.a.command",
        ),
        (r#"{"mcpServers": {"a": {}}}"#, "needs either"),
        (
            r#"{"mcpServers": {"a": {"command": "x", "command": "y"}}}"#,
            "duplicate field",
        ),
    ];
    for (text, word) in cases {
        let (_folder, path) = file(text);
        let none = std::iter::empty::<&String>();
        let message = codex_servers(Some(&path), none).unwrap_err().to_string();
        assert!(
            message.contains("servers.json") && message.contains(word),
            "{text}: {message}"
        );
    }
    let message = claude_arguments(Some(Path::new("/nowhere/x.json")), Path::new("/tmp"))
        .unwrap_err()
        .to_string();
    assert!(message.contains("/nowhere/x.json"), "{message}");
}
