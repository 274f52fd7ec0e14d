//! A network namespace that holds nothing but a loopback of its own.
#![expect(
    unsafe_code,
    reason = "an interface is switched on by an ioctl that has no safe door in rustix"
)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::sys;

/// Leaves the network for an empty one; this process must own its user namespace. Abstract Unix sockets stay behind, too.
pub(super) fn leave() -> io::Result<()> {
    sys::unshare(libc::CLONE_NEWNET)?;
    loopback_up()
}

/// Programs expect to reach themselves.
fn loopback_up() -> io::Result<()> {
    // SAFETY: plain numbers; the descriptor is checked before it is owned.
    let socket = unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(socket)
    };
    // SAFETY: all zeroes are a request about no interface.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (place, letter) in request.ifr_name.iter_mut().zip(*b"lo") {
        *place = letter.cast_signed();
    }
    // SAFETY: the request is one of interface flags, which the kernel fills and reads; it lives until the calls are over.
    unsafe {
        done(libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCGIFFLAGS,
            &raw mut request,
        ))?;
        request.ifr_ifru.ifru_flags |= 1; // IFF_UP
        done(libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS,
            &raw const request,
        ))
    }
}

fn done(returned: libc::c_int) -> io::Result<()> {
    if returned == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
