//! What keeps the processes of a trial, as it was asked for.

use std::path::PathBuf;

use crate::fields::Fields;
use crate::files::Files;
use crate::node::Node;
use crate::problem::Report;
use crate::tables::{ISOLATION, LENT};
use proctor_model::Isolation;

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
pub(super) fn isolation(
    suite: &Fields<'_>,
    files: &Files<'_>,
    report: &mut Report,
) -> IsolationSettings {
    let detailed = suite.section("isolation", &ISOLATION);
    let short = suite.get("isolation").and_then(Node::word);
    let level = short.map_or_else(|| detailed.text_or_empty("level"), str::to_owned);
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
        lend: lend(suite, files, report),
        max_processes: suite.count("max_processes"),
    }
}

/// The places to lend; those that must be there are looked for.
fn lend(suite: &Fields<'_>, files: &Files<'_>, report: &mut Report) -> Vec<Lent> {
    let sections = suite.sections("lend", &LENT);
    let items = suite.items("lend").iter().zip(sections).enumerate();
    let place = |(index, (item, detailed)): (usize, (&Node, Fields<'_>))| {
        let path = if let Some(path) = item.word() {
            let path = files.base.resolve(path);
            let key = format!("{}[{index}]", suite.path("lend"));
            files.expect_item(&path, (item, &key), report);
            path
        } else {
            let path = files.base.resolve(&detailed.text_or_empty("path"));
            if !detailed.boolean("optional") {
                files.expect(&path, &(&detailed, "path"), report);
            }
            path
        };
        Lent {
            path,
            write: detailed.boolean("write"),
        }
    };
    items.map(place).collect()
}
