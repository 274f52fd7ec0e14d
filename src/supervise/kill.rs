//! Signals to exactly the process that is meant.

use rustix::process::Signal;

use super::processes::{self, Process};
use super::registry::pid_of;

/// Sends a signal to the group of a first process that its watcher has not reaped yet: its id cannot be anybody else's.
pub(super) fn group(leader: u32, signal: Signal) {
    if let Some(pid) = pid_of(leader) {
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}

/// Kills one process, unless its id has gone to another meanwhile.
pub(super) fn one(process: &Process) {
    send(process, Signal::KILL);
}

/// Sends a signal to one process, unless its id has gone to another meanwhile.
pub(super) fn send(process: &Process, signal: Signal) {
    let Some(pid) = pid_of(process.pid) else {
        return;
    };
    let is_same = || processes::start_of(process.pid) == Some(process.start);
    #[cfg(target_os = "linux")]
    if let Ok(handle) = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()) {
        // The handle is bound to whoever has the id now: if that is the one that is meant, it stays so.
        if is_same() {
            let _ = rustix::process::pidfd_send_signal(handle, signal);
        }
        return;
    }
    if is_same() {
        let _ = rustix::process::kill_process(pid, signal);
    }
}
