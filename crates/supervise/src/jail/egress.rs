//! The way into a jail: the launcher, which the harness starts from its own binary and waits for.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use rustix::process::{Pid, WaitOptions, WaitStatus, waitpid};

use super::handing;
use super::init::{self, Inside};
use super::sys::{self, Side};
use super::users::{self, Users};
use super::view::Copies;
use super::wire::{Failed, Order, Said, Step, at, tell};

/// The word on the command line that makes this program a launcher.
pub(in super::super) const SWITCH: &str = "jail-porter";

/// The numbers of the descriptors that the launcher is handed: what the harness asks, what it is told, its order.
pub(super) const ASKS: i32 = 3;
pub(super) const SAYS: i32 = 4;
pub(super) const ORDER: i32 = 5;

/// Becomes a launcher and never returns, if the command line says so. To be called before anything else: no thread may run.
pub(in super::super) fn enter() {
    if std::env::args_os().nth(1).as_deref() == Some(OsStr::new(SWITCH)) {
        sys::leave(launcher());
    }
}

/// The exit code of a launcher whose jail could not be made.
const NOT_MADE: i32 = 125;

fn launcher() -> i32 {
    if handing::arrive().is_err() {
        // There is nobody yet to tell it to.
        return NOT_MADE;
    }
    let (asks, says) = (sys::inherited(ASKS), sys::inherited(SAYS));
    match prepared() {
        Ok((order, users, copies)) => keep_the_door(Inside {
            order,
            asks,
            says,
            users,
            copies,
        }),
        Err((step, error)) => {
            tell(&says, &Said::not_made(step, &error));
            NOT_MADE
        }
    }
}

/// What the harness ordered.
pub(super) fn ordered() -> Result<Order, Failed> {
    let mut file = File::from(sys::inherited(ORDER));
    let mut bytes = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut bytes))
        .map_err(at(Step::Order))?;
    let bad = || (Step::Order, io::Error::from_raw_os_error(libc::EINVAL));
    Order::read(&bytes).ok_or_else(bad)
}

fn prepared() -> Result<(Order, Users, Copies), Failed> {
    let order = ordered()?;
    // Nobody can map the users of a process that is hidden, not even itself.
    sys::show_memory().map_err(at(Step::Users))?;
    let (users, copies) = users::enter(&order)?;
    Ok((order, users, copies))
}

/// Starts the init process and waits for it; its end is that of everybody in the jail.
fn keep_the_door(inside: Inside) -> i32 {
    match sys::fork() {
        Ok(Side::Child) => init::keep(inside),
        Ok(Side::Parent(init)) => {
            drop(inside);
            sys::close_from(0);
            sys::ignore_wishes();
            sys::hide_memory().ok();
            wait(init).and_then(WaitStatus::exit_status).unwrap_or(1)
        }
        Err(error) => {
            tell(&inside.says, &Said::not_made(Step::Fork, &error));
            NOT_MADE
        }
    }
}

fn wait(pid: i32) -> Option<WaitStatus> {
    loop {
        match waitpid(Pid::from_raw(pid), WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) | Ok(None) => return None,
            Ok(Some((_, status))) => return Some(status),
        }
    }
}
