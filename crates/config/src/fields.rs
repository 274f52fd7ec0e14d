//! Reads a checked mapping by its key table: what is absent is the table's default.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::check::join;
use crate::node::{Node, Value};
use crate::paths::Base;
use crate::problem::Place;
use crate::shape::{Need, Section, Variant};

/// A mapping with known keys. Where the check found a value wrong, reading gives some other value instead: the
/// report already holds an error then, and what was read is thrown away.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    node: Option<&'a Node>,
    section: &'static Section,
    path: String,
}

impl<'a> Fields<'a> {
    /// The mapping `node`, or none, which is all defaults.
    pub(super) fn new(node: Option<&'a Node>, section: &'static Section, path: &str) -> Self {
        Self {
            node: node.filter(|node| !node.is_null()),
            section,
            path: path.to_owned(),
        }
    }

    /// Place of the mapping itself.
    pub(super) fn place(&self) -> Place {
        self.node.map(|node| node.place).unwrap_or_default()
    }

    /// Full name of the mapping itself.
    pub(super) fn name(&self) -> &str {
        &self.path
    }

    /// Full name of the key `name`.
    pub(super) fn path(&self, name: &str) -> String {
        join(&self.path, name)
    }

    /// Whether the key is written, be it null.
    pub(super) fn is_written(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    /// The value under `name`, unless it is absent or null.
    pub(super) fn get(&self, name: &str) -> Option<&'a Node> {
        self.raw(name).filter(|node| !node.is_null())
    }

    /// Place of the value under `name`, else of the mapping.
    pub(super) fn place_of(&self, name: &str) -> Place {
        self.raw(name)
            .map_or_else(|| self.place(), |node| node.place)
    }

    fn raw(&self, name: &str) -> Option<&'a Node> {
        #[cfg(test)]
        asked::note(self.section, name);
        debug_assert!(self.section.key(name).is_some(), "{name} is in no table");
        self.node.and_then(|node| node.get(name))
    }

    /// The mapping under `name`.
    pub(super) fn section(&self, name: &str, section: &'static Section) -> Self {
        Self::new(self.get(name), section, &self.path(name))
    }

    /// The mappings of the list under `name`.
    pub(super) fn sections(&self, name: &str, section: &'static Section) -> Vec<Self> {
        self.items(name)
            .iter()
            .enumerate()
            .map(|(index, item)| {
                Self::new(
                    Some(item),
                    section,
                    &format!("{}[{index}]", self.path(name)),
                )
            })
            .collect()
    }

    /// The mappings of the list under `name`, each with the word of its `type`; an item without keys is that word.
    pub(super) fn tagged(
        &self,
        name: &str,
        variants: &'static [Variant],
    ) -> Vec<(&'static str, Self)> {
        let items = self.items(name).iter().enumerate();
        let known = items.filter_map(|(index, node)| {
            let kind = node
                .map()
                .map_or(Some(node), |_| node.get("type"))?
                .text()?;
            let (word, section) = variants.iter().find(|(word, _)| *word == kind)?;
            let path = format!("{}[{index}]", self.path(name));
            Some((*word, Self::new(Some(node), section, &path)))
        });
        known.collect()
    }

    /// The items of the list under `name`.
    pub(super) fn items(&self, name: &str) -> &'a [Node] {
        self.get(name).and_then(Node::list).unwrap_or_default()
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        let node = self.get(name);
        let written = node.and_then(Node::word).map(str::to_owned);
        written.or_else(|| self.default(name)?.as_str().map(str::to_owned))
    }

    /// Text that the check has made sure of.
    pub(super) fn text_or_empty(&self, name: &str) -> String {
        self.text(name).unwrap_or_default()
    }

    pub(super) fn boolean(&self, name: &str) -> bool {
        let written = self.get(name).and_then(Node::boolean);
        written.unwrap_or_else(|| self.default(name).is_some_and(|json| json == true))
    }

    pub(super) fn whole(&self, name: &str) -> u64 {
        let written = self.get(name).and_then(Node::whole);
        written
            .or_else(|| self.default(name)?.as_u64())
            .unwrap_or_default()
    }

    /// A whole number whose limits in the table keep it small.
    pub(super) fn count(&self, name: &str) -> u32 {
        u32::try_from(self.whole(name)).unwrap_or(u32::MAX)
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        let written = self.get(name).and_then(Node::number);
        written.or_else(|| self.default(name)?.as_f64())
    }

    pub(super) fn seconds(&self, name: &str) -> Option<Duration> {
        self.number(name).map(duration)
    }

    /// Seconds with a default in the table.
    pub(super) fn seconds_or_zero(&self, name: &str) -> Duration {
        self.seconds(name).unwrap_or_default()
    }

    pub(super) fn words(&self, name: &str) -> Vec<String> {
        self.items(name)
            .iter()
            .filter_map(|item| item.word().map(str::to_owned))
            .collect()
    }

    pub(super) fn environment(&self, name: &str) -> BTreeMap<String, String> {
        let entries = self.get(name).and_then(Node::map).unwrap_or_default();
        entries
            .iter()
            .filter_map(|entry| Some((entry.key.clone(), entry.value.word()?.to_owned())))
            .collect()
    }

    pub(super) fn path_value(&self, name: &str, base: &Base) -> Option<std::path::PathBuf> {
        self.text(name).map(|text| base.resolve(&text))
    }

    /// Keys of the file that the table does not know, where it allows such.
    pub(super) fn further(&self) -> Vec<(String, String)> {
        let entries = self.node.and_then(Node::map).unwrap_or_default();
        entries
            .iter()
            .filter(|entry| self.section.key(&entry.key).is_none())
            .filter_map(|entry| Some((entry.key.clone(), entry.value.word()?.to_owned())))
            .collect()
    }

    fn default(&self, name: &str) -> Option<serde_json::Value> {
        match self.section.key(name)?.need {
            Need::Default(json) => serde_json::from_str(json).ok(),
            Need::Required | Need::Optional => None,
        }
    }
}

/// Seconds of a checked value; nonsense, which the check has told of, is none.
pub(super) fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// A command: a list of words, or a line for the shell.
pub(super) fn command(node: &Node) -> Vec<String> {
    match &node.value {
        Value::List(items) => items
            .iter()
            .filter_map(|item| item.word().map(str::to_owned))
            .collect(),
        _ => vec![
            "sh".to_owned(),
            "-c".to_owned(),
            node.word().unwrap_or_default().to_owned(),
        ],
    }
}

/// Which keys were asked for: a test ties them to the tables.
#[cfg(test)]
pub(super) mod asked {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::Section;

    thread_local! {
        static ASKED: RefCell<BTreeSet<(usize, String)>> = const { RefCell::new(BTreeSet::new()) };
    }

    pub(crate) fn note(section: &'static Section, name: &str) {
        let id = std::ptr::from_ref(section).addr();
        ASKED.with_borrow_mut(|asked| asked.insert((id, name.to_owned())));
    }

    pub(crate) fn was(section: &'static Section, name: &str) -> bool {
        let id = std::ptr::from_ref(section).addr();
        ASKED.with_borrow(|asked| asked.contains(&(id, name.to_owned())))
    }
}
