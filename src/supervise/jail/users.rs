//! Who a jailed program is: the user that it would be outside, and nobody else.

use std::fs;
use std::io;

use rustix::process::{getgid, getuid};

use super::door::{Failed, at};
use super::sys;
use super::wire::Step;

/// The namespaces of a jail.
const NAMESPACES: i32 =
    libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;

/// Which users exist in a jail, as maps of user and group ids.
#[derive(Debug, Clone)]
pub(super) struct Users {
    users: String,
    groups: String,
}

impl Users {
    /// This user alone, under the same number.
    pub(super) fn own() -> Self {
        let (user, group) = (getuid().as_raw(), getgid().as_raw());
        Self {
            users: format!("{user} {user} 1"),
            groups: format!("{group} {group} 1"),
        }
    }

    /// Writes the maps of a process that has just entered a user namespace.
    pub(super) fn write(&self, process: &str) -> io::Result<()> {
        // A process without rights outside may map its group only after it has given up changing groups.
        fs::write(format!("/proc/{process}/setgroups"), "deny")?;
        fs::write(format!("/proc/{process}/uid_map"), &self.users)?;
        fs::write(format!("/proc/{process}/gid_map"), &self.groups)
    }
}

/// Enters the namespaces of a new jail; the next child of this process is the first in it.
pub(super) fn enter() -> Result<Users, Failed> {
    let users = Users::own();
    sys::unshare(NAMESPACES).map_err(at(Step::Namespaces))?;
    users.write("self").map_err(at(Step::Users))?;
    Ok(users)
}
