//! The tree of the next trial, made while the row of the last one is written: between two agents, never beside one.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};

use super::descent::FOLDER;
use super::spread::{self, Plan};
use super::store::Store;
use super::trash::locked;
use super::{WorkspaceError, template::Template};

/// At most one spare tree, and the thread that makes it.
#[derive(Debug, Default)]
pub(super) struct Spare {
    /// How many more may be made.
    wanted: AtomicUsize,
    maker: Mutex<Option<Sender<Order>>>,
    shelf: Arc<Shelf>,
}

#[derive(Debug, Default)]
struct Shelf {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Empty,
    Making,
    Ready(PathBuf),
}

/// What is to be made, and where.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) store: Arc<Store>,
    pub(super) plan: Arc<Plan>,
    pub(super) folder: PathBuf,
}

impl Template {
    /// Says how many trials there will be: none is prepared for after the last one.
    pub fn expect(&self, trials: usize) {
        let further = trials.saturating_sub(1);
        self.shared.spare.wanted.store(further, Ordering::Relaxed);
    }

    /// Begins to make the tree of the next trial in the background, if one more is expected and none is there.
    ///
    /// To be called when a trial was graded: no agent of its lane is at work that this could slow.
    pub fn make_ahead(&self) {
        let shared = &self.shared;
        shared.spare.order(|| Order {
            store: Arc::clone(&shared.store),
            plan: Arc::clone(&shared.plan),
            folder: shared.home.join(format!(
                "spare-{}",
                shared.serial.fetch_add(1, Ordering::Relaxed)
            )),
        });
    }
}

impl Spare {
    fn order(&self, order: impl FnOnce() -> Order) {
        if self.wanted.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut maker = locked(&self.maker);
        {
            let mut state = locked(&self.shelf.state);
            if *state != State::Empty {
                return;
            }
            *state = State::Making;
        }
        let fewer = |left: usize| Some(left.saturating_sub(1));
        self.wanted
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer)
            .ok();
        if maker.is_none() {
            *maker = start(Arc::clone(&self.shelf));
        }
        let taken = maker
            .as_ref()
            .is_some_and(|channel| channel.send(order()).is_ok());
        if !taken {
            self.shelf.put(State::Empty);
        }
    }

    /// The spare tree, if there is one; one that is being made is waited for.
    pub(super) fn take(&self) -> Option<PathBuf> {
        let mut state = locked(&self.shelf.state);
        while *state == State::Making {
            state = self
                .shelf
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        match std::mem::take(&mut *state) {
            State::Ready(folder) => Some(folder),
            State::Empty | State::Making => None,
        }
    }

    /// Makes none any more: they do not fit where workspaces are.
    pub(super) fn give_up(&self) {
        self.wanted.store(0, Ordering::Relaxed);
    }

    /// Makes none any more, and waits, at most for `patience`, for the one that is being made.
    pub(super) fn close(&self, patience: Duration) {
        self.give_up();
        *locked(&self.maker) = None;
        let end = Instant::now() + patience;
        let mut state = locked(&self.shelf.state);
        while *state == State::Making {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.shelf.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Shelf {
    fn put(&self, new: State) {
        *locked(&self.state) = new;
        self.changed.notify_all();
    }
}

fn start(shelf: Arc<Shelf>) -> Option<Sender<Order>> {
    let (sender, orders) = channel();
    thread::Builder::new()
        .name("spare".to_owned())
        .spawn(move || work(&orders, &shelf))
        .ok()?;
    Some(sender)
}

fn work(orders: &Receiver<Order>, shelf: &Shelf) {
    for order in orders {
        let made = Settled { shelf, made: None }.with(&order);
        drop(made);
    }
}

/// Whatever becomes of an order, whoever waits for it is told.
struct Settled<'a> {
    shelf: &'a Shelf,
    made: Option<PathBuf>,
}

impl Settled<'_> {
    fn with(mut self, order: &Order) -> Self {
        match make(order) {
            Ok(()) => self.made = Some(order.folder.clone()),
            // Whoever needs the tree makes it, and tells what is in the way.
            Err(problem) => {
                tracing::debug!(%problem, "no tree was made ahead");
                fs::remove_dir_all(&order.folder).ok();
            }
        }
        self
    }
}

impl Drop for Settled<'_> {
    fn drop(&mut self) {
        self.shelf
            .put(self.made.take().map_or(State::Empty, State::Ready));
    }
}

fn make(order: &Order) -> Result<(), WorkspaceError> {
    let folder: &Path = &order.folder;
    rustix::fs::mkdir(folder, Mode::RWXU).map_err(WorkspaceError::errno("make a tree ahead"))?;
    let flags = FOLDER.difference(OFlags::NONBLOCK);
    let opened = rustix::fs::open(folder, flags, Mode::empty())
        .map_err(WorkspaceError::errno("open a tree that is made ahead"))?;
    spread::spread(&order.store, &order.plan, opened.as_fd())
}
