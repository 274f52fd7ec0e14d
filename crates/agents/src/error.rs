//! Why an agent cannot be started.

use std::io;
use std::path::PathBuf;

/// Why an agent cannot be started as asked.
#[derive(Debug, thiserror::Error)]
pub enum InvocationError {
    /// The agent has no command.
    #[error("the agent has no command")]
    NoCommand,
    /// The prompt has no way in.
    #[error(
        "no token of the agent's command holds {{PROMPT}}; add one, or set `prompt_via: stdin`"
    )]
    NoPrompt,
    /// An MCP file is no such file.
    #[error("{}: {problem}", path.display())]
    Mcp {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The operator's own settings of an agent cannot be read, so that nobody could take their MCP servers away.
    #[error("{}: mend it, since the agent would not read it either: {problem}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A path that must stand inside a text is none.
    #[error("{}: the path is no valid UTF-8", path.display())]
    NotText {
        /// The path.
        path: PathBuf,
    },
    /// The trial's private folder cannot be filled.
    #[error("write {}", path.display())]
    Private {
        /// What was to be made.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A replay agent has nothing to play.
    #[error(
        "no cassette for this trial: expected {} or {}",
        folder.join(scenario).join(format!("{task}.<n>.jsonl")).display(),
        folder.join(format!("{task}.<n>.jsonl")).display()
    )]
    NoCassette {
        /// The agent's `cassettes`.
        folder: PathBuf,
        /// The scenario.
        scenario: String,
        /// The task, or `baseline`.
        task: String,
    },
    /// The path of this program cannot be found.
    #[error("find the path of this program")]
    OwnPath(#[source] io::Error),
}
