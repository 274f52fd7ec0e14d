//! Waiting for everybody: what the init process of a jail and the supervisor of a trial without one have in common.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};

use super::super::ending::Exit;

/// Reaps the children of this process, the program and the orphans that come to it.
pub(super) struct Reaper {
    signals: OwnedFd,
    /// The program, until it has been reaped.
    pub(super) program: Option<Pid>,
}

impl Reaper {
    pub(super) fn new(signals: OwnedFd, program: Pid) -> Self {
        Self {
            signals,
            program: Some(program),
        }
    }

    /// Readable when somebody may have died.
    pub(super) fn signals(&self) -> BorrowedFd<'_> {
        self.signals.as_fd()
    }

    /// Reaps all that have died; whether nobody is left. Of the program it is told how it left, and whether it was the last.
    pub(super) fn reap(&mut self, mut left: impl FnMut(Exit, bool)) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if Some(pid) == self.program => {
                    self.program = None;
                    left(exit_of(status), is_alone());
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }

    /// All that counts is that something happened.
    pub(super) fn forget_signals(&self) {
        let mut buffer = [0; 1024];
        while rustix::io::read(&self.signals, &mut buffer).is_ok_and(|count| count > 0) {}
    }
}

/// Whether no child is left, dead ones reaped.
fn is_alone() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

fn exit_of(status: WaitStatus) -> Exit {
    let signal = status.terminating_signal().map(Exit::Signal);
    signal.unwrap_or(Exit::Code(status.exit_status().unwrap_or_default()))
}
