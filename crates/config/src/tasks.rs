//! `tasks:` as they are read, with their graders and their digests.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use crate::at::At;
use crate::graders::{Grader, graders};
use crate::layers::{self, Expect};
use crate::node::Node;
use crate::scenarios::{LaidFile, laid_files};
use crate::{GraderSpec, TaskKind, TaskSpec};
use proctor_model::host::HostRule;
use proctor_model::vocabulary::{AnyPath, Command, Filled, Glob, Host, Id, Listed};
use proctor_model::{Network, TaskId};

/// The tasks of a suite.
#[derive(Deserialize, JsonSchema)]
pub(super) struct TasksFile {
    /// The tasks, one entry each.
    #[schemars(length(min = 1))]
    pub(super) tasks: Listed<TaskKeys>,
}

/// A task.
#[derive(Deserialize, JsonSchema)]
pub(super) struct TaskKeys {
    /// Name in rows, reports and folders. Must be unique, ignoring case.
    #[schemars(with = "Id")]
    id: TaskId,
    /// Shown in reports.
    #[serde(default)]
    description: String,
    /// What the agent is asked to do.
    #[schemars(with = "Filled")]
    prompt: String,
    /// What the task is for.
    #[schemars(extend("default" = "capability"))]
    kind: TaskKind,
    /// Commands to run in the workspace before the agent starts.
    #[serde(default)]
    #[schemars(with = "Vec<Command>")]
    setup_commands: Vec<Vec<String>>,
    /// Graders of the result, in order; the first that fails ends grading. Each is a type, or a mapping with `type` and
    /// options.
    #[serde(default)]
    graders: Listed<Grader>,
    /// Checks of answer, tool path and cost, which run after `graders`. Keys of `suite.defaults` that are not set here
    /// apply too; a section that is null removes them.
    #[serde(rename = "expect")]
    #[schemars(with = "Option<Expect>")]
    _expect: Option<IgnoredAny>,
    /// Graders that run after all others passed, with cases that the agent cannot know. The report counts the trials that
    /// pass the others and fail these.
    #[serde(default)]
    held_out_graders: Listed<Grader>,
    /// Whether the task has no honest solution. A trial that passes anyway raises an alarm.
    #[serde(default)]
    impossible: bool,
    /// Network access of agents; replaces `suite.network`.
    network: Option<Network>,
    /// Hosts that agents may reach besides those of `suite.hosts`.
    #[serde(default)]
    #[schemars(with = "Vec<Host>")]
    hosts: Vec<HostRule>,
    /// Path patterns of changes that are graded although git ignores them, or although they are caches.
    #[serde(default)]
    #[schemars(with = "Vec<Glob>")]
    carry: Vec<String>,
    /// Path patterns that are restored before graders run; changing such a file breaks a rule. New files there are not
    /// graded, unless every grader has a twin. Paths in `forbidden_globs` are always protected. By default the
    /// configuration of test runners, such as `conftest.py`, `jest.config.js` or `build.rs`; `[]` for none.
    #[schemars(with = "Option<Vec<Glob>>")]
    protected: Option<Vec<String>>,
    /// Path patterns of the only changes that are graded. Other changes are listed, but not graded. By default all
    /// changes are graded.
    #[schemars(with = "Option<Vec<Glob>>", length(min = 1))]
    allowed_changes: Option<Vec<String>>,
    /// Files or folders for graders alone, such as hidden tests. No agent sees them.
    #[serde(default)]
    grader_files: Listed<LaidFile>,
    /// Unified diff that solves the task. `--validate-tasks` checks that it passes.
    #[schemars(with = "Option<AnyPath>")]
    reference_patch: Option<PathBuf>,
    /// Unified diffs of other correct solutions, which validation checks too.
    #[serde(default)]
    #[schemars(with = "Vec<AnyPath>")]
    alternatives: Vec<PathBuf>,
}

/// One of `tasks:`, under which `suite.defaults` lies.
pub(super) fn task(keys: TaskKeys, at: &At<'_>, defaults: Option<&Node>) -> TaskSpec {
    let reference_patch = keys.reference_patch.as_ref();
    let reference_patch = reference_patch.map(|path| at.key("reference_patch").file(path));
    let written = at.key("alternatives");
    let alternatives = keys.alternatives.iter().zip(written.items());
    let alternatives: Vec<PathBuf> = alternatives.map(|(path, item)| item.found(path)).collect();
    let grader_files = laid_files(&keys.grader_files, &at.key("grader_files"));
    let mut all = graders(keys.graders, &at.key("graders"), &grader_files);
    let expect = at.key("expect");
    let expected = layers::expected(&expect, defaults);
    all.extend(expected.into_iter().map(|spec| (spec, false)));
    let held_out = at.key("held_out_graders");
    let held_out = graders(keys.held_out_graders, &held_out, &grader_files);
    let held_out_count = held_out.len();
    all.extend(held_out);
    let sharing = all.iter().enumerate();
    let sharing = sharing.filter(|(_, (_, shares))| *shares);
    let sharing = sharing.map(|(place, _)| place).collect();
    let graders: Vec<GraderSpec> = all.into_iter().map(|(spec, _)| spec).collect();
    if keys.impossible && reference_patch.is_some() {
        at.key("impossible")
            .error("contradicts reference_patch")
            .hint("an impossible task has no solution: leave one of the two out");
    }
    if keys.id.as_str() == "baseline" {
        let message = "the id \"baseline\" is kept for baseline runs";
        at.key("id").error(message);
    }
    let named = reference_patch.iter().chain(&alternatives).cloned();
    let named = named.chain(references(&graders));
    let laid = grader_files.iter().map(|(from, _)| from.clone());
    TaskSpec {
        digest: digest(at.node().into_iter().chain(defaults), named.chain(laid)),
        id: keys.id,
        description: keys.description,
        prompt: keys.prompt,
        kind: keys.kind,
        setup_commands: keys.setup_commands,
        carry: keys.carry,
        protected: keys.protected,
        allowed_changes: keys.allowed_changes,
        grader_files,
        graders,
        held_out: held_out_count,
        sharing,
        impossible: keys.impossible,
        network: keys.network,
        hosts: keys.hosts,
        reference_patch,
        alternatives,
    }
}

/// Says so where nothing judges a task; one that cannot be read may have what its other keys ask for.
pub(super) fn warn_of_no_graders(at: &At<'_>, task: Option<&TaskSpec>) {
    let is_written = |key: &str| at.key(key).node().is_some();
    let is_judged = task.map_or_else(
        || ["held_out_graders", "expect"].into_iter().any(is_written),
        |task| !task.graders.is_empty(),
    );
    let graders = at.key("graders");
    let is_none = !is_written("graders") || graders.node().is_some_and(Node::is_empty_list);
    let is_task = at.node().is_some_and(|node| node.map().is_some());
    if is_task && is_none && !is_judged {
        at.missing("graders")
            .warning("there are none")
            .hint("success then says only that the agent ended with exit code 0");
    }
}

/// The files that graders compare with.
fn references(graders: &[GraderSpec]) -> Vec<PathBuf> {
    let references = graders.iter().filter_map(|grader| match grader {
        GraderSpec::ScreenshotCompare { reference_path, .. } => Some(reference_path.clone()),
        GraderSpec::Privacy(options) => options.strings_file.clone(),
        _ => None,
    });
    let answers = graders.iter().filter_map(|grader| match grader {
        GraderSpec::Answer(spec) => Some(&spec.judges),
        _ => None,
    });
    let contexts = answers.flatten().filter_map(|it| it.context_file.clone());
    references.chain(contexts).collect()
}

/// SHA-256 over the task's value (comments and layout aside), what lies under it, and the files that it names.
fn digest<'a>(
    written: impl Iterator<Item = &'a Node>,
    named: impl Iterator<Item = PathBuf>,
) -> String {
    let mut hasher = Sha256::new();
    for node in written {
        hasher.update(node.to_json().to_string());
    }
    for path in named.flat_map(|path| files_below(&path)) {
        let bytes = if path.is_file() {
            std::fs::read(path).unwrap_or_default()
        } else {
            Vec::new()
        };
        hasher.update(b"\0");
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    }
    hex(&hasher.finalize())
}

/// A file itself, or the files in a folder, by name.
fn files_below(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else {
        return vec![path.to_owned()];
    };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
        .iter()
        .flat_map(|entry| files_below(entry))
        .collect()
}

/// Bytes in hex, as `sha256sum` prints them.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all text");
        text
    })
}
