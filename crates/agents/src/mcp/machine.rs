//! Settings of the machine, which hold for whoever starts an agent on it: what of their MCP servers can be switched off, and
//! which files cannot.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::jsonc::plain_json;
use crate::mcp::server_names;
use proctor_config::AgentKind;

/// Files of settings of an agent, from the root of the machine on.
#[must_use]
pub const fn machine_settings(kind: AgentKind) -> &'static [&'static str] {
    match kind {
        AgentKind::Codex => &[
            "etc/codex/config.toml",
            "etc/codex/managed_config.toml",
            "etc/codex/requirements.toml",
        ],
        AgentKind::ClaudeCode => &[
            "etc/claude-code/managed-mcp.json",
            "etc/claude-code/managed-settings.json",
            "Library/Application Support/ClaudeCode/managed-mcp.json",
            "Library/Application Support/ClaudeCode/managed-settings.json",
        ],
        AgentKind::Gemini => &[
            "etc/gemini-cli/settings.json",
            "etc/gemini-cli/system-defaults.json",
            "Library/Application Support/GeminiCli/settings.json",
            "Library/Application Support/GeminiCli/system-defaults.json",
        ],
        AgentKind::Qwen => &[
            "etc/qwen-code/settings.json",
            "etc/qwen-code/system-defaults.json",
            "Library/Application Support/QwenCode/settings.json",
            "Library/Application Support/QwenCode/system-defaults.json",
        ],
        AgentKind::Opencode => &[
            "etc/opencode/opencode.json",
            "etc/opencode/opencode.jsonc",
            "Library/Application Support/opencode/opencode.json",
            "Library/Application Support/opencode/opencode.jsonc",
        ],
        AgentKind::Copilot | AgentKind::Command | AgentKind::Replay => &[],
    }
}

/// What settings of the machine do to the servers of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MachineServers {
    /// Servers that can be switched off, by their names.
    pub(crate) off: BTreeSet<String>,
    /// Files whose servers cannot, each with why.
    pub staying: Vec<(PathBuf, String)>,
}

/// What the settings below `root` do to an agent of this kind that is given the servers of `config`. What of them stays is for
/// the caller to keep from the agent: names in such a file are not switched off.
#[must_use]
pub fn machine_servers(kind: AgentKind, config: Option<&Path>, root: &Path) -> MachineServers {
    let mut found = MachineServers::default();
    let given = config.map(server_names).unwrap_or_default();
    for name in machine_settings(kind) {
        let file = root.join(name);
        if !file.is_file() {
            continue;
        }
        match staying((kind, name), &file, &given) {
            Ok(off) => found.off.extend(off),
            Err(why) => found.staying.push((file, why)),
        }
    }
    found
}

/// The servers of a file, all of which can be switched off.
///
/// # Errors
/// Why one cannot.
fn staying(
    (kind, name): (AgentKind, &str),
    file: &Path,
    given: &[String],
) -> Result<Vec<String>, String> {
    let (key, stands_above) = match kind {
        // Its command line stands above the one file and below the other.
        AgentKind::Codex if name.ends_with("config.toml") => {
            ("mcp_servers", name.ends_with("managed_config.toml"))
        }
        AgentKind::Opencode => ("mcp", true),
        // It stands above the trial's settings, but names that are not allowed do not start; defaults stand below, and Qwen Code's
        // `--mcp-config` above all.
        AgentKind::Gemini if name.ends_with("/settings.json") => ("mcpServers", false),
        AgentKind::ClaudeCode if name.ends_with("managed-mcp.json") => {
            return Err(
                "with this file Claude Code takes no other servers, and refuses --strict-mcp-config"
                    .to_owned(),
            );
        }
        _ => return Ok(Vec::new()),
    };
    let servers = servers(file, key);
    for (name, enabled) in &servers {
        if given.contains(name) {
            return Err(format!(
                "{key}.{name} has the name of a server of the scenario, and the agent would take it instead or make one of both"
            ));
        }
        if stands_above && *enabled == Some(true) {
            return Err(format!(
                "{key}.{name}.enabled is true, which stands above whatever a run says"
            ));
        }
    }
    Ok(servers.into_keys().collect())
}

/// The servers below this key, and whether it is said of them that they are on; none in what cannot be read, which the agent
/// cannot read either.
fn servers(file: &Path, key: &str) -> BTreeMap<String, Option<bool>> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let is_toml = file.extension().is_some_and(|ending| ending == "toml");
    let settings: Value = if is_toml {
        toml::from_str(&text).unwrap_or_default()
    } else {
        serde_json::from_str(&plain_json(&text)).unwrap_or_default()
    };
    let servers = settings.get(key).and_then(Value::as_object);
    let pair = |(name, entry): (&String, &Value)| (name.clone(), entry["enabled"].as_bool());
    servers.into_iter().flatten().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let file = root.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        root
    }

    #[test]
    fn servers_of_the_machine_are_known_by_name_unless_they_cannot_be_switched_off() {
        let system = "etc/codex/config.toml";
        let managed = "etc/codex/managed_config.toml";
        let code = "etc/opencode/opencode.json";
        let claude = "etc/claude-code/managed-mcp.json";
        let one = "[mcp_servers.one]\ncommand = \"x\"\n";
        let on = "[mcp_servers.one]\ncommand = \"x\"\nenabled = true\n";
        let lab = "mcp_servers.lab.command = \"x\"\n";
        let gemini = "Library/Application Support/GeminiCli/settings.json";
        let defaults = "etc/gemini-cli/system-defaults.json";
        let other = r#"{"mcpServers":{"other":{"command":"x"}}}"#;
        let same = r#"{"mcpServers":{"lab":{"command":"x"}}}"#;
        let (codex, opencode) = (AgentKind::Codex, AgentKind::Opencode);
        for (kind, name, text, off, stays) in [
            (codex, system, one, &["one"][..], ""),
            (codex, system, on, &["one"], ""),
            (codex, managed, one, &["one"], ""),
            (codex, managed, on, &[], "mcp_servers.one.enabled is true"),
            (codex, system, lab, &[], "mcp_servers.lab has the name"),
            (codex, system, "model = [", &[], ""),
            (
                opencode,
                code,
                r#"{"mcp":{"a":{"type":"local"},},} // x"#,
                &["a"],
                "",
            ),
            (
                opencode,
                code,
                r#"{"mcp":{"a":{"enabled":true}}}"#,
                &[],
                "mcp.a.enabled is true",
            ),
            (
                AgentKind::ClaudeCode,
                claude,
                r#"{"mcpServers":{}}"#,
                &[],
                "takes no other servers",
            ),
            (AgentKind::Gemini, claude, "{}", &[], ""),
            (AgentKind::Gemini, gemini, other, &["other"], ""),
            (
                AgentKind::Gemini,
                gemini,
                same,
                &[],
                "mcpServers.lab has the name",
            ),
            (AgentKind::Gemini, defaults, same, &[], ""),
            (
                AgentKind::Qwen,
                "etc/qwen-code/settings.json",
                same,
                &[],
                "",
            ),
        ] {
            let root = machine(&[
                (name, text),
                ("lab.json", r#"{"mcpServers":{"lab":{"command":"x"}}}"#),
            ]);
            let lab = root.path().join("lab.json");
            let found = machine_servers(kind, Some(&lab), root.path());
            let names: Vec<&str> = found.off.iter().map(String::as_str).collect();
            assert_eq!(names, off, "{name}: {text}");
            let mut why = found
                .staying
                .iter()
                .map(|(file, why)| (file.clone(), why.as_str()));
            match why.next() {
                Some((file, why)) => assert!(
                    file == root.path().join(name) && why.contains(stays) && !stays.is_empty(),
                    "{name}: {why}"
                ),
                None => assert_eq!(stays, "", "{name}: {text}"),
            }
        }
    }
}
