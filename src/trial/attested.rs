//! What all trials of a run know of agents: the first trial of each arm, and programs that were read before.

use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use proctor_agents::steering::{Stamp, stamp};
use proctor_record::{Arms, ProgramSeen, RunDir};
use proctor_workspace::{sha256_hex, sha256_of};

/// What all trials of a run know of agents: the first trial of each arm, and programs that were read before.
#[derive(Debug)]
pub struct Attested {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) arms: Arms,
    programs: HashMap<PathBuf, Known>,
    /// What `--version` said, by digest.
    pub(super) versions: HashMap<String, Option<String>>,
}

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    sha256: String,
}

impl Attested {
    /// What earlier starts of the run knew of its arms.
    #[must_use]
    pub fn open(run: &RunDir) -> Self {
        let state = State {
            arms: Arms::open(run),
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A program by its content, which is read once as long as its file stays the same.
    pub(super) fn program(&mut self, path: &Path) -> Option<ProgramSeen> {
        let about = fs::metadata(path).ok().filter(Metadata::is_file)?;
        let stamp = stamp(&about);
        let known = self.programs.get(path).filter(|known| known.stamp == stamp);
        let sha256 = if let Some(known) = known {
            known.sha256.clone()
        } else {
            let digest = sha256_of(&mut File::open(path).ok()?).ok()?;
            let sha256 = sha256_hex(&digest);
            let known = Known {
                stamp,
                sha256: sha256.clone(),
            };
            self.programs.insert(path.to_owned(), known);
            sha256
        };
        Some(ProgramSeen {
            path: path.to_string_lossy().into_owned(),
            sha256,
            bytes: about.len(),
        })
    }
}
