//! What the two files of a suite ask, value by value, and the files that they name: what two starts of a run can be
//! compared by.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::config::node::Node;
use crate::config::{GraderSpec, Suite, TaskSpec};

/// Folder beside the config that tasks' assets are kept in, by custom.
const ASSETS: &str = "task_assets";

/// A suite as it was asked for, before any filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// The values of the config file as JSON, by their keys: `suite.timeout_sec`, `agents.codex.command`.
    pub config: BTreeMap<String, String>,
    /// The same of the tasks file: `fix_amounts.prompt`, `fix_amounts.graders[0].argv`.
    pub tasks: BTreeMap<String, String>,
    /// Files and folders that decide what is asked, absolute: assets, patches, references, recordings, graders.
    pub files: BTreeSet<PathBuf>,
    /// Reference patches of all tasks.
    pub solutions: BTreeSet<PathBuf>,
    /// What `grader_files` of all tasks name.
    pub laid: BTreeSet<PathBuf>,
}

/// The values below `node`, comments and layout aside.
pub(super) fn values(node: &Node) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    put(&mut values, String::new(), node);
    values
}

fn put(values: &mut BTreeMap<String, String>, key: String, node: &Node) {
    let below = |name: &str| match key.as_str() {
        "" => name.to_owned(),
        key => format!("{key}.{name}"),
    };
    match (node.map(), node.list()) {
        (Some(entries), _) if !entries.is_empty() => {
            for entry in entries {
                put(values, below(&entry.key), &entry.value);
            }
        }
        (_, Some(items)) if items.iter().any(|item| item.map().is_some()) => {
            for (index, item) in items.iter().enumerate() {
                let named = item.get("id").and_then(Node::word).map(below);
                put(
                    values,
                    named.unwrap_or_else(|| format!("{key}[{index}]")),
                    item,
                );
            }
        }
        _ => {
            values.insert(key, node.to_json().to_string());
        }
    }
}

/// The files that a whole suite names.
pub(super) fn files(suite: &Suite) -> BTreeSet<PathBuf> {
    let agents = suite.agents.iter().filter_map(|agent| {
        let replay = agent.replay.as_ref()?;
        Some(replay.cassettes.clone())
    });
    let scenarios = suite.scenarios.iter().chain(&suite.further_scenarios);
    let laid = scenarios.clone().flat_map(|scenario| &scenario.files);
    let mcp = scenarios.filter_map(|scenario| scenario.mcp_config.clone());
    let tasks = suite
        .tasks
        .iter()
        .flat_map(|task| of_task(task, &suite.config_dir));
    let mut files: BTreeSet<PathBuf> = agents
        .chain(laid.map(|(from, _)| from.clone()))
        .chain(mcp)
        .chain(tasks)
        .collect();
    files.insert(suite.config_dir.join(ASSETS));
    files.retain(|path| path.exists());
    files
}

fn of_task(task: &TaskSpec, suite_root: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = task.reference_patch.iter().cloned().collect();
    files.extend(task.grader_files.iter().map(|(from, _)| from.clone()));
    let mut words: Vec<&String> = task.setup_commands.iter().flatten().collect();
    for grader in &task.graders {
        match grader {
            GraderSpec::ScreenshotCompare { reference_path, .. } => {
                files.push(reference_path.clone());
            }
            GraderSpec::Command { argv, .. } => words.extend(argv),
            _ => {}
        }
    }
    files.extend(
        words
            .into_iter()
            .filter_map(|word| named(word, suite_root))
            .filter(|path| path.is_file()),
    );
    files
}

/// The file that a word of a command names, if it is a path that does not depend on the workspace.
fn named(word: &str, suite_root: &Path) -> Option<PathBuf> {
    const ROOTS: [&str; 3] = [
        "${EVAL_SUITE_ROOT}/",
        "$EVAL_SUITE_ROOT/",
        "{EVAL_SUITE_ROOT}/",
    ];
    let inside = ROOTS.iter().find_map(|root| word.strip_prefix(root));
    match inside {
        Some(inside) => Some(suite_root.join(inside)),
        None => Path::new(word).is_absolute().then(|| PathBuf::from(word)),
    }
}
