//! A supervisor without walls: the parent of a program that no jail keeps.
//!
//! It stands between the harness and the program. Whoever kills its parent meets the supervisor and not the harness; orphans
//! come to it, so that all that the program started descends from it, whatever it does to its name, session or environment.
//! Where the supervisor is killed they come to the harness, which hears of it at once. Where the harness is killed, the
//! supervisor ends all that descend from it; it goes on for that where somebody had stopped it.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, getpid, kill_process, set_child_subreaper, set_parent_process_death_signal, setsid,
};

use super::super::registry::pid_of;
use super::super::walls::Ask;
use super::super::{monotonic_ns, processes};
use super::child_setup::take_over;
use super::egress::{ASKS, SAYS, ordered};
use super::handing;
use super::reaper::Reaper;
use super::sys::{self, Side};
use super::wire::{Failed, Order, Said, Step, at, tell};

/// The word on the command line that makes this program a supervisor.
pub(super) const SWITCH: &str = "trial-supervisor";

/// Exit codes: nobody is left, somebody may be.
const EMPTY: i32 = 0;
const NOT_EMPTY: i32 = 1;

/// That of a child that could not become the program.
const NOT_STARTED: i32 = 127;

/// The number of the descriptor on which a program tells of its birth: it is closed when the program takes over.
pub(super) const BIRTH: i32 = 7;

/// The longest that those are killed who are left, and the longest between two looks at them.
const HUNT: Duration = Duration::from_secs(3);
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// Nothing has to be looked at but what is told.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// Becomes a supervisor and never returns, if the command line says so. To be called before anything else: no thread may run.
pub(in super::super) fn enter() {
    if std::env::args_os().nth(1).as_deref() == Some(OsStr::new(SWITCH)) {
        sys::leave(supervise());
    }
}

fn supervise() -> i32 {
    // An agent of a trial beside this one could open what it says and is told.
    if handing::arrive().is_err() {
        // There is nobody yet to tell it to.
        return EMPTY;
    }
    let (asks, says) = (sys::inherited(ASKS), sys::inherited(SAYS));
    let prepared = ordered().and_then(|order| Ok((ready()?, order)));
    let (signals, order) = match prepared {
        Ok(prepared) => prepared,
        Err((step, error)) => {
            tell(&says, &Said::not_made(step, &error));
            return EMPTY;
        }
    };
    match bear(&order) {
        Ok(program) => {
            let reaper = Reaper::new(signals, program);
            if (Watch { asks, says, reaper }).run() {
                EMPTY
            } else {
                NOT_EMPTY
            }
        }
        Err(error) => {
            tell(&says, &Said::not_made(Step::Fork, &error));
            EMPTY
        }
    }
}

/// Takes orphans in, hears of deaths, and obeys no signal but KILL and STOP.
fn ready() -> Result<OwnedFd, Failed> {
    sys::seal_descriptors();
    set_child_subreaper(Some(getpid())).map_err(|error| at(Step::Fork)(error.into()))?;
    // It comes with the end of any thread that this process was started by or handed on to, and who runs is not moved by it.
    set_parent_process_death_signal(Some(Signal::CONT)).ok();
    sys::signals_as_file().map_err(at(Step::Fork))
}

/// Starts the program, in a session of its own. It is the program itself that tells of its birth, and nothing is left to do here by
/// then: who kills or stops its parent with its first breath is too late.
fn bear(order: &Order) -> io::Result<Pid> {
    let birth = sys::inherited(BIRTH);
    let (gate, opens) = io::pipe()?;
    match sys::fork()? {
        Side::Child => {
            drop(opens);
            let Err(error) = become_program(order, gate, &birth);
            let error = error.raw_os_error().unwrap_or(libc::EINVAL);
            tell(&birth, &Said::NotStarted(error));
            sys::leave(NOT_STARTED);
        }
        Side::Parent(pid) => {
            // Nobody but the program may hold its streams open.
            sys::close_standard_streams();
            drop((birth, opens));
            Pid::from_raw(pid).ok_or_else(|| io::Error::from_raw_os_error(libc::ECHILD))
        }
    }
}

fn become_program(
    order: &Order,
    mut gate: io::PipeReader,
    birth: &OwnedFd,
) -> io::Result<Infallible> {
    setsid()?;
    // The parent says nothing: it lets go.
    gate.read_to_end(&mut Vec::new())?;
    tell(birth, &Said::Started(monotonic_ns(), std::process::id()));
    let nothing = || io::Error::from_raw_os_error(libc::ENOENT);
    take_over(order.program.as_ref().ok_or_else(nothing)?.as_ref(), order)
}

struct Watch {
    asks: OwnedFd,
    says: OwnedFd,
    reaper: Reaper,
}

impl Watch {
    /// Reaps until the harness has done its work or is gone; whether nobody is left then.
    fn run(mut self) -> bool {
        loop {
            let alone = self.reap();
            match sys::wait_for([self.asks.as_fd(), self.reaper.signals()], FOR_EVER) {
                Some([true, _]) if self.may_let_go() => return alone,
                Some([true, _]) => return self.end(),
                Some([_, true]) => self.reaper.forget_signals(),
                _ => {}
            }
        }
    }

    fn reap(&mut self) -> bool {
        let says = &self.says;
        self.reaper
            .reap(|exit, alone| tell(says, &Said::Left(exit, alone)))
    }

    /// Whether the harness asks that whoever is left stays; otherwise it has no more to say, or is gone.
    fn may_let_go(&self) -> bool {
        let mut asked = [0; 1];
        let read = rustix::io::retry_on_intr(|| rustix::io::read(&self.asks, &mut asked));
        read == Ok(1) && asked[0] == Ask::LetGo as u8
    }

    /// Kills its children until there are none: those of a killed one are its own next. Whether nobody is left.
    fn end(mut self) -> bool {
        let begun = Instant::now();
        while !self.reap() {
            if begun.elapsed() > HUNT {
                return false;
            }
            for child in children() {
                kill_process(child, Signal::KILL).ok();
            }
            let _ = sys::wait_for([self.reaper.signals(); 2], BETWEEN_LOOKS);
            self.reaper.forget_signals();
        }
        true
    }
}

/// The children of this process. None of them is reaped meanwhile, so that no number is anybody else's.
fn children() -> Vec<Pid> {
    let listed = processes::children_of_self();
    let pids = listed.map_or_else(listed_by_parent, |threads| {
        threads.into_iter().flat_map(|one| one.pids).collect()
    });
    pids.into_iter().filter_map(pid_of).collect()
}

/// For kernels that list no children.
fn listed_by_parent() -> Vec<u32> {
    let own = std::process::id();
    let all = processes::snapshot().into_iter();
    all.filter(|one| one.parent == own)
        .map(|one| one.pid)
        .collect()
}
