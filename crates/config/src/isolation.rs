//! What keeps the processes of a trial, as it was asked for.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::at::At;
use proctor_model::Isolation;
use proctor_model::vocabulary::{AnyPath, Word};

/// `isolation` and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(from = "IsolationKeys")]
#[schemars(with = "IsolationKeys")]
pub struct IsolationSettings {
    /// The level; `None` is the highest that this machine gives.
    pub level: Option<Isolation>,
    /// Whether nothing is run when this machine does not give it.
    pub require: bool,
    /// `isolation_wrapper`: words before every command line of a trial at level external.
    pub wrapper: Vec<String>,
    /// `on_uncontained`: whether a run goes on beside processes that could not be ended outside of a jail.
    pub goes_on_uncontained: bool,
    /// `lend`: what is lent into the jail beside what programs need to start.
    pub lend: Vec<Lent>,
    /// `max_processes`: the most processes and threads of a jailed child at once.
    pub max_processes: u32,
}

/// The keys of `suite:` that are about it.
#[derive(Deserialize, JsonSchema)]
struct IsolationKeys {
    /// How the processes of a trial are isolated.
    #[schemars(extend("default" = "auto"))]
    isolation: Level,
    /// At level `external`: words put before every command line of a trial; `{WORKDIR}` and `{SUITE}` are replaced.
    #[serde(default)]
    #[schemars(with = "Vec<Word>")]
    isolation_wrapper: Vec<String>,
    /// What to do when processes of a trial outside of a jail cannot be killed.
    #[schemars(extend("default" = "pause"))]
    on_uncontained: OnUncontained,
    /// Files and folders of yours that a jail shows, besides what programs need to start.
    #[serde(default)]
    lend: Vec<Lent>,
    /// Maximum number of processes and threads of an agent, a setup command or a grader in a jail.
    #[schemars(range(min = 16, max = 4_000_000), extend("default" = 4096))]
    max_processes: u32,
}

/// How the processes of a trial are isolated.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("x-short" = "level"))]
struct Level {
    /// The level of isolation.
    #[schemars(extend("default" = "auto"))]
    level: LevelWord,
    /// Whether to refuse to run when this machine does not support the level; with `auto`, when it supports no jail.
    #[serde(default)]
    require: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum LevelWord {
    /// The highest level that this machine supports.
    Auto,
    /// A process session of its own, whose processes are killed at the end.
    None,
    /// Linux namespaces: your files are hidden, and no process outlives the trial.
    Jail,
    /// A container or virtual machine that you provide.
    External,
}

#[derive(PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OnUncontained {
    /// Start no further trial; `--resume` continues the run.
    Pause,
    /// Run the other trials next to the remaining processes.
    Continue,
}

/// A file or folder that a jail shows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[schemars(extend("x-short" = "path"))]
pub struct Lent {
    /// A file or folder.
    #[schemars(with = "AnyPath")]
    pub path: PathBuf,
    /// Whether trials may write to it. Later trials then find what earlier ones left.
    #[serde(default)]
    pub write: bool,
    /// Whether it may be missing.
    #[serde(default)]
    pub optional: bool,
}

impl From<IsolationKeys> for IsolationSettings {
    fn from(keys: IsolationKeys) -> Self {
        Self {
            level: match keys.isolation.level {
                LevelWord::Auto => None,
                LevelWord::None => Some(Isolation::None),
                LevelWord::Jail => Some(Isolation::Jail),
                LevelWord::External => Some(Isolation::External),
            },
            require: keys.isolation.require,
            wrapper: keys.isolation_wrapper,
            goes_on_uncontained: keys.on_uncontained == OnUncontained::Continue,
            lend: keys.lend,
            max_processes: keys.max_processes,
        }
    }
}

/// Makes the places to lend absolute, and looks for those that must be there.
pub(super) fn find_lent(lend: &mut [Lent], at: &At<'_>) {
    for (lent, item) in lend.iter_mut().zip(at.items()) {
        lent.path = if lent.optional {
            at.reading.base.resolve(&lent.path)
        } else {
            let path = item.key("path");
            let named = if path.is_written() { path } else { item };
            named.found(&lent.path)
        };
    }
}
