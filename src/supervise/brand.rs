//! A mark that every descendant of a child carries, whatever it does to its name, session, folder or environment.
//!
//! Linux keeps a resource limit that nothing has used since 2.4 (`RLIMIT_LOCKS`), hands it down through every fork and
//! exec, and shows it in `/proc/PID/limits`. Each child gets its own value there. It is no wall (a process may lower it),
//! but nobody loses it by accident, and it tells the orphans of concurrent trials apart.

use std::ops::RangeInclusive;

/// Values below a child's own that belong to what runs under a proctor inside it.
#[cfg(target_os = "linux")]
const NESTED: u64 = 1 << 20;

/// The values that mark a child and its descendants.
pub(super) type Brand = RangeInclusive<u64>;

#[cfg(target_os = "linux")]
pub(super) use linux::{next, of_process, put_on};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{next, of_process, put_on};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::sync::atomic::{AtomicU64, Ordering};

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::{Brand, NESTED};

    /// A brand that no other child has, if there is one left.
    pub(in super::super) fn next() -> Option<Brand> {
        static GIVEN: AtomicU64 = AtomicU64::new(0);
        let count = GIVEN.fetch_add(1, Ordering::Relaxed) + 1;
        let limit = getrlimit(Resource::Locks);
        match (limit.maximum, limit.current) {
            (None, _) => {
                let highest = (1 << 60) - count.checked_mul(NESTED)?;
                Some(highest - NESTED + 1..=highest)
            }
            // This process is itself branded: its children stay within its brand.
            (Some(own), _) => {
                let value = own.checked_sub(count % NESTED)?;
                Some(value..=value)
            }
        }
    }

    /// Brands this process. One system call: fit for a child between fork and exec.
    pub(in super::super) fn put_on(brand: &Brand) {
        let value = Some(*brand.end());
        let _ = setrlimit(
            Resource::Locks,
            Rlimit {
                current: value,
                maximum: value,
            },
        );
    }

    /// The value that a process carries.
    pub(in super::super) fn of_process(pid: u32) -> Option<u64> {
        let limits = fs::read_to_string(format!("/proc/{pid}/limits")).ok()?;
        let line = limits
            .lines()
            .find_map(|line| line.strip_prefix("Max file locks"))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    }
}

/// No such mark is known elsewhere.
#[cfg(not(target_os = "linux"))]
mod other {
    use super::Brand;

    pub(in super::super) fn next() -> Option<Brand> {
        None
    }

    pub(in super::super) fn put_on(_brand: &Brand) {}

    pub(in super::super) fn of_process(_pid: u32) -> Option<u64> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn brands_do_not_overlap() {
        let (one, two) = (next().expect("a brand"), next().expect("a brand"));
        assert!(
            two.end() < one.start() || one.end() < two.start(),
            "{one:?} {two:?}"
        );
    }
}
