//! What keeps the processes of a trial, as it was asked for.

use std::path::PathBuf;

use crate::config::fields::Fields;
use crate::config::node::Node;
use crate::config::paths::Base;
use crate::config::tables::{ISOLATION, LENT};
use crate::model::Isolation;

/// `isolation` and what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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

/// A place that is lent into the jail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lent {
    /// The file or folder, absolute.
    pub path: PathBuf,
    /// Whether trials may write to it.
    pub write: bool,
}

/// Reads the keys of `suite:` that are about it.
pub(super) fn isolation(suite: &Fields<'_>, base: &Base) -> IsolationSettings {
    let detailed = suite.section("isolation", &ISOLATION);
    let short = suite.get("isolation").and_then(Node::word);
    let level = short.map_or_else(|| detailed.text_or_empty("level"), str::to_owned);
    let sections = suite.sections("lend", &LENT);
    let places = suite.items("lend").iter().zip(sections);
    let lend = places.map(|(item, detailed)| Lent {
        path: match item.word() {
            Some(path) => base.resolve(path),
            None => base.resolve(&detailed.text_or_empty("path")),
        },
        write: detailed.boolean("write"),
    });
    IsolationSettings {
        level: match level.as_str() {
            "none" => Some(Isolation::None),
            "jail" => Some(Isolation::Jail),
            "external" => Some(Isolation::External),
            _ => None,
        },
        require: detailed.boolean("require"),
        wrapper: suite.words("isolation_wrapper"),
        goes_on_uncontained: suite.text_or_empty("on_uncontained") == "continue",
        lend: lend.collect(),
        max_processes: suite.count("max_processes"),
    }
}
