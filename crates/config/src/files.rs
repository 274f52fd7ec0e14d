//! Files that a suite names: whether they are there.

use std::path::Path;

use crate::fields::Fields;
use crate::node::Node;
use crate::paths::Base;
use crate::problem::{Place, Report};

/// Where files are looked for, and whether they must be there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Files<'a> {
    pub(super) base: &'a Base,
    /// False where nothing will be run: a dry run, a rebuild.
    pub(super) checked: bool,
}

/// A mapping and the key in it that names a file.
pub(super) type Named<'a, 'b> = (&'b Fields<'a>, &'b str);

impl Files<'_> {
    /// Says so when `path` is no folder.
    pub(super) fn folder(&self, path: &Path, named: &Named<'_, '_>, report: &mut Report) {
        self.expect(path, named, report);
        if self.checked && path.exists() && !path.is_dir() {
            self.say(
                &format!("{} is not a folder", path.display()),
                named,
                report,
            );
        }
    }

    /// Says so when `path` is no regular file.
    pub(super) fn file(&self, path: &Path, named: &Named<'_, '_>, report: &mut Report) {
        self.expect(path, named, report);
        if self.checked && path.exists() && !path.is_file() {
            self.say(&format!("{} is not a file", path.display()), named, report);
        }
    }

    /// Says so when nothing is at `path`.
    pub(super) fn expect(&self, path: &Path, named: &Named<'_, '_>, report: &mut Report) {
        if self.checked && !path.exists() {
            self.say(&format!("{} does not exist", path.display()), named, report);
        }
    }

    /// Says so when nothing is at `path`, which the item `node` of a list names; `key` is the item's full name.
    pub(super) fn expect_item(&self, path: &Path, (node, key): (&Node, &str), report: &mut Report) {
        if self.checked && !path.exists() {
            let message = format!("{} does not exist", path.display());
            let written = node.word().unwrap_or_default();
            self.tell(&message, (node.place, key, written), report);
        }
    }

    fn say(&self, message: &str, (fields, name): &Named<'_, '_>, report: &mut Report) {
        let (key, written) = (fields.path(name), fields.text_or_empty(name));
        self.tell(message, (fields.place_of(name), &key, &written), report);
    }

    fn tell(&self, message: &str, (place, key, written): (Place, &str, &str), report: &mut Report) {
        let problem = report.error(place, key, message);
        if Path::new(written).is_relative() {
            let folder = self.base.folder().display();
            problem.hint(format!("relative paths start from {folder}"));
        }
    }
}
