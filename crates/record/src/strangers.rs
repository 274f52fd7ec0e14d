//! What lies in a run that it did not write: beside the files of a sealed trial, and among the folders of trials.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry};
use std::path::Path;

use crate::artifacts::{digest, names_in};
use crate::{RunDir, TrialDir, private};

/// What the file manager of macOS lays into every folder that a person opens.
const OF_FILE_MANAGERS: &str = ".DS_Store";

impl TrialDir {
    /// What is in the folder and not in the list of its files, which a row names by its digest, with its place in the run; nothing
    /// where the list is another one.
    pub(super) fn added(&self, sums: &str) -> Vec<String> {
        let list = private::read_all(&self.sums()).unwrap_or_default();
        if digest(&list) != sums {
            return Vec::new();
        }
        let list = String::from_utf8_lossy(&list);
        let listed: BTreeSet<&OsStr> = names_in(&list).map(|(_, name)| OsStr::new(name)).collect();
        let own = self.sums();
        let is_known = |name: &OsStr| listed.contains(name) || own.file_name() == Some(name);
        let added = entries(self.root()).map(|entry| entry.file_name());
        let added = added.filter(|name| !is_known(name));
        let problem = |name: OsString| {
            let place = self.relative(&self.root().join(name));
            format!("{place}: not one of the files that were sealed: somebody else put it there")
        };
        added.map(problem).collect()
    }
}

impl RunDir {
    /// What lies among the folders of trials and is none.
    pub(super) fn strangers_among_trials(&self) -> Vec<String> {
        let is_folder = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let strangers = entries(&self.trials()).filter(|entry| !is_folder(entry));
        let problem = |entry: DirEntry| {
            let place = self.relative(&entry.path());
            format!("{place}: no folder of a trial: the run did not put it there")
        };
        strangers.map(problem).collect()
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    let all = fs::read_dir(folder).into_iter().flatten().flatten();
    all.filter(|entry| entry.file_name() != OF_FILE_MANAGERS)
}
