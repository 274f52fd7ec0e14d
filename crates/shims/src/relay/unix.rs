//! The system as a C library offers it, where the relay does not talk to the kernel directly.

use core::ffi::c_char;

#[cfg_attr(target_vendor = "apple", link(name = "System"))]
#[cfg_attr(not(target_vendor = "apple"), link(name = "c"))]
unsafe extern "C" {
    #[link_name = "open"]
    fn c_open(path: *const c_char, flags: i32, ...) -> i32;
    #[link_name = "close"]
    fn c_close(file: i32) -> i32;
    #[link_name = "read"]
    fn c_read(file: i32, buffer: *mut u8, count: usize) -> isize;
    #[link_name = "write"]
    fn c_write(file: i32, bytes: *const u8, count: usize) -> isize;
    fn lseek(file: i32, offset: i64, from: i32) -> i64;
    fn futimens(file: i32, times: *const [i64; 4]) -> i32;
    fn getcwd(buffer: *mut u8, size: usize) -> *const c_char;
    fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    fn getpid() -> i32;
    fn getppid() -> i32;
    fn getpgrp() -> i32;
    fn setpgid(process: i32, group: i32) -> i32;
    fn fork() -> i32;
    fn execve(path: *const u8, arguments: *const *const u8, environment: *const *const u8) -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    #[link_name = "kill"]
    fn c_kill(process: i32, signal: i32) -> i32;
    fn sigfillset(set: *mut Signals) -> i32;
    fn sigemptyset(set: *mut Signals) -> i32;
    fn sigdelset(set: *mut Signals, signal: i32) -> i32;
    fn sigprocmask(how: i32, new: *const Signals, old: *mut Signals) -> i32;
    #[link_name = "signal"]
    fn c_signal(signal: i32, action: usize) -> usize;
    fn setrlimit(resource: i32, limit: *const [u64; 2]) -> i32;
    fn calloc(count: usize, size: usize) -> *mut u8;
    fn _exit(code: i32) -> !;
    #[cfg_attr(target_vendor = "apple", link_name = "__error")]
    #[cfg_attr(not(target_vendor = "apple"), link_name = "__errno_location")]
    fn errno() -> *mut i32;
}

#[cfg(target_vendor = "apple")]
mod apple {
    //! What differs on Apple systems.
    pub const CLOSE_ON_EXEC: i32 = 0x0100_0000;
    pub const APPEND_CREATE_NONBLOCK_WRITE: i32 = 0x8 | 0x200 | 0x4 | 1;
    pub const CLOCK_MONOTONIC: i32 = 6;
    pub const SIG_SETMASK: i32 = 3;

    unsafe extern "C" {
        fn _NSGetExecutablePath(buffer: *mut u8, size: *mut u32) -> i32;
        fn realpath(path: *const u8, resolved: *mut u8) -> *const u8;
        fn sigwait(set: *const super::Signals, signal: *mut i32) -> i32;
    }

    pub mod signal {
        //! Numbers of signals.
        pub const KILL: i32 = 9;
        pub const CHLD: i32 = 20;
        pub const STOP: i32 = 17;
        pub const TSTP: i32 = 18;
        pub const TTIN: i32 = 21;
        pub const TTOU: i32 = 22;
        /// ILL, TRAP, EMT, FPE, BUS, SEGV, SYS.
        pub const FAULTS: [i32; 7] = [4, 5, 7, 8, 10, 11, 12];
    }

    /// The program's own file.
    pub fn own_executable(buffer: &mut [u8]) -> usize {
        let mut path = [0u8; 4096];
        let mut size = 4096;
        // SAFETY: the path has room for 4096 bytes, and the buffer for PATH_MAX, which is 1024.
        unsafe {
            if _NSGetExecutablePath(path.as_mut_ptr(), &raw mut size) != 0
                || realpath(path.as_ptr(), buffer.as_mut_ptr()).is_null()
            {
                return 0;
            }
        }
        buffer.iter().position(|byte| *byte == 0).unwrap_or(0)
    }

    pub fn wait_signal(set: &super::Signals, _millis: Option<u32>) -> Option<i32> {
        let mut signal = 0;
        // SAFETY: both have their place. There is no wait with a limit: it is only used against circles.
        (unsafe { sigwait(set, &raw mut signal) } == 0).then_some(signal)
    }

    /// Nothing tells a process of its parent's death here.
    pub fn die_with_parent() {}

    pub const FOLDER: i32 = 0x0010_0000;

    /// Nobody listens on a socket here: who calls could not be told.
    pub fn connect(_path: &[u8]) -> Option<i32> {
        None
    }

    pub fn send(_socket: i32, _bytes: &[u8]) {}
}

#[cfg(not(target_vendor = "apple"))]
mod linux {
    //! What differs on Linux.
    pub const CLOSE_ON_EXEC: i32 = 0o2_000_000;
    pub const APPEND_CREATE_NONBLOCK_WRITE: i32 = 0o2_000 | 0o100 | 0o4_000 | 1;
    pub const CLOCK_MONOTONIC: i32 = 1;
    pub const SIG_SETMASK: i32 = 2;

    unsafe extern "C" {
        fn readlink(path: *const u8, buffer: *mut u8, size: usize) -> isize;
        fn sigtimedwait(
            set: *const super::Signals,
            information: *mut u8,
            time: *const [i64; 2],
        ) -> i32;
        fn sigwaitinfo(set: *const super::Signals, information: *mut u8) -> i32;
        fn prctl(option: i32, ...) -> i32;
        fn socket(family: i32, kind: i32, protocol: i32) -> i32;
        fn setsockopt(socket: i32, level: i32, option: i32, value: *const [i64; 2], size: u32)
        -> i32;
        #[link_name = "connect"]
        fn c_connect(socket: i32, address: *const Address, size: u32) -> i32;
        #[link_name = "send"]
        fn c_send(socket: i32, bytes: *const u8, count: usize, flags: i32) -> isize;
    }

    pub const FOLDER: i32 = 0o10_000_000;

    /// An address in the file system.
    #[repr(C)]
    struct Address {
        family: u16,
        path: [u8; 108],
    }

    /// Connects to a socket with a path of at most 107 bytes (without NUL). No later call waits longer than two seconds.
    pub fn connect(path: &[u8]) -> Option<i32> {
        const UNIX: i32 = 1;
        const STREAM: i32 = 1;
        let mut address = Address {
            family: UNIX as u16,
            path: [0; 108],
        };
        address.path.get_mut(..path.len())?.copy_from_slice(path);
        // SAFETY: plain numbers, a timeval of two words, and an address that is as long as told.
        unsafe {
            let file = socket(UNIX, STREAM | CLOSE_ON_EXEC, 0);
            if file < 0 {
                return None;
            }
            for option in [20, 21] {
                setsockopt(file, 1, option, &[2, 0], 16);
            }
            if c_connect(file, &raw const address, size_of::<Address>() as u32) != 0 {
                super::close(file);
                return None;
            }
            Some(file)
        }
    }

    /// Sends all bytes, as far as the other end takes them in time.
    pub fn send(socket: i32, mut bytes: &[u8]) {
        const NO_SIGNAL: i32 = 0x4000;
        while !bytes.is_empty() {
            // SAFETY: the bytes are as many as told.
            let sent = unsafe { c_send(socket, bytes.as_ptr(), bytes.len(), NO_SIGNAL) };
            match usize::try_from(sent) {
                Ok(sent @ 1..) => bytes = bytes.get(sent..).unwrap_or_default(),
                _ => return,
            }
        }
    }

    pub mod signal {
        //! Numbers of signals.
        pub const KILL: i32 = 9;
        pub const CHLD: i32 = 17;
        pub const STOP: i32 = 19;
        pub const TSTP: i32 = 20;
        pub const TTIN: i32 = 21;
        pub const TTOU: i32 = 22;
        /// ILL, TRAP, BUS, FPE, SEGV, SYS.
        pub const FAULTS: [i32; 6] = [4, 5, 7, 8, 11, 31];
    }

    /// The file that a link in `/proc` names; `link` ends in NUL.
    pub fn executable(link: &[u8], buffer: &mut [u8]) -> usize {
        // SAFETY: the link ends in NUL and the buffer is as long as told.
        usize::try_from(unsafe { readlink(link.as_ptr(), buffer.as_mut_ptr(), buffer.len()) })
            .unwrap_or(0)
    }

    /// The program's own file.
    pub fn own_executable(buffer: &mut [u8]) -> usize {
        executable(b"/proc/self/exe\0", buffer)
    }

    pub fn wait_signal(set: &super::Signals, millis: Option<u32>) -> Option<i32> {
        let time = millis.map(|millis| {
            [
                i64::from(millis / 1000),
                i64::from(millis % 1000) * 1_000_000,
            ]
        });
        // SAFETY: the set and the time have their place, and nobody asks for more information.
        let signal = unsafe {
            match &time {
                Some(time) => sigtimedwait(set, core::ptr::null_mut(), time),
                None => sigwaitinfo(set, core::ptr::null_mut()),
            }
        };
        (signal > 0).then_some(signal)
    }

    pub fn die_with_parent() {
        // SAFETY: PR_SET_PDEATHSIG takes a signal.
        unsafe { prctl(1, signal::KILL as usize) };
    }
}

#[cfg(target_vendor = "apple")]
use apple as system;
#[cfg(not(target_vendor = "apple"))]
use linux as system;

#[cfg(not(target_vendor = "apple"))]
pub use linux::executable;
pub use system::{connect, own_executable, send, signal};

pub const ENOENT: i32 = 2;
pub const ENOEXEC: i32 = 8;

/// A set of signals, with room for every system's.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub struct Signals([u64; 16]);

/// Where a program begins.
#[unsafe(no_mangle)]
unsafe extern "C" fn main(
    _count: i32,
    arguments: *const *const u8,
    environment: *const *const u8,
) -> i32 {
    // SAFETY: the C library's promise to `main`.
    unsafe { super::relay(arguments, environment) }
}

/// Opens a file for reading; `path` ends in NUL.
pub fn open_to_read(path: &[u8]) -> Option<i32> {
    open(path, system::CLOSE_ON_EXEC)
}

/// Opens a folder to name what is in it; `path` ends in NUL.
pub fn open_folder(path: &[u8]) -> Option<i32> {
    open(path, system::CLOSE_ON_EXEC | system::FOLDER)
}

/// Waits for the byte that answers a connection.
pub fn is_answered(socket: i32) -> bool {
    read(socket, &mut [0]) == 1
}

/// Opens a log for appending, and makes it if it is not there; `path` ends in NUL. Never waits, whatever is there.
pub fn open_to_append(path: &[u8]) -> Option<i32> {
    open(
        path,
        system::CLOSE_ON_EXEC | system::APPEND_CREATE_NONBLOCK_WRITE,
    )
}

fn open(path: &[u8], flags: i32) -> Option<i32> {
    // SAFETY: the path ends in NUL.
    let file = unsafe { c_open(path.as_ptr().cast(), flags, 0o644) };
    (file >= 0).then_some(file)
}

pub fn close(file: i32) {
    // SAFETY: a plain number.
    unsafe { c_close(file) };
}

/// Reads once, and returns how much was read.
pub fn read(file: i32, buffer: &mut [u8]) -> usize {
    // SAFETY: the buffer is as long as told.
    usize::try_from(unsafe { c_read(file, buffer.as_mut_ptr(), buffer.len()) }).unwrap_or(0)
}

/// Writes once, and returns how much was written.
pub fn write(file: i32, bytes: &[u8]) -> usize {
    // SAFETY: the bytes are as many as told.
    usize::try_from(unsafe { c_write(file, bytes.as_ptr(), bytes.len()) }).unwrap_or(0)
}

/// Length of an open file.
pub fn length(file: i32) -> u64 {
    // SAFETY: plain numbers; 2 is the end of the file.
    u64::try_from(unsafe { lseek(file, 0, 2) }).unwrap_or(0)
}

/// Sets the modification time of an open file to now.
pub fn touch(file: i32) {
    // SAFETY: no times mean now.
    unsafe { futimens(file, core::ptr::null()) };
}

/// The current folder, without its NUL.
pub fn folder(buffer: &mut [u8]) -> usize {
    // SAFETY: the buffer is as long as told.
    if unsafe { getcwd(buffer.as_mut_ptr(), buffer.len()) }.is_null() {
        return 0;
    }
    buffer.iter().position(|byte| *byte == 0).unwrap_or(0)
}

fn clock(which: i32) -> (u64, u32) {
    let mut time = [0; 2];
    // SAFETY: a timespec is two words on 64-bit systems.
    unsafe { clock_gettime(which, &raw mut time) };
    (time[0] as u64, time[1] as u32)
}

/// Seconds and nanoseconds since 1970.
pub fn time_of_day() -> (u64, u32) {
    clock(0)
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic_ns() -> u64 {
    let (seconds, nanos) = clock(system::CLOCK_MONOTONIC);
    seconds * 1_000_000_000 + u64::from(nanos)
}

pub fn process() -> i32 {
    // SAFETY: no arguments.
    unsafe { getpid() }
}

pub fn parent() -> i32 {
    // SAFETY: no arguments.
    unsafe { getppid() }
}

pub fn leads_its_group() -> bool {
    // SAFETY: no arguments.
    unsafe { getpgrp() == getpid() }
}

/// Moves this process to a group of its own.
pub fn leave_group() {
    // SAFETY: plain numbers.
    unsafe { setpgid(0, 0) };
}

/// Starts a child that calls `begin(with)`, which must execute another program or exit: negative if there can be none.
pub fn start_child(begin: extern "C" fn(*const u8) -> !, with: *const u8) -> i32 {
    // SAFETY: the child has a copy of everything, and only this thread.
    let child = unsafe { fork() };
    if child == 0 {
        begin(with)
    }
    child
}

/// The child dies when this process does.
pub fn die_with_parent(expected: i32) {
    system::die_with_parent();
    if parent() != expected {
        exit(128 + signal::KILL);
    }
}

/// Becomes another program; returns an error number if that fails.
pub fn execute(path: *const u8, arguments: *const *const u8, environment: *const *const u8) -> i32 {
    // SAFETY: the lists are the system's own, or end in a null as they must.
    unsafe {
        execve(path, arguments, environment);
        *errno()
    }
}

/// Memory for `words` pointers, zeroed.
pub fn pointers(words: usize) -> *mut *const u8 {
    // SAFETY: plain numbers.
    unsafe { calloc(words, size_of::<usize>()) }.cast()
}

/// The state of a child, if it has ended: exit code or signal.
pub fn ended(child: i32) -> Option<Result<i32, i32>> {
    let mut status = 0;
    // SAFETY: the status has its place; 1 is WNOHANG.
    let result = unsafe { waitpid(child, &raw mut status, 1) };
    if result < 0 {
        return Some(Ok(255));
    }
    (result == child).then(|| match status & 0x7f {
        0 => Ok(status >> 8 & 0xff),
        signal => Err(signal),
    })
}

/// Sends a signal.
pub fn kill(process: i32, signal: i32) {
    // SAFETY: plain numbers.
    unsafe { c_kill(process, signal) };
}

fn all_but_faults() -> Signals {
    let mut set = Signals([0; 16]);
    // SAFETY: the set has room for every system's.
    unsafe {
        sigfillset(&raw mut set);
        for fault in signal::FAULTS {
            sigdelset(&raw mut set, fault);
        }
    }
    set
}

/// Holds all signals back, so that they are waited for; returns what was held back before.
pub fn hold_signals() -> Signals {
    let mut before = Signals([0; 16]);
    // SAFETY: both sets have room for every system's.
    unsafe { sigprocmask(system::SIG_SETMASK, &all_but_faults(), &raw mut before) };
    before
}

/// Holds back what was held back before.
pub fn restore_signals(before: Signals) {
    // SAFETY: the set came from `hold_signals`, or is empty.
    unsafe {
        sigprocmask(
            system::SIG_SETMASK,
            &raw const before,
            core::ptr::null_mut(),
        )
    };
}

/// Waits for a signal, for some milliseconds or without end: its number, and whether the terminal sent it (not told here).
pub fn next_signal(millis: Option<u32>) -> Option<(i32, bool)> {
    system::wait_signal(&all_but_faults(), millis).map(|signal| (signal, false))
}

/// Gives a signal an action, 0 (default) or 1 (ignored), and returns whether it was ignored before.
pub fn set_action(signal: i32, action: usize) -> bool {
    // SAFETY: neither action is a handler.
    unsafe { c_signal(signal, action) == 1 }
}

/// Dies of a signal, without leaving a second core dump.
pub fn die_of(signal: i32) -> ! {
    // SAFETY: an rlimit is two words; 4 is RLIMIT_CORE.
    unsafe { setrlimit(4, &[0; 2]) };
    set_action(signal, 0);
    kill(process(), signal);
    let mut none = Signals([0; 16]);
    // SAFETY: the set has room for every system's.
    unsafe { sigemptyset(&raw mut none) };
    restore_signals(none);
    exit(128 + signal)
}

pub fn exit(code: i32) -> ! {
    // SAFETY: it does not come back.
    unsafe { _exit(code) }
}
