//! Programs that an agent finds before the shims: their calls would be counted nowhere.

use std::path::Path;

use proctor_config::{AgentKind, AgentSpec};
use proctor_shims::WatchedTool;

/// What Copilot CLI (1.0.102) puts before whatever PATH its commands are given.
const OF_COPILOT: &str = "usr/local/sbin";

/// Watched programs below `root` that some agent finds before their shims, each a sentence.
pub(super) fn found(agents: &[AgentSpec], tools: &[WatchedTool], root: &Path) -> Vec<String> {
    let is_copilot = |agent: &&AgentSpec| agent.kind == AgentKind::Copilot;
    let Some(agent) = agents.iter().find(is_copilot) else {
        return Vec::new();
    };
    let programs = tools
        .iter()
        .map(|tool| root.join(OF_COPILOT).join(&tool.name));
    let told = programs.filter(|program| program.is_file()).map(|program| {
        format!(
            "agent {}: Copilot CLI looks in that folder before PATH, so that calls of {} are counted nowhere; move it away while you measure",
            agent.id,
            program.display()
        )
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::runner::samples;

    fn agents(folder: &Path, kind: &str) -> Vec<AgentSpec> {
        let config = format!(
            "project: {{repo_path: .}}\nagents:\n  - {{id: it, kind: {kind}, command: [it, '{{PROMPT}}']}}\n"
        );
        samples::suite(folder, &config).agents
    }

    #[test]
    fn a_program_that_copilot_finds_before_its_shim_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let tools = ["xcodebuild", "xcrun"].map(|name| WatchedTool {
            name: name.to_owned(),
            real: None,
        });
        let copilot = agents(root, "copilot_cli");
        assert_eq!(found(&copilot, &tools, root), [""; 0]);
        fs::create_dir_all(root.join(OF_COPILOT)).expect("make a folder");
        let program = root.join(OF_COPILOT).join("xcrun");
        fs::write(&program, "").expect("write a program");
        let told = found(&copilot, &tools, root);
        let named = format!("calls of {} are counted nowhere", program.display());
        assert!(told.len() == 1 && told[0].contains(&named), "{told:?}");
        assert_eq!(found(&agents(root, "codex_cli"), &tools, root), [""; 0]);
    }
}
