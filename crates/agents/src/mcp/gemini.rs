//! Settings of Gemini CLI that take tools of MCP servers away.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::home::OperatorHome;
use crate::jsonc::plain_json;
use crate::mcp::taken::Rule;

/// Its own tools, by all their names: any other name in its lists can be that of an MCP server's tool, which it takes without
/// the server's name, too.
const OWN_TOOLS: &[&str] = &[
    "activate_skill",
    "ask_user",
    "cli_help",
    "codebase_investigator",
    "complete_task",
    "delegate_to_agent",
    "enter_plan_mode",
    "exit_plan_mode",
    "generalist",
    "get_internal_docs",
    "glob",
    "google_web_search",
    "grep_search",
    "invoke_agent",
    "list_background_processes",
    "list_directory",
    "list_mcp_resources",
    "read_background_output",
    "read_file",
    "read_many_files",
    "read_mcp_resource",
    "replace",
    "run_shell_command",
    "save_memory",
    "search_file_content",
    "tracker_add_dependency",
    "tracker_create_task",
    "tracker_get_task",
    "tracker_list_tasks",
    "tracker_update_task",
    "tracker_visualize",
    "update_topic",
    "web_fetch",
    "write_file",
    "write_todos",
    // The same by their classes.
    "ActivateSkillTool",
    "AgentTool",
    "AskUserTool",
    "EditTool",
    "EnterPlanModeTool",
    "ExitPlanModeTool",
    "GlobTool",
    "GrepTool",
    "LSTool",
    "ListBackgroundProcessesTool",
    "ListMcpResourcesTool",
    "MemoryTool",
    "ReadBackgroundOutputTool",
    "ReadFileTool",
    "ReadManyFilesTool",
    "ReadMcpResourceTool",
    "RipGrepTool",
    "ShellTool",
    "SmartEditTool",
    "UpdateTopicTool",
    "WebFetchTool",
    "WebSearchTool",
    "WriteFileTool",
    "WriteTodosTool",
];

/// The operator's settings, which are copied, and the project's.
pub(super) fn gemini_files(home: &OperatorHome, workdir: &Path) -> Vec<PathBuf> {
    let folders = home.gemini.iter().cloned();
    let folders = folders.chain([workdir.join(".gemini")]);
    let files = folders.map(|folder| folder.join("settings.json"));
    files.filter(|file| file.is_file()).collect()
}

/// What a file allows alone and what it excludes, which counts more, by the keys of today and the ones before.
pub(super) fn gemini_rules(file: &Path) -> Vec<Rule> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let settings: Value = serde_json::from_str(&plain_json(&text)).unwrap_or_default();
    let tools = &settings["tools"];
    let mut rules = Vec::new();
    for (key, list) in [
        ("tools.core", &tools["core"]),
        ("coreTools", &settings["coreTools"]),
    ] {
        if list.is_array() {
            rules.push((key.to_owned(), "*".to_owned(), true));
        }
        for name in names(list).filter(|name| is_of_servers(name)) {
            rules.push((key.to_owned(), name.to_owned(), false));
        }
    }
    for (key, list) in [
        ("tools.exclude", &tools["exclude"]),
        ("excludeTools", &settings["excludeTools"]),
    ] {
        for name in names(list).filter(|name| !is_own(name)) {
            let pattern = if name.starts_with("mcp_") { name } else { "*" };
            rules.push((format!("{key} ({name})"), pattern.to_owned(), true));
        }
    }
    rules
}

fn names(list: &Value) -> impl Iterator<Item = &str> {
    let names = list.as_array().into_iter().flatten();
    names.filter_map(Value::as_str)
}

/// Whether this is one of its own tools; it may be limited to some arguments, as `run_shell_command(git)`.
fn is_own(name: &str) -> bool {
    let tool = name.split('(').next().unwrap_or_default();
    OWN_TOOLS.contains(&tool) || tool.starts_with("discovered_tool_")
}

/// Whether it reads this as all tools of a server or of all: it knows `*` nowhere else.
fn is_of_servers(pattern: &str) -> bool {
    ["*", "mcp_*"].contains(&pattern) || (pattern.starts_with("mcp_") && pattern.ends_with("_*"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::taken::taking;

    #[test]
    fn a_gemini_that_is_allowed_few_tools_or_loses_one_by_its_bare_name_loses_those_of_servers() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        for (tools, expected) in [
            (
                r#"{"exclude":["web_fetch","echo"]}"#,
                Some("tools.exclude (echo)"),
            ),
            (
                r#"{"exclude":["DiscoveredMCPTool"]}"#,
                Some("tools.exclude (DiscoveredMCPTool)"),
            ),
            (
                r#"{"exclude":["mcp_lab_echo"]}"#,
                Some("tools.exclude (mcp_lab_echo)"),
            ),
            (
                r#"{"exclude":["web_fetch","delegate_to_agent","ShellTool(rm)","mcp_other_echo"]}"#,
                None,
            ),
            (r#"{"core":["run_shell_command"]}"#, Some("tools.core")),
            (r#"{"core":[]}"#, Some("tools.core")),
            (r#"{"core":["mcp_lab_echo"]}"#, Some("tools.core")),
            // A star that stands elsewhere is none to it.
            (r#"{"core":["mcp_l*"]}"#, Some("tools.core")),
            (r#"{"core":["run_shell_command","mcp_lab_*"]}"#, None),
            (r#"{"core":["mcp_*"]}"#, None),
            (
                r#"{"core":["*"],"exclude":["echo"]}"#,
                Some("tools.exclude (echo)"),
            ),
        ] {
            fs::write(&file, format!("{{\"tools\":{tools}}}")).unwrap();
            assert_eq!(
                taking(&gemini_rules(&file), "mcp_lab_"),
                expected,
                "{tools}"
            );
        }
    }
}
