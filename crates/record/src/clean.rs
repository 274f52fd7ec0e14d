//! Which files of a trial are on disk already, so that none is waited for twice.

use std::collections::HashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// File systems keep time in steps; none is longer than this, in nanoseconds.
const STEP_NS: i128 = 20_000_000;

/// What a file is known again by: inode, size, and the time of change that only the system sets.
type Look = (u64, u64, i128);

/// Files by path.
pub(super) type Files = HashMap<PathBuf, Look>;

/// The files of each trial that were synced early, by the trial's folder.
static SYNCED: Mutex<Option<HashMap<PathBuf, Files>>> = Mutex::new(None);

/// Files that were looked at before they were synced.
#[derive(Debug)]
pub(super) struct Looked {
    at: i128,
    files: Files,
}

impl Looked {
    /// Before the first look.
    pub(super) fn begin() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let at = since.map_or(0, |since| {
            i128::try_from(since.as_nanos()).unwrap_or_default()
        });
        Self {
            at,
            files: HashMap::new(),
        }
    }

    /// Looks at a file that is synced after this.
    pub(super) fn look(&mut self, path: &Path, found: &Metadata) {
        let look = look(found);
        // What was changed in the last step could be changed again without a trace.
        if look.2 < self.at - STEP_NS {
            self.files.insert(path.to_owned(), look);
        }
    }

    /// All of them are on disk now.
    pub(super) fn are_synced(self, trial: &Path) {
        let mut all = SYNCED.lock().unwrap_or_else(PoisonError::into_inner);
        all.get_or_insert_default()
            .insert(trial.to_owned(), self.files);
    }
}

/// What was synced early of a trial; asked once.
pub(super) fn taken(trial: &Path) -> Option<Files> {
    let mut all = SYNCED.lock().unwrap_or_else(PoisonError::into_inner);
    all.as_mut()?.remove(trial)
}

/// Whether a file is still the one that was synced.
pub(super) fn is_clean(synced: Option<&Files>, path: &Path, now: &Metadata) -> bool {
    synced.and_then(|files| files.get(path)) == Some(&look(now))
}

fn look(found: &Metadata) -> Look {
    let changed = i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec());
    (found.ino(), found.size(), changed)
}
