//! A network of loopback alone for this process and all that it starts (Linux): what asks for the world asks nobody.

use std::path::Path;

/// Leaves the network: afterwards 127.0.0.1 is up, every other address is unreachable, and programs look up names at
/// 127.0.0.1, since the file `resolver` stands for `/etc/resolv.conf`. There is no way back.
///
/// Only the calling thread leaves, so it must be the only one; threads and children of later have its network.
///
/// # Errors
/// Why this machine does not allow it, as a fragment.
pub fn leave_network(resolver: &Path) -> Result<(), String> {
    system::leave_network(resolver)
}

/// How often somebody in this network asked for an address to which no way leads: connections and packets, not names. The
/// kernel counts them for each network, so after [`leave_network`] it is every address of the world.
#[must_use]
pub fn strayed() -> u64 {
    let read = |file: &str| std::fs::read_to_string(file).unwrap_or_default();
    in_table(&read("/proc/net/snmp")) + in_list(&read("/proc/net/snmp6"))
}

/// A line of names, and one of values.
fn in_table(snmp: &str) -> u64 {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Ip: "));
    let (names, values) = (lines.next(), lines.next());
    let mut pairs = names
        .into_iter()
        .flat_map(str::split_whitespace)
        .zip(values.into_iter().flat_map(str::split_whitespace));
    let found = pairs.find(|(name, _)| *name == "OutNoRoutes");
    found.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
}

/// A name and a value a line.
fn in_list(snmp: &str) -> u64 {
    let mut values = snmp
        .lines()
        .filter_map(|line| line.strip_prefix("Ip6OutNoRoutes"));
    let value = values.next().and_then(|value| value.trim().parse().ok());
    value.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_nowhere_is_counted_for_both_kinds_of_addresses() {
        let snmp = "Ip: Forwarding InReceives OutNoRoutes ReasmTimeout\nIp: 1 22 3 0\nIcmp: InMsgs\nIcmp: 4\n";
        assert_eq!(in_table(snmp), 3);
        assert_eq!(in_list("Ip6InReceives  \t7\nIp6OutNoRoutes      \t5\n"), 5);
        assert_eq!((in_table(""), in_list("Ip6OutNoRoutes x")), (0, 0));
    }
}

#[cfg(target_os = "linux")]
pub(super) use system::loopback_up;

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn leave_network(_resolver: &std::path::Path) -> Result<(), String> {
        Err("only Linux has networks of loopback alone".to_owned())
    }
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "namespaces, mounts and the flags of a network interface have no safe door in std or rustix"
)]
mod system {
    use std::ffi::{CStr, CString};
    use std::fs;
    use std::io;
    use std::net::{Ipv4Addr, UdpSocket};
    use std::os::fd::AsRawFd as _;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;
    use std::ptr;

    use rustix::process::{getgid, getuid};

    const PLACES: libc::c_int = libc::CLONE_NEWNET | libc::CLONE_NEWNS;

    pub(super) fn leave_network(resolver: &Path) -> Result<(), String> {
        let failed = |what: &'static str| move |error: io::Error| format!("{what}: {error}");
        let (user, group) = (getuid().as_raw(), getgid().as_raw());
        if unshare(PLACES).is_err() {
            unshare(PLACES | libc::CLONE_NEWUSER).map_err(failed("make a network namespace"))?;
            let maps = [
                ("setgroups", "deny".to_owned()),
                ("uid_map", format!("{user} {user} 1")),
                ("gid_map", format!("{group} {group} 1")),
            ];
            for (file, text) in maps {
                fs::write(format!("/proc/self/{file}"), text)
                    .map_err(failed("map the user into a namespace"))?;
            }
        }
        loopback_up().map_err(failed("bring up the loopback interface"))?;
        lay_over(resolver, c"/etc/resolv.conf").map_err(failed("stand in for /etc/resolv.conf"))
    }

    fn done(returned: libc::c_int) -> io::Result<()> {
        if returned == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    fn unshare(flags: libc::c_int) -> io::Result<()> {
        // SAFETY: plain numbers; no namespace of memory or descriptors is among the flags.
        done(unsafe { libc::unshare(flags) })
    }

    /// Brings up the loopback of the network that this thread has.
    pub(crate) fn loopback_up() -> io::Result<()> {
        let any = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        // SAFETY: all bits zero are an interface without a name.
        let mut interface: libc::ifreq = unsafe { std::mem::zeroed() };
        for (place, byte) in interface.ifr_name.iter_mut().zip(*b"lo") {
            *place = libc::c_char::from_ne_bytes([byte]);
        }
        interface.ifr_ifru.ifru_flags =
            libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).map_err(io::Error::other)?;
        // SAFETY: the kernel reads one interface, which lives until the call is over.
        done(unsafe {
            libc::ioctl(
                any.as_raw_fd(),
                libc::SIOCSIFFLAGS,
                ptr::from_ref(&interface),
            )
        })
    }

    /// Lets `from` be seen at `at`, in this process's view of the file system alone.
    fn lay_over(from: &Path, at: &CStr) -> io::Result<()> {
        let from = CString::new(from.as_os_str().as_bytes())?;
        let mount = |from: &CStr, at: &CStr, flags| {
            // SAFETY: both texts end in NUL and live until the call is over; the rest is nothing.
            done(unsafe {
                libc::mount(from.as_ptr(), at.as_ptr(), ptr::null(), flags, ptr::null())
            })
        };
        mount(c"none", c"/", libc::MS_REC | libc::MS_SLAVE)?;
        mount(&from, at, libc::MS_BIND)
    }
}
