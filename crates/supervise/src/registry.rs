//! The children that live now, so that nobody takes another's exit status, and the gate around starting them.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockWriteGuard};

use super::process_tag::{self, ProcessTag};
use super::processes::{self, Children};
use super::session::{Launch, session_of};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions};

/// First processes of all children that live, by process id.
static LEADERS: Mutex<BTreeMap<u32, Leader>> = Mutex::new(BTreeMap::new());

/// Brands of commands that may leave a daemon running: what carries them is nobody else's orphan.
static SPARED: Mutex<Vec<ProcessTag>> = Mutex::new(Vec::new());

static GATE: RwLock<()> = RwLock::new(());

/// Asks whether somebody has exited, and leaves them to whoever reaps them.
const LOOK: WaitIdOptions = WaitIdOptions::EXITED
    .union(WaitIdOptions::NOHANG)
    .union(WaitIdOptions::NOWAIT);

/// So often the lists of children are read twice at most until they say the same.
const READINGS: usize = 3;

/// What others must know of a child.
#[derive(Debug, Clone)]
pub(super) struct Leader {
    /// Its start, in the system's unit, which tells it from a later process with the same id.
    pub(super) start: u64,
    /// It starts nobody: no orphan is its own.
    pub(super) is_childless: bool,
}

/// Keeps children from being started while a file that will be executed is open for writing.
///
/// A child that is forked meanwhile would hold the file open until its own exec, and the file could not be executed
/// ("text file busy"). Hold the guard from opening such a file until it is closed, and for nothing else.
pub fn spawn_gate() -> RwLockWriteGuard<'static, ()> {
    GATE.write().unwrap_or_else(PoisonError::into_inner)
}

/// A child's place in the registry; dropping it frees the place.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) pid: u32,
    pub(super) start: u64,
}

impl Place {
    /// Notes that it starts nobody, so that orphans can still be told from each other beside it.
    pub(super) fn starts_nobody(&self) {
        if let Some(leader) = leaders().get_mut(&self.pid) {
            leader.is_childless = true;
        }
    }

    /// Kills it, whatever it does.
    pub(super) fn kill(&self) {
        if let Some(pid) = pid_of(self.pid) {
            // One that is gone already is reaped next.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut leaders = leaders();
        if leaders
            .get(&self.pid)
            .is_some_and(|leader| leader.start == self.start)
        {
            leaders.remove(&self.pid);
        }
    }
}

pub(super) fn leaders() -> MutexGuard<'static, BTreeMap<u32, Leader>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child and registers it in one step: no sweep sees it unregistered.
pub(super) fn start(launch: &Launch<'_>) -> io::Result<(Place, Option<ProcessTag>)> {
    adopts_orphans();
    let _open = GATE.read().unwrap_or_else(PoisonError::into_inner);
    let mut leaders = leaders();
    let (pid, tag) = process_tag::with_tag(|| launch.spawn());
    let pid = u32::try_from(pid?).map_err(io::Error::other)?;
    let start = processes::start_of(pid).unwrap_or_default();
    let is_childless = false;
    leaders.insert(
        pid,
        Leader {
            start,
            is_childless,
        },
    );
    Ok((Place { pid, start }, tag))
}

/// Notes the tag of a command whose leftovers are its own affair.
pub(super) fn spare(tag: &ProcessTag) {
    let mut spared = SPARED.lock().unwrap_or_else(PoisonError::into_inner);
    spared.push(tag.clone());
}

/// The tags that were noted so.
pub(super) fn spared() -> Vec<ProcessTag> {
    SPARED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

/// Whether orphans of our children become our children; the first call asks for it.
pub(super) fn adopts_orphans() -> bool {
    static ADOPTS: OnceLock<bool> = OnceLock::new();
    *ADOPTS.get_or_init(ask_for_orphans)
}

#[cfg(target_os = "linux")]
fn ask_for_orphans() -> bool {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn ask_for_orphans() -> bool {
    false
}

/// The session that this process lives in; no process of a trial can be in it.
pub(super) fn own_session() -> u32 {
    session_of(None).unwrap_or_default()
}

/// Asks for the exit status of adopted orphans that have died, so that their ids become free.
///
/// First processes of trials are left to their watchers, and children in our own session to whoever started them.
pub(super) fn reap_orphans() {
    if !adopts_orphans() || !somebody_died() {
        return;
    }
    let leaders = leaders();
    let own_session = own_session();
    for pid in together(&processes::children_of_self().unwrap_or_default()) {
        let is_adopted = session_of(Some(pid)).is_some_and(|session| session != own_session);
        let adopted = pid_of(pid).filter(|_| is_adopted);
        if let (Some(adopted), false) = (adopted, leaders.contains_key(&pid)) {
            let _ = rustix::process::waitpid(Some(adopted), WaitOptions::NOHANG);
        }
    }
}

/// Whether a child, ours or adopted, waits to be reaped.
fn somebody_died() -> bool {
    matches!(rustix::process::waitid(WaitId::All, LOOK), Ok(Some(_)))
}

/// Whether this process has no children but first processes of trials and its own: then nothing can have been left.
pub(super) fn no_orphans() -> bool {
    count_orphans() == Some(0)
}

/// How many have come to this process and were not reaped; absent where nobody tells.
pub(super) fn count_orphans() -> Option<usize> {
    let orphans = adopts_orphans().then(adopted).flatten()?;
    Some(orphans.len())
}

/// Orphans that have come to this process, those that have died and were not reaped included; none where none come.
pub(super) fn orphans() -> Vec<u32> {
    if adopts_orphans() {
        adopted().unwrap_or_default()
    } else {
        Vec::new()
    }
}

/// Children that are neither first processes of trials nor in our own session; `None` where the kernel does not list them.
fn adopted() -> Option<Vec<u32>> {
    if rustix::process::waitid(WaitId::All, LOOK).is_err() {
        return Some(Vec::new()); // ECHILD: no children at all
    }
    let leaders = leaders();
    let own_session = own_session();
    let is_known = |pid: &u32| {
        leaders.contains_key(pid)
            || session_of(Some(*pid)).is_none_or(|session| session == own_session)
    };
    let mut children = all_children()?;
    children.retain(|pid| !is_known(pid));
    Some(children)
}

/// The children of this process. The kernel's list of a thread leaves some out where others before them are reaped while it is
/// read, so that it is complete only where it reads the same twice; one that reads as empty is, since its first is always
/// told. Where lists never do, all of them together are the answer.
pub(super) fn all_children() -> Option<Vec<u32>> {
    let mut every = Vec::new();
    for _ in 0..READINGS {
        let once = processes::children_of_self()?;
        let again = processes::children_of(once.iter().map(|children| children.thread))?;
        if again == once {
            return Some(together(&again));
        }
        every.extend(together(&once));
        every.extend(together(&again));
    }
    Some(every)
}

fn together(lists: &[Children]) -> Vec<u32> {
    let lists = lists.iter().flat_map(|children| &children.pids);
    lists.copied().collect()
}

/// The system's process id, if `pid` can be one.
pub(super) fn pid_of(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}
