//! Files that a suite names: whether they are there.

use std::path::{Path, PathBuf};

use crate::config::at::At;
use crate::config::paths::Base;
use crate::config::problem::Report;

/// Where files are looked for, and whether they must be there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Files<'a> {
    pub(super) base: &'a Base,
    /// False where nothing will be run: a dry run, a rebuild.
    pub(super) checked: bool,
}

impl Files<'_> {
    /// The absolute path; says so when it is no folder.
    pub(super) fn folder(&self, path: &Path, at: &At<'_>, report: &mut Report) -> PathBuf {
        let found = self.expect(path, at, report);
        if self.checked && found.exists() && !found.is_dir() {
            self.say(path, "is not a folder", at, report);
        }
        found
    }

    /// The absolute path; says so when it is no regular file.
    pub(super) fn file(&self, path: &Path, at: &At<'_>, report: &mut Report) -> PathBuf {
        let found = self.expect(path, at, report);
        if self.checked && found.exists() && !found.is_file() {
            self.say(path, "is not a file", at, report);
        }
        found
    }

    /// The absolute path; says so when nothing is there.
    pub(super) fn expect(&self, path: &Path, at: &At<'_>, report: &mut Report) -> PathBuf {
        let found = self.base.resolve(path);
        if self.checked && !found.exists() {
            self.say(path, "does not exist", at, report);
        }
        found
    }

    fn say(&self, path: &Path, what: &str, at: &At<'_>, report: &mut Report) {
        let message = format!("{} {what}", self.base.resolve(path).display());
        let problem = at.error(report, message);
        if path.is_relative() {
            let folder = self.base.folder().display();
            problem.hint(format!("relative paths start from {folder}"));
        }
    }
}
