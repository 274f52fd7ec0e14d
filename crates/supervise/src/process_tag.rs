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
pub(super) type ProcessTag = RangeInclusive<u64>;

#[cfg(target_os = "linux")]
pub(super) use linux::{of_process, with_tag};
#[cfg(not(target_os = "linux"))]
pub(super) use other::{of_process, with_tag};

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::sync::atomic::{AtomicU64, Ordering};

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::{NESTED, ProcessTag};

    /// Does something as a process with a tag that no other child has, if there is one left: who is started meanwhile
    /// inherits it. Nobody else may start a process at the same time.
    pub(in super::super) fn with_tag<T>(act: impl FnOnce() -> T) -> (T, Option<ProcessTag>) {
        let own = getrlimit(Resource::Locks);
        let tag = next(own.current);
        let put_on = |current| setrlimit(Resource::Locks, Rlimit { current, ..own }).is_ok();
        let worn = tag.filter(|tag| put_on(Some(*tag.end())));
        let done = act();
        put_on(own.current);
        (done, worn)
    }

    pub(super) fn next(own: Option<u64>) -> Option<ProcessTag> {
        static GIVEN: AtomicU64 = AtomicU64::new(0);
        let count = GIVEN.fetch_add(1, Ordering::Relaxed) + 1;
        match own {
            None => {
                let highest = (1 << 60) - count.checked_mul(NESTED)?;
                Some(highest - NESTED + 1..=highest)
            }
            // This process is itself tagged: its children stay within its tag.
            Some(own) => {
                let value = own.checked_sub(count % NESTED)?;
                Some(value..=value)
            }
        }
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
    use super::ProcessTag;

    pub(in super::super) fn with_tag<T>(act: impl FnOnce() -> T) -> (T, Option<ProcessTag>) {
        (act(), None)
    }

    pub(in super::super) fn of_process(_pid: u32) -> Option<u64> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn tags_do_not_overlap() {
        let tags = [0, 1, 2].map(|_| linux::next(None).expect("a tag"));
        for (index, one) in tags.iter().enumerate() {
            for other in &tags[index + 1..] {
                assert!(
                    one.end() < other.start() || other.end() < one.start(),
                    "{one:?} {other:?}"
                );
            }
        }
    }

    #[test]
    fn a_tagged_process_tags_within_its_own() {
        let outer = linux::next(None).expect("a tag");
        let inner = linux::next(Some(*outer.end())).expect("a tag");
        assert!(outer.contains(inner.start()) && outer.contains(inner.end()));
        assert!(!inner.contains(outer.end()));
    }
}
