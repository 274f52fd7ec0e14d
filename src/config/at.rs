//! Where in a file: a value with its full name and its place, for what a schema cannot say.

use crate::config::node::Node;
use crate::config::problem::{Place, Problem, Report};
use crate::config::walk::join;

/// A value of a file, or the place where one is not written.
#[derive(Debug, Clone)]
pub(super) struct At<'a> {
    node: Option<&'a Node>,
    /// Its own place, else that of the mapping that could hold it.
    pub(super) place: Place,
    /// Its full name.
    pub(super) path: String,
}

impl<'a> At<'a> {
    pub(super) fn new(node: &'a Node, path: impl Into<String>) -> Self {
        Self {
            node: Some(node),
            place: node.place,
            path: path.into(),
        }
    }

    /// The value under `name`.
    pub(super) fn key(&self, name: &str) -> Self {
        let node = self.node.and_then(|node| node.get(name));
        Self {
            node,
            place: node.map_or(self.place, |node| node.place),
            path: join(&self.path, name),
        }
    }

    /// The same, at another place.
    pub(super) fn placed(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// The same key, at the place of the mapping that lacks it.
    pub(super) fn missing(&self, name: &str) -> Self {
        self.key(name).placed(self.place)
    }

    /// An item of the list.
    pub(super) fn item(&self, index: usize) -> Self {
        let list = self.node.and_then(Node::list).unwrap_or_default();
        Self {
            node: list.get(index),
            place: list.get(index).map_or(self.place, |node| node.place),
            path: format!("{}[{index}]", self.path),
        }
    }

    /// The items of the list.
    pub(super) fn items(&self) -> impl Iterator<Item = Self> {
        let list = self.node.and_then(Node::list).unwrap_or_default();
        (0..list.len()).map(|index| self.item(index))
    }

    /// The value, unless it is absent or null.
    pub(super) fn node(&self) -> Option<&'a Node> {
        self.node.filter(|node| !node.is_null())
    }

    /// Whether it is there, be it null.
    pub(super) const fn is_written(&self) -> bool {
        self.node.is_some()
    }

    /// Whether one of these keys has a value, be it a wrong one.
    pub(super) fn has_any(&self, names: &[&str]) -> bool {
        let mut nodes = names.iter().filter_map(|name| self.key(name).node());
        nodes.any(|node| !node.is_empty_list())
    }

    /// Text that stands there.
    pub(super) fn word(&self) -> Option<&'a str> {
        self.node().and_then(Node::word)
    }

    pub(super) fn error<'r>(
        &self,
        report: &'r mut Report,
        message: impl Into<String>,
    ) -> &'r mut Problem {
        report.error(self.place, &self.path, message)
    }

    pub(super) fn warning<'r>(
        &self,
        report: &'r mut Report,
        message: impl Into<String>,
    ) -> &'r mut Problem {
        report.warning(self.place, &self.path, message)
    }
}
