//! The system calls of a jail, each behind a safe door: processes, namespaces, mounts.
#![expect(
    unsafe_code,
    reason = "fork, exec, unshare and the mount calls have no safe door in std or rustix"
)]

use std::convert::Infallible;
use std::ffi::{CStr, CString, c_int, c_long, c_ulong};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

/// The attributes of `mount_setattr(2)`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

const READ_ONLY: u64 = 0x1;
const ID_MAPPED: u64 = 0x0010_0000;
const PRIVATE: u64 = 1 << 18;
const AT_RECURSIVE: c_int = 0x8000;
const OPEN_TREE_CLONE: c_int = 1;
const MOVE_FROM_DESCRIPTOR: c_int = 0x4;

fn done(returned: c_int) -> io::Result<()> {
    if returned == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn number(returned: c_long) -> io::Result<c_int> {
    if returned < 0 {
        return Err(io::Error::last_os_error());
    }
    c_int::try_from(returned).map_err(io::Error::other)
}

fn optional(text: Option<&CStr>) -> *const libc::c_char {
    text.map_or(ptr::null(), CStr::as_ptr)
}

/// Which side of a fork this is.
pub(super) enum Side {
    /// The old process; the new one has this id.
    Parent(i32),
    /// The new process.
    Child,
}

/// Copies this process, which must have one thread.
pub(super) fn fork() -> io::Result<Side> {
    // SAFETY: the helper of a jail never starts a thread, so nothing is left in the middle of something.
    match unsafe { libc::fork() } {
        0 => Ok(Side::Child),
        pid if pid > 0 => Ok(Side::Parent(pid)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Ends this process at once, without any of the work of an orderly exit.
pub(super) fn leave(code: i32) -> ! {
    // SAFETY: never returns and touches no memory.
    unsafe { libc::_exit(code) }
}

/// Leaves namespaces for new ones.
pub(super) fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: plain numbers; no namespace of threads or memory is among the flags that are used here.
    done(unsafe { libc::unshare(flags) })
}

/// Enters the user namespace of a descriptor, as its root.
pub(super) fn enter_as_root(namespace: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: plain numbers; this process has one thread, so it has these ids as a whole.
    unsafe {
        done(libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWUSER))?;
        done(libc::setgroups(0, ptr::null()))?;
        done(libc::setresgid(0, 0, 0))?;
        done(libc::setresuid(0, 0, 0))
    }
}

/// What is mounted, where, and how.
#[derive(Default)]
pub(super) struct NewMount<'a> {
    pub(super) kind: &'a CStr,
    pub(super) at: &'a CStr,
    pub(super) flags: c_ulong,
    pub(super) options: Option<&'a CStr>,
}

/// Mounts a file system that needs no device.
pub(super) fn mount(new: &NewMount<'_>) -> io::Result<()> {
    // SAFETY: all texts end in NUL and live until the call is over.
    done(unsafe {
        libc::mount(
            new.kind.as_ptr(),
            new.at.as_ptr(),
            new.kind.as_ptr(),
            new.flags,
            optional(new.options).cast(),
        )
    })
}

/// A copy of what is seen at `path`, with everything that is mounted below; it is attached nowhere yet.
pub(super) fn copy_of(path: &CStr) -> io::Result<OwnedFd> {
    let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC | AT_RECURSIVE;
    // SAFETY: the path ends in NUL; the rest are plain numbers.
    let opened =
        unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) };
    // SAFETY: the kernel has just given this descriptor to nobody else.
    number(opened).map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Attaches a copy at `path`.
pub(super) fn attach(copy: BorrowedFd<'_>, path: &CStr) -> io::Result<()> {
    // SAFETY: both paths end in NUL; the rest are plain numbers.
    let moved = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            copy.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            path.as_ptr(),
            MOVE_FROM_DESCRIPTOR,
        )
    };
    number(moved).map(drop)
}

fn set(place: (c_int, &CStr), flags: c_int, attributes: &MountAttributes) -> io::Result<()> {
    // SAFETY: the path ends in NUL, and the kernel reads as many bytes of the attributes as it is told.
    let changed = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            place.0,
            place.1.as_ptr(),
            flags,
            ptr::from_ref(attributes),
            size_of::<MountAttributes>(),
        )
    };
    number(changed).map(drop)
}

const READ_ONLY_AND_PRIVATE: MountAttributes = MountAttributes {
    set: READ_ONLY,
    clear: 0,
    propagation: PRIVATE,
    user_namespace: 0,
};

/// Lets nobody write below `path`, and no later mount of the world outside show up there.
pub(super) fn seal(path: &CStr) -> io::Result<()> {
    set((libc::AT_FDCWD, path), AT_RECURSIVE, &READ_ONLY_AND_PRIVATE)
}

/// The same for what is mounted at `path` alone, not for what is mounted below.
pub(super) fn seal_alone(path: &CStr) -> io::Result<()> {
    set((libc::AT_FDCWD, path), 0, &READ_ONLY_AND_PRIVATE)
}

/// The same for a copy that is attached nowhere yet.
pub(super) fn seal_copy(copy: BorrowedFd<'_>) -> io::Result<()> {
    let flags = AT_RECURSIVE | libc::AT_EMPTY_PATH;
    set((copy.as_raw_fd(), c""), flags, &READ_ONLY_AND_PRIVATE)
}

/// Lets the owners of files in a copy be seen as a user namespace maps them.
pub(super) fn map_owners(copy: BorrowedFd<'_>, namespace: BorrowedFd<'_>) -> io::Result<()> {
    let attributes = MountAttributes {
        set: ID_MAPPED,
        clear: 0,
        propagation: PRIVATE,
        user_namespace: u64::try_from(namespace.as_raw_fd()).unwrap_or_default(),
    };
    set((copy.as_raw_fd(), c""), libc::AT_EMPTY_PATH, &attributes)
}

/// Becomes another program; only a failure comes back.
pub(super) fn execute(
    program: &CStr,
    arguments: &[CString],
    environment: &[CString],
) -> Result<Infallible, io::Error> {
    let list = |texts: &[CString]| -> Vec<*const libc::c_char> {
        let pointers = texts.iter().map(|text| text.as_ptr());
        pointers.chain([ptr::null()]).collect()
    };
    let (arguments, environment) = (list(arguments), list(environment));
    // SAFETY: both lists end in a null and point to texts that live as long as this process is this program.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    Err(io::Error::last_os_error())
}

/// Holds all signals back; they are read from the descriptor instead.
pub(super) fn signals_as_file() -> io::Result<OwnedFd> {
    let mut all = MaybeUninit::uninit();
    // SAFETY: the set is filled before it is read, and the new descriptor belongs to nobody else.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        done(libc::sigprocmask(
            libc::SIG_SETMASK,
            all.as_ptr(),
            ptr::null_mut(),
        ))?;
        let descriptor = libc::signalfd(-1, all.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        number(descriptor.into()).map(|descriptor| OwnedFd::from_raw_fd(descriptor))
    }
}

/// Lets all signals through again.
pub(super) fn release_signals() -> io::Result<()> {
    let mut none = MaybeUninit::uninit();
    // SAFETY: the set is emptied before it is read.
    unsafe {
        libc::sigemptyset(none.as_mut_ptr());
        done(libc::sigprocmask(
            libc::SIG_SETMASK,
            none.as_ptr(),
            ptr::null_mut(),
        ))
    }
}

/// Takes default actions for all signals again: the runtime of Rust ignores one of them.
pub(super) fn default_actions() {
    for signal in [libc::SIGPIPE, libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the default action needs no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Ignores what a terminal or a person may send to a whole group.
pub(super) fn ignore_wishes() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        // SAFETY: ignoring needs no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
}

/// Dies when the parent does.
pub(super) fn die_with_parent() -> io::Result<()> {
    // SAFETY: plain numbers.
    done(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) })
}

/// Lets no other process of this user look into this one or take hold of it.
pub(super) fn hide_memory() -> io::Result<()> {
    // SAFETY: plain numbers.
    done(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) })
}

/// Lets this user look into this process again, and write the maps of its namespace.
pub(super) fn show_memory() -> io::Result<()> {
    // SAFETY: plain numbers.
    done(unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) })
}

/// Closes all descriptors from this number on.
pub(super) fn close_from(first: u32) {
    // SAFETY: whoever calls this has no use for any of them any more; objects that own one are forgotten.
    unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0u32) };
}

/// Lets all descriptors but the standard streams be closed when another program takes over.
pub(super) fn seal_descriptors() {
    // SAFETY: gives a flag to descriptors and closes none.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3u32,
            u32::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
}

/// Closes the standard streams.
pub(super) fn close_standard_streams() {
    // SAFETY: the helper of a jail says nothing; what it opens later may take these numbers, which harms nobody.
    unsafe { libc::syscall(libc::SYS_close_range, 0u32, 2u32, 0u32) };
}

/// A descriptor that this process was started with.
pub(super) fn inherited(number: c_int) -> OwnedFd {
    // SAFETY: the parent has put it there for this process, and it is taken once.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Whether a descriptor is readable or its other side is gone; `None` after a signal.
pub(super) fn wait_for(descriptors: [BorrowedFd<'_>; 2]) -> Option<[bool; 2]> {
    let poll = |one: &BorrowedFd<'_>| libc::pollfd {
        fd: one.as_fd().as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut polled = [poll(&descriptors[0]), poll(&descriptors[1])];
    // SAFETY: two entries are there, as the call is told.
    let ready = unsafe { libc::poll(polled.as_mut_ptr(), 2, -1) };
    (ready > 0).then(|| polled.map(|one| one.revents != 0))
}

/// Sends a signal to all of this PID namespace but its process 1: at once, so that nobody is born meanwhile who is spared.
pub(super) fn signal_all(signal: rustix::process::Signal) {
    // SAFETY: plain numbers; process 1 is never among those that it signals so.
    unsafe { libc::kill(-1, signal.as_raw()) };
}
