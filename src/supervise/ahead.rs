//! Supervisors that wait for their order: starting this program takes about a millisecond, which no trial need wait for.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, waitid, waitpid};

use super::brand::Brand;
use super::child::{self, PlainStreams};
use super::jail::{self, WaitingLine};
use super::registry::{Place, pid_of};
use super::session;

/// A supervisor that was told nothing yet. It ends when it is dropped.
pub(super) struct Waiting {
    pub(super) place: Place,
    pub(super) brand: Option<Brand>,
    pub(super) line: WaitingLine,
    pub(super) streams: PlainStreams,
}

/// One whose program reads nothing, and one whose program reads what it is told.
static WAITING: Mutex<[Option<Waiting>; 2]> = Mutex::new([None, None]);

fn waiting() -> MutexGuard<'static, [Option<Waiting>; 2]> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A supervisor for a program that reads what it is told, or nothing: one that waits, else a new one.
pub(super) fn take(feeds_stdin: bool) -> io::Result<Waiting> {
    let kept = waiting()[usize::from(feeds_stdin)].take();
    let taken = match kept.filter(Waiting::is_alive) {
        Some(kept) => kept,
        None => start(feeds_stdin)?,
    };
    taken.place.starts_others();
    Ok(taken)
}

/// Starts the next one beside all that goes on. Where that fails, whoever needs it starts it and tells why it cannot be.
pub(super) fn prepare(feeds_stdin: bool) {
    tokio::task::spawn_blocking(move || {
        let place = &mut waiting()[usize::from(feeds_stdin)];
        if place.is_none() {
            *place = start(feeds_stdin).ok();
        }
    });
}

fn start(feeds_stdin: bool) -> io::Result<Waiting> {
    session::keep_descriptors_private();
    let (streams, ends) = child::open_streams(feeds_stdin)?;
    let (line, supervisor_ends) = WaitingLine::open()?;
    let (place, brand) = jail::start_supervisor(ends.borrowed(), &supervisor_ends)?;
    place.starts_nobody();
    Ok(Waiting {
        place,
        brand,
        line,
        streams,
    })
}

impl Waiting {
    /// Whether nobody has killed it meanwhile; one that somebody stopped goes on.
    fn is_alive(&self) -> bool {
        let Some(pid) = pid_of(self.place.pid) else {
            return false;
        };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if matches!(waitid(WaitId::Pid(pid), look), Ok(None)) {
            return kill_process(pid, Signal::CONT).is_ok();
        }
        waitpid(Some(pid), WaitOptions::NOHANG).ok();
        false
    }
}
