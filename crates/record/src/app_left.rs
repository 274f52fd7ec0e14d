//! What an agent left of the app on its simulator, as it was seen before anybody else was there.

use serde::{Deserialize, Serialize};

/// The app that graders ask for, when the agent had ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AppLeft {
    /// It was not installed.
    Absent,
    /// It was installed.
    Installed {
        /// Whether it could be launched; nothing where no grader asks.
        launches: Option<bool>,
    },
    /// The simulator itself, which was made for this trial alone, was deleted.
    Deleted,
    /// The simulator did not tell: why.
    Unknown(String),
}
