//! How long threads could run and got no processor, as far as the system tells.

use std::collections::BTreeMap;
use std::time::Duration;

/// One thread at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thread {
    /// How long it has run.
    pub(super) ran: Duration,
    /// How long it has waited for a processor; the wait that goes on is not in it.
    pub(super) delayed: Duration,
    /// How often it got one.
    pub(super) turns: u64,
    /// Whether it runs, or waits for a processor.
    pub(super) is_runnable: bool,
}

/// The threads of some processes by their ids; nobody where the system tells nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Waits(BTreeMap<u32, Thread>);

impl Waits {
    /// As they are now.
    pub(super) fn of(pids: impl Iterator<Item = u32>) -> Self {
        Self(pids.flat_map(threads).collect())
    }

    /// How much of the `span` since `before` they have waited, all together.
    pub(super) fn since(&self, before: &Self, span: Duration) -> Duration {
        let waits = self.0.iter().map(|(id, now)| match before.0.get(id) {
            Some(then) if now.still_waits(then) => span,
            Some(then) => now.delayed.saturating_sub(then.delayed),
            None => now.delayed,
        });
        waits
            .fold(Duration::ZERO, Duration::saturating_add)
            .min(span)
    }
}

impl Thread {
    /// Whether this is one wait that has gone on since `then`: it is counted by the system when it ends.
    fn still_waits(&self, then: &Self) -> bool {
        let is_same = (self.turns, self.ran) == (then.turns, then.ran) && self.turns > 0;
        is_same && self.is_runnable && then.is_runnable
    }
}

#[cfg(target_os = "linux")]
fn threads(pid: u32) -> Vec<(u32, Thread)> {
    let folder = format!("/proc/{pid}/task");
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let read = |id: u32, file: &str| std::fs::read(format!("{folder}/{id}/{file}")).ok();
    ids.filter_map(|id| {
        let told = parse(&read(id, "schedstat")?, &read(id, "stat")?)?;
        Some((id, told))
    })
    .collect()
}

#[cfg(not(target_os = "linux"))]
fn threads(_pid: u32) -> Vec<(u32, Thread)> {
    Vec::new()
}

/// `proc(5)`: nanoseconds that it ran and waited, and how often it ran; its state stands behind its name.
#[cfg(any(target_os = "linux", test))]
fn parse(schedstat: &[u8], stat: &[u8]) -> Option<Thread> {
    let figures = std::str::from_utf8(schedstat).ok()?;
    let mut figures = figures.split_ascii_whitespace().map(str::parse);
    let mut figure = || figures.next()?.ok();
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    Some(Thread {
        ran: Duration::from_nanos(figure()?),
        delayed: Duration::from_nanos(figure()?),
        turns: figure()?,
        is_runnable: stat.get(name_end + 2) == Some(&b'R'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(10);

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn thread(delayed: u64, turns: u64, is_runnable: bool) -> Thread {
        Thread {
            ran: s(1),
            delayed: s(delayed),
            turns,
            is_runnable,
        }
    }

    #[test]
    fn waits_that_ended_and_those_that_go_on_count_and_sleep_does_not() {
        let waited = |then: Option<Thread>, now: Thread| {
            let before = Waits(then.map(|then| (7, then)).into_iter().collect());
            Waits(BTreeMap::from([(7, now)])).since(&before, SPAN)
        };
        // Asleep: it wakes now and then.
        let asleep = thread(2, 5, false);
        assert_eq!(waited(Some(asleep), asleep), s(0));
        // It had to wait, and ran.
        assert_eq!(waited(Some(asleep), thread(6, 9, false)), s(4));
        assert_eq!(waited(None, thread(3, 2, false)), s(3));
        // It has waited all along, and the system counts that when it runs.
        let ready = thread(2, 5, true);
        assert_eq!(waited(Some(ready), ready), SPAN);
        assert_eq!(waited(Some(ready), thread(22, 6, true)), SPAN);
        // It has run all along, which is no wait.
        let runs = Thread {
            ran: s(11),
            ..ready
        };
        assert_eq!(waited(Some(ready), runs), s(0));
        // A kernel that counts nothing.
        let unknown = thread(0, 0, true);
        assert_eq!(waited(Some(unknown), unknown), s(0));
        assert_eq!(Waits::default().since(&Waits::default(), SPAN), s(0));
    }

    #[test]
    fn waits_of_several_threads_are_no_longer_than_the_span() {
        let all = |delayed| Waits((0..4).map(|id| (id, thread(delayed, 5, false))).collect());
        assert_eq!(all(3).since(&all(1), SPAN), s(8));
        assert_eq!(all(9).since(&all(1), SPAN), SPAN);
    }

    #[test]
    fn a_thread_is_read_whatever_its_name_is() {
        let stat = b"7 (a) S 1) R 1 2 3";
        let read = parse(b"1000000000 2000000000 5\n", stat);
        assert_eq!(read, Some(thread(2, 5, true)));
        assert_eq!(parse(b"", stat), None);
    }
}
