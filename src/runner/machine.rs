//! MCP servers that would be there although nobody asked for them, or not as they are asked for: known before anything starts.

use std::path::Path;

use crate::agents::{
    OperatorHome, machine_servers, opencode_merges, servers_with_folder, tools_taken,
};
use crate::config::{AgentKind, AgentSpec, ProjectSource, ScenarioSpec, Suite};
use crate::model::Isolation;
use crate::runner::RunError;

/// Looks at the settings of the machine below `root`, as an agent at this level meets them.
///
/// # Errors
/// Which file or entry is in the way, and what to do.
pub(super) fn servers(suite: &Suite, level: Isolation, root: &Path) -> Result<(), RunError> {
    let mut problems = Vec::new();
    for agent in suite.agents.iter().filter(|agent| takes_servers(agent)) {
        for scenario in &suite.scenarios {
            let found = match level {
                Isolation::None => staying(agent, scenario, root),
                Isolation::External => folders(agent, scenario),
                // A jail does not show such files, and a go-between keeps to such folders.
                Isolation::Jail => Vec::new(),
            };
            problems.extend(found);
        }
    }
    refused(problems)
}

/// Looks at the settings of opencode and Gemini CLI in the home of `operator`, in the project as it lies there now, and where
/// variables lead: a trial looks again, at the project as it was copied.
///
/// # Errors
/// Which key of which file would be in a scenario's server or takes its tools away, and what to do.
pub(super) fn interfering(suite: &Suite, operator: &OperatorHome) -> Result<(), RunError> {
    let (ProjectSource::Repository(project) | ProjectSource::Template(project)) =
        &suite.project.source;
    let agents = suite.agents.iter().filter(|agent| takes_servers(agent));
    let problems = agents.flat_map(|agent| {
        suite.scenarios.iter().filter_map(move |scenario| {
            let whose = (agent, scenario, &suite.settings);
            let merged = match agent.kind {
                AgentKind::Opencode => opencode_merges(whose, operator, project),
                _ => Ok(()),
            };
            let taken = || tools_taken(whose, operator, project);
            let refused = merged.and_then(|()| taken()).err()?;
            Some(format!("agent {}: {refused}", agent.id))
        })
    });
    refused(problems.collect())
}

fn takes_servers(agent: &AgentSpec) -> bool {
    agent.command.iter().any(|word| word == "{EXTRA_ARGS}")
}

fn refused(mut problems: Vec<String>) -> Result<(), RunError> {
    problems.dedup();
    if problems.is_empty() {
        Ok(())
    } else {
        Err(RunError::Missing(problems))
    }
}

fn staying(agent: &AgentSpec, scenario: &ScenarioSpec, root: &Path) -> Vec<String> {
    let found = machine_servers(agent.kind, scenario.mcp_config.as_deref(), root);
    let staying = found.staying.into_iter();
    let told = staying.map(|(file, why)| {
        format!(
            "agent {}: MCP servers of {} cannot be switched off: {why}; take them out while you measure, or run in a jail, which does not show the file (isolation: jail)",
            agent.id,
            file.display()
        )
    });
    told.collect()
}

/// Behind a wrapper no go-between stands before servers, and only some agents know `cwd`.
fn folders(agent: &AgentSpec, scenario: &ScenarioSpec) -> Vec<String> {
    let knows = !matches!(agent.kind, AgentKind::ClaudeCode | AgentKind::Opencode);
    let Some(file) = scenario.mcp_config.as_deref().filter(|_| !knows) else {
        return Vec::new();
    };
    let named = servers_with_folder(file).into_iter();
    let told = named.map(|name| {
        format!(
            "agent {}: {}: mcpServers.{name}.cwd: this agent does not know it, and at level external proctor does not start servers; leave it out, and let `command` change to the folder (sh -c 'cd DIR && exec ...')",
            agent.id,
            file.display()
        )
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::runner::samples;

    /// A suite with an agent of this kind and a scenario with a server.
    fn suite(folder: &Path, kind: &str, words: &str) -> Suite {
        let config = format!(
            "suite: {{scenarios: [lab]}}\nproject: {{repo_path: .}}\nagents:\n  - {{id: it, kind: {kind}, command: [it, {words}'{{PROMPT}}']}}\nscenarios:\n  - {{id: lab, mcp_config: lab.json}}\n"
        );
        let lab = r#"{"mcpServers":{"lab":{"command":"x","cwd":"sub"}}}"#;
        fs::write(folder.join("lab.json"), lab).expect("write the servers");
        samples::suite(folder, &config)
    }

    fn told(suite: &Suite, level: Isolation, root: &Path) -> String {
        servers(suite, level, root).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn a_file_of_the_machine_whose_servers_stay_is_refused_where_no_jail_hides_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let file = root.join("etc/claude-code/managed-mcp.json");
        fs::create_dir_all(file.parent().expect("its folder")).expect("make it");
        fs::write(&file, "{}").expect("write it");
        let claude = suite(root, "claude_code_cli", "'{EXTRA_ARGS}', ");
        let refused = told(&claude, Isolation::None, root);
        let expected = format!("agent it: MCP servers of {}", file.display());
        assert!(
            refused.contains(&expected) && refused.contains("isolation: jail"),
            "{refused}"
        );
        assert_eq!(told(&claude, Isolation::Jail, root), "");
        let codex = suite(root, "codex_cli", "'{EXTRA_ARGS}', ");
        assert_eq!(told(&codex, Isolation::None, root), "");
        let gemini = suite(root, "gemini_cli", "'{EXTRA_ARGS}', ");
        assert_eq!(told(&gemini, Isolation::None, root), "");
        let file = root.join("etc/gemini-cli/settings.json");
        fs::create_dir_all(file.parent().expect("its folder")).expect("make it");
        fs::write(&file, r#"{"mcpServers":{"lab":{"command":"y"}}}"#).expect("write it");
        let refused = told(&gemini, Isolation::None, root);
        assert!(refused.contains("mcpServers.lab has the name"), "{refused}");
        // Whoever takes no arguments has nothing switched off, and is warned of.
        let bare = suite(root, "claude_code_cli", "");
        assert_eq!(told(&bare, Isolation::None, root), "");
    }

    #[test]
    fn a_server_of_the_project_that_opencode_would_put_into_the_scenarios_is_refused_before_the_run()
     {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let theirs = r#"{"mcp":{"lab":{"environment":{"MINE":"1"}}}}"#;
        fs::write(root.join("opencode.json"), theirs).expect("write it");
        let nobody = OperatorHome::default();
        for (kind, words, expected) in [
            ("opencode", "'{EXTRA_ARGS}', ", "agent it: "),
            ("opencode", "", ""),
            ("codex_cli", "'{EXTRA_ARGS}', ", ""),
        ] {
            let refused = interfering(&suite(root, kind, words), &nobody);
            let refused = refused.map_or_else(|error| error.to_string(), |()| String::new());
            assert!(refused.contains(expected), "{kind}: {refused}");
            assert_eq!(refused.is_empty(), expected.is_empty(), "{kind}: {refused}");
            let key = "opencode.json: mcp.lab.environment.MINE";
            assert!(refused.is_empty() || refused.contains(key), "{refused}");
        }
    }

    #[test]
    fn a_login_to_an_organisation_and_settings_that_take_tools_are_refused_before_the_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let login = r#"{"https://org.invalid":{"type":"wellknown","key":"T","token":"t"}}"#;
        fs::write(root.join("auth.json"), login).expect("write it");
        let excludes = r#"{"tools":{"exclude":["mcp_lab_echo"]}}"#;
        fs::create_dir(root.join(".gemini")).expect("make it");
        fs::write(root.join(".gemini/settings.json"), excludes).expect("write it");
        let operator = OperatorHome {
            opencode: Some(root.to_owned()),
            ..OperatorHome::default()
        };
        for (kind, expected) in [
            ("opencode", "auth.json: https://org.invalid: "),
            ("gemini_cli", "settings.json: tools.exclude (mcp_lab_echo)"),
            ("codex_cli", ""),
        ] {
            let refused = interfering(&suite(root, kind, "'{EXTRA_ARGS}', "), &operator);
            let refused = refused.map_or_else(|error| error.to_string(), |()| String::new());
            assert!(refused.contains(expected), "{kind}: {refused}");
            assert_eq!(refused.is_empty(), expected.is_empty(), "{kind}: {refused}");
        }
    }

    #[test]
    fn a_folder_of_a_server_that_nobody_would_keep_to_is_refused_behind_a_wrapper() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for (kind, expected) in [
            ("claude_code_cli", "lab.json: mcpServers.lab.cwd"),
            ("opencode", "lab.json: mcpServers.lab.cwd"),
            ("codex_cli", ""),
        ] {
            let suite = suite(root, kind, "'{EXTRA_ARGS}', ");
            let refused = told(&suite, Isolation::External, root);
            assert!(refused.contains(expected), "{kind}: {refused}");
            assert_eq!(refused.is_empty(), expected.is_empty(), "{kind}: {refused}");
            assert_eq!(told(&suite, Isolation::Jail, root), "");
        }
    }
}
