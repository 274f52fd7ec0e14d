//! The one place of this room with unsafe code: a session of its own for a child, and no inherited descriptors.
//!
//! A session needs `setsid` between fork and exec, which the standard library offers only through the unsafe `pre_exec`.
//! The price is a fork instead of a `vfork`-like spawn, which grows with the memory of the parent; proctor stays
//! below 32 MiB, where it was measured at about 0.1 ms more than a spawn with a process group alone. A helper program that
//! calls `setsid` and executes the child would cost a second exec, which is more.
#![expect(
    unsafe_code,
    reason = "setsid before exec and descriptors known only by number have no safe door in std or rustix"
)]

use std::fs;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Once;

use super::brand::{self, Brand};
use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

/// Lets the child begin a session, and with it a process group, of its own (no controlling terminal), and wear its brand.
pub(super) fn own_session(command: &mut Command, brand: Option<Brand>) {
    let begin = move || {
        rustix::process::setsid()?;
        if let Some(brand) = &brand {
            brand::put_on(brand);
        }
        Ok(())
    };
    // SAFETY: the closure runs in the forked child and makes two async-signal-safe system calls; it neither
    // allocates nor takes a lock.
    unsafe { command.pre_exec(begin) };
}

/// Closes on exec, once, what this process itself inherited: all that it opens later closes on exec anyway.
pub(super) fn keep_descriptors_private() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let numbers = fs::read_dir("/dev/fd").into_iter().flatten().flatten();
        let numbers: Vec<i32> = numbers
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|number| *number > 2)
            .collect();
        for number in numbers {
            // SAFETY: the descriptor is only asked for and given a flag that every descriptor of a Rust program
            // already has; if it was closed meanwhile, the calls fail with EBADF.
            let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
            if let Ok(flags) = fcntl_getfd(descriptor) {
                let _ = fcntl_setfd(descriptor, flags | FdFlags::CLOEXEC);
            }
        }
    });
}
