//! The background removal of workspaces that are done with.

use std::ffi::CString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::remove;

/// How many problems are kept for the end.
const MAX_PROBLEMS: usize = 100;

/// Removes trees on a thread of the lowest priority, so that no agent's time is touched by it.
#[derive(Debug, Default)]
pub struct Trash {
    sender: Mutex<Option<Sender<Item>>>,
    state: Arc<(Mutex<State>, Condvar)>,
}

/// What a `Trash` says when it is asked to finish.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct TrashReport {
    /// What could not be removed, and why.
    pub left: Vec<String>,
    /// How many trees were still waiting when the time was over.
    pub waiting: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    left: Vec<String>,
}

#[derive(Debug)]
struct Item {
    folder: Arc<OwnedFd>,
    name: CString,
}

impl Trash {
    /// Hands over the tree `name` in the open `folder`.
    pub(super) fn take(&self, folder: Arc<OwnedFd>, name: CString) {
        locked(&self.state.0).waiting += 1;
        let item = Item { folder, name };
        let mut sender = locked(&self.sender);
        let unsent = match &*sender {
            Some(channel) => channel.send(item).err().map(|lost| lost.0),
            None => match self.start() {
                Some(channel) => {
                    let unsent = channel.send(item).err().map(|lost| lost.0);
                    *sender = Some(channel);
                    unsent
                }
                None => Some(item),
            },
        };
        if let Some(item) = unsent {
            remove_one(&self.state, &item);
        }
    }

    /// Waits, at most for `patience`, until everything is removed.
    pub fn finish(&self, patience: Duration) -> TrashReport {
        let end = Instant::now() + patience;
        let (state, done) = &*self.state;
        let mut state = locked(state);
        while state.waiting > 0 {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = done
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        TrashReport {
            left: state.left.clone(),
            waiting: state.waiting,
        }
    }

    fn start(&self) -> Option<Sender<Item>> {
        let (sender, items) = channel::<Item>();
        let state = Arc::clone(&self.state);
        thread::Builder::new()
            .name("trash".to_owned())
            .spawn(move || {
                step_back();
                for item in items {
                    remove_one(&state, &item);
                }
            })
            .ok()?;
        Some(sender)
    }
}

fn remove_one(state: &(Mutex<State>, Condvar), item: &Item) {
    let left = remove::remove_at(item.folder.as_fd(), &item.name);
    let (state, done) = state;
    let mut state = locked(state);
    let room = MAX_PROBLEMS.saturating_sub(state.left.len());
    state.left.extend(left.into_iter().take(room));
    state.waiting -= 1;
    done.notify_all();
}

/// On Linux priority belongs to a thread; elsewhere it would slow the whole harness, so it is left alone.
fn step_back() {
    #[cfg(target_os = "linux")]
    rustix::process::setpriority_process(None, 19).ok();
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
