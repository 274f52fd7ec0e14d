//! What an agent answers when it is asked for its settings, and what follows.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

/// How an agent answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Whether it came to its end with exit code 0, and all that it said was heard.
    pub succeeded: bool,
    /// How it ended, in words.
    pub ended: String,
    /// What it said.
    pub stdout: Vec<u8>,
    /// What it said besides.
    pub stderr: Vec<u8>,
}

/// What follows from an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// It is to be asked this, by this command line.
    Further(Vec<OsString>),
    /// The settings in force are those that the scenario asks for.
    Fit,
    /// It would start these servers, which the scenario does not name. They are to be switched off ([`crate::without_servers`]), and asked anew.
    Foreign(BTreeSet<String>),
    /// Its servers are in this state, by name: `connected` or another one.
    Servers(BTreeMap<String, String>),
    /// It did not tell its settings or servers, for this reason.
    Untold(String),
    /// With settings like these it would measure something else: what is in the way, and what to do.
    Refused(String),
}
