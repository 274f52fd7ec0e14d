//! This process as the proctor program, which helpers are started from: a test's process is none.
#![expect(unsafe_code, reason = "leaving at once has no door in std or rustix")]

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

static OWN_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Says that this process runs the program that becomes a helper if its command line says so.
pub(super) fn declare() {
    OWN_PROGRAM.store(true, Ordering::Relaxed);
}

/// Whether it does: only from such a process can a helper be started.
pub(super) fn is_own_program() -> bool {
    OWN_PROGRAM.load(Ordering::Relaxed)
}

/// This very program, on Linux also if its file was replaced or removed meanwhile.
pub(super) fn own_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok(PathBuf::from("/proc/self/exe"))
    } else {
        std::env::current_exe()
    }
}

/// Ends this process at once, without any of the work of an orderly exit.
pub(super) fn leave(code: i32) -> ! {
    // SAFETY: never returns and touches no memory.
    unsafe { libc::_exit(code) }
}
