//! Memories that reach agents from outside of a suite: told before the first agent, since no setting shows them.

use std::fs;
use std::path::Path;

use crate::trial::RunContext;
use proctor_agents::steering::{memories_of_folder, memories_of_home};
use proctor_config::AgentKind;
use proctor_model::Isolation;

/// What of the operator's memories agents will read, each a sentence.
pub(super) fn reached(context: &RunContext) -> Vec<String> {
    let mut told = Vec::new();
    // A jail does not show the folders that a workspace lies in.
    if context.confinement.level != Isolation::Jail {
        for folder in context.scratch.ancestors().skip(1) {
            let files = there(folder, memories_of_folder()).into_iter();
            told.extend(files.map(|file| {
                let path = folder.join(file);
                format!(
                    "{} lies above the workspaces, where agents look for instructions: it is part of what is measured",
                    path.display()
                )
            }));
        }
    }
    if context.suite.settings.clean_agent_env {
        return told;
    }
    let home = context.base_env.iter().find(|(name, _)| name == "HOME");
    let read = home.map(|(_, home)| there(Path::new(home), memories_of_home()));
    if context.confinement.level != Isolation::Jail {
        told.extend(home.and_then(|(_, home)| tools_of_opencode(context, Path::new(home))));
    }
    if let Some(read) = read.filter(|read| !read.is_empty()) {
        told.push(format!(
            "agents read what your home holds of {}: it is part of what is measured (`suite.clean_agent_env: true` keeps it from them)",
            read.join(", ")
        ));
    }
    told
}

/// Tools that opencode takes from the operator's home: nothing switches them off.
fn tools_of_opencode(context: &RunContext, home: &Path) -> Option<String> {
    const FOLDERS: [&str; 4] = [
        ".config/opencode/tool",
        ".config/opencode/tools",
        ".opencode/tool",
        ".opencode/tools",
    ];
    let mut agents = context.suite.agents.iter();
    agents.find(|agent| agent.kind == AgentKind::Opencode)?;
    let is_full = |folder: &&str| {
        let entries = fs::read_dir(home.join(folder));
        entries.is_ok_and(|mut entries| entries.next().is_some())
    };
    let full: Vec<&str> = FOLDERS.into_iter().filter(is_full).collect();
    (!full.is_empty()).then(|| {
        format!(
            "opencode offers its model the tools that your home holds in {}: they are part of what is measured (`suite.clean_agent_env: true` keeps them from it)",
            full.join(", ")
        )
    })
}

fn there(folder: &Path, files: impl Iterator<Item = String>) -> Vec<String> {
    files.filter(|file| folder.join(file).is_file()).collect()
}
