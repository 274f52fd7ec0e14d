//! Files that steer an agent, looked for without asking for each name where none of them can be.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::record::digest_of;

/// Files that steer agents, below the workspace.
pub(super) const WORKSPACE_FILES: [&str; 16] = [
    "CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "GEMINI.md",
    "QWEN.md",
    ".mcp.json",
    ".claude/CLAUDE.md",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".qwen/settings.json",
    ".github/copilot-instructions.md",
    "opencode.json",
    "opencode.jsonc",
];

/// The same below an agent's home; the folders of Codex and Claude Code may lie elsewhere.
pub(super) const HOME_FILES: [&str; 9] = [
    ".gitconfig",
    ".gemini/settings.json",
    ".gemini/GEMINI.md",
    ".qwen/settings.json",
    ".qwen/QWEN.md",
    ".config/opencode/opencode.json",
    ".config/opencode/AGENTS.md",
    ".copilot/mcp-config.json",
    ".copilot/copilot-instructions.md",
];

/// Settings of the machine, which hold for whoever starts an agent on it. A jail does not show them.
pub(super) const MACHINE_FILES: [&str; 17] = [
    "/etc/codex/config.toml",
    "/etc/codex/managed_config.toml",
    "/etc/codex/requirements.toml",
    "/etc/claude-code/managed-mcp.json",
    "/etc/claude-code/managed-settings.json",
    "/etc/gemini-cli/settings.json",
    "/etc/gemini-cli/system-defaults.json",
    "/etc/qwen-code/settings.json",
    "/etc/qwen-code/system-defaults.json",
    "/etc/opencode/opencode.json",
    "/etc/opencode/opencode.jsonc",
    "/Library/Application Support/ClaudeCode/managed-mcp.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
    "/Library/Application Support/GeminiCli/settings.json",
    "/Library/Application Support/QwenCode/settings.json",
    "/Library/Application Support/opencode/opencode.json",
    "/Library/Application Support/opencode/opencode.jsonc",
];

/// Files of opencode's settings to which its variables lead.
pub(super) const NAMED_FILES: [&str; 4] = [
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_DIR/opencode.json",
    "OPENCODE_CONFIG_DIR/opencode.jsonc",
    "OPENCODE_CONFIG_DIR/config.json",
];

pub(super) const CODEX_FILES: [&str; 3] = ["config.toml", "AGENTS.md", "AGENTS.override.md"];
pub(super) const CLAUDE_FILES: [&str; 3] = ["settings.json", "settings.local.json", "CLAUDE.md"];

/// No file of settings is larger.
pub(super) const MOST_BYTES: u64 = 4 << 20;

/// Instructions that agents read in a folder that they work in, and in those above it.
pub fn memories_of_folder() -> impl Iterator<Item = String> {
    WORKSPACE_FILES.iter().filter_map(|name| memory("", name))
}

/// Instructions that agents read in the home of whoever runs them.
pub fn memories_of_home() -> impl Iterator<Item = String> {
    let claude = CLAUDE_FILES
        .iter()
        .filter_map(|name| memory(".claude/", name));
    let codex = CODEX_FILES
        .iter()
        .filter_map(|name| memory(".codex/", name));
    let home = HOME_FILES.iter().filter_map(|name| memory("", name));
    claude.chain(codex).chain(home)
}

/// What is written for a model to read, not for a program.
fn memory(folder: &str, name: &str) -> Option<String> {
    let kind = Path::new(name).extension();
    kind.is_some_and(|kind| kind == "md")
        .then(|| format!("{folder}{name}"))
}

/// Device, inode, size, and time of change and of writing: as long as they stay, so does the content.
pub(super) type Stamp = [i128; 7];

/// So many names of a folder are listed; in one with more, each file is asked for.
const MOST_LISTED: usize = 64;
/// The same where it is remembered that nothing was found.
const MOST_REMEMBERED: usize = 256;

/// Folders in which nothing was found, as they were then: as long as they stay so, nothing is looked for in them again.
#[derive(Debug, Default)]
pub(super) struct Barren(HashMap<PathBuf, Stamp>);

impl Barren {
    /// Those of some files that are there, under their names.
    pub(super) fn files(
        &mut self,
        folder: &Path,
        prefix: &str,
        names: &[&str],
    ) -> Vec<(String, String)> {
        let Ok(about) = fs::metadata(folder) else {
            return Vec::new();
        };
        let now = stamp(&about);
        if self.0.get(folder) == Some(&now) {
            return Vec::new();
        }
        if !may_hold_of(folder, names, MOST_REMEMBERED) {
            self.0.insert(folder.to_owned(), now);
            return Vec::new();
        }
        self.0.remove(folder);
        each(folder, prefix, names)
    }
}

/// Those of some files that are there, under their names.
pub(super) fn files(folder: &Path, prefix: &str, names: &[&str]) -> Vec<(String, String)> {
    if may_hold(folder, names) {
        each(folder, prefix, names)
    } else {
        Vec::new()
    }
}

fn each(folder: &Path, prefix: &str, names: &[&str]) -> Vec<(String, String)> {
    let seen = |name: &&str| Some((format!("{prefix}{name}"), digest(&folder.join(name))?));
    names.iter().filter_map(seen).collect()
}

/// Whether one of these files may be there, letter case aside: it is, or its first folder is, or there is too much to look at.
pub(super) fn may_hold(folder: &Path, names: &[&str]) -> bool {
    may_hold_of(folder, names, MOST_LISTED)
}

/// The same of so many names.
fn may_hold_of(folder: &Path, names: &[&str], most: usize) -> bool {
    let first = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
    let heads: Vec<String> = names.iter().map(|name| first(name)).collect();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return error.kind() != io::ErrorKind::NotFound,
    };
    let mut listed = 0;
    for entry in entries {
        let Ok(entry) = entry else { return true };
        listed += 1;
        let name = entry.file_name();
        let is_head = heads.iter().any(|head| name.eq_ignore_ascii_case(head));
        if is_head || listed > most {
            return true;
        }
    }
    false
}

pub(super) fn digest(file: &Path) -> Option<String> {
    let about = fs::metadata(file).ok()?;
    (about.is_file() && about.len() <= MOST_BYTES)
        .then(|| digest_of(file).ok())
        .flatten()
}

pub(super) fn stamp(about: &Metadata) -> Stamp {
    [
        about.dev().into(),
        about.ino().into(),
        about.len().into(),
        about.ctime().into(),
        about.ctime_nsec().into(),
        about.mtime().into(),
        about.mtime_nsec().into(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["AGENTS.md", ".claude/settings.json"];

    #[test]
    fn what_comes_into_a_folder_that_held_nothing_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut barren = Barren::default();
        let found = |barren: &mut Barren| {
            let found = barren.files(folder.path(), "above:", &NAMES);
            found.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        fs::write(folder.path().join("README.md"), "").expect("write a file");
        assert_eq!(found(&mut barren), Vec::<String>::new());
        assert_eq!(found(&mut barren), Vec::<String>::new());
        fs::create_dir(folder.path().join(".claude")).expect("make a folder");
        assert_eq!(found(&mut barren), Vec::<String>::new());
        // This changes the inner folder alone.
        fs::write(folder.path().join(".claude/settings.json"), "{}").expect("write a file");
        fs::write(folder.path().join("AGENTS.md"), "x").expect("write a file");
        assert_eq!(
            found(&mut barren),
            ["above:AGENTS.md", "above:.claude/settings.json"]
        );
    }

    #[test]
    fn a_large_folder_is_listed_where_it_is_remembered_that_it_holds_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..MOST_REMEMBERED {
            fs::write(folder.path().join(number.to_string()), "").expect("write a file");
        }
        let mut barren = Barren::default();
        assert!(barren.files(folder.path(), "", &NAMES).is_empty());
        assert!(barren.0.contains_key(folder.path()));
        fs::write(folder.path().join("AGENTS.md"), "x").expect("write a file");
        assert_eq!(barren.files(folder.path(), "", &NAMES).len(), 1);
        assert!(!barren.0.contains_key(folder.path()));
    }

    #[test]
    fn memories_are_what_is_written_for_a_model_of_every_kind() {
        let home: Vec<String> = memories_of_home().collect();
        for file in [
            ".claude/CLAUDE.md",
            ".codex/AGENTS.override.md",
            ".copilot/copilot-instructions.md",
        ] {
            assert!(home.iter().any(|it| it == file), "{home:?}");
        }
        let mut all = home.into_iter().chain(memories_of_folder());
        assert!(all.all(|file| !file.contains("settings")));
    }

    #[test]
    fn a_folder_of_many_files_is_asked_for_each() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..=MOST_LISTED {
            fs::write(folder.path().join(number.to_string()), "").expect("write a file");
        }
        assert!(may_hold(folder.path(), &NAMES));
        fs::write(folder.path().join("AGENTS.md"), "x").expect("write a file");
        assert_eq!(files(folder.path(), "", &NAMES).len(), 1);
        assert!(!may_hold(&folder.path().join("none"), &NAMES));
    }
}
