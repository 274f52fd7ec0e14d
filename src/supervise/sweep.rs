//! The end of everything that belongs to a trial.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::model::Leftover;

use super::processes::{self, Process};
use super::trial::{Surroundings, Trial};
use super::{kill, registry};

/// The longest that a sweep hunts processes that start others as fast as they die.
const HUNT: Duration = Duration::from_secs(3);

/// Whoever dies of the end of another gets so long: a tool whose shim was killed, a shim that still logs its call.
const MOMENT: Duration = Duration::from_millis(3);

/// Shims get at most so long to log calls whose tools were killed.
const PATIENCE: Duration = Duration::from_millis(30);

/// What a sweep found.
#[derive(Debug, Default)]
pub(super) struct Swept {
    /// Who was killed, each once.
    pub(super) leftovers: Vec<Leftover>,
    /// Whether somebody is still alive.
    pub(super) uncontained: bool,
}

/// Kills the group of a living first process and everything else of its trial.
///
/// Left over is who had left the session: the others are the child itself, shims that wait for their tools included.
pub(super) fn with_leader(trial: &Trial) -> Swept {
    let mut hunt = Hunt::new(trial);
    hunt.session_is_the_child = true;
    let alive = hunt.alive();
    for process in &alive {
        hunt.report(process);
    }
    kill::group(trial.pid, Signal::KILL);
    let others = alive.iter().filter(|process| process.group != trial.pid);
    kill_but_waiting(others);
    hunt.run()
}

/// Finds who is in a jail and kills all of them that are seen; whoever is not dies with the jail.
pub(super) fn in_jail(trial: &Trial) -> Swept {
    let mut hunt = Hunt::new(trial);
    hunt.session_is_the_child = true;
    let alive = hunt.alive();
    for process in &alive {
        hunt.report(process);
    }
    kill_but_waiting(alive.iter());
    hunt.swept
}

/// Kills everything that has outlived the first process, which has been reaped.
pub(super) fn without_leader(trial: &Trial) -> Swept {
    let mut hunt = Hunt::new(trial);
    if !hunt.alive().is_empty() {
        thread::sleep(MOMENT);
    }
    let alive = hunt.alive();
    for process in &alive {
        hunt.report(process);
    }
    kill_but_waiting(alive.iter());
    hunt.run()
}

/// Whether a process stands in its session as a shim does that waits for its tool: leader of a group of its own. So do the
/// jobs of an interactive shell, which die a little later for it.
fn may_be_waiting(process: &Process) -> bool {
    process.group == process.pid && process.session != process.pid
}

/// Kills all but those that may be shims, and gives these time to tell how their tools ended.
fn kill_but_waiting<'p>(processes: impl Iterator<Item = &'p Process>) {
    let (waiting, others): (Vec<_>, Vec<_>) =
        processes.partition(|process| may_be_waiting(process));
    others.into_iter().for_each(kill::one);
    let patient_until = Instant::now() + PATIENCE;
    let lives = |process: &&Process| processes::start_of(process.pid) == Some(process.start);
    while waiting.iter().any(lives) && Instant::now() < patient_until {
        thread::sleep(MOMENT);
    }
}

struct Hunt<'a> {
    trial: &'a Trial,
    known: BTreeSet<(u32, u64)>,
    session_is_the_child: bool,
    swept: Swept,
}

impl<'a> Hunt<'a> {
    fn new(trial: &'a Trial) -> Self {
        Self {
            trial,
            known: BTreeSet::new(),
            session_is_the_child: false,
            swept: Swept::default(),
        }
    }

    /// Kills pass by pass until nobody is left, or for [`HUNT`].
    fn run(mut self) -> Swept {
        let begun = Instant::now();
        let mut rest = Duration::from_millis(1);
        loop {
            let alive = self.alive();
            for process in &alive {
                self.report(process);
                kill::one(process);
            }
            registry::reap_orphans();
            if alive.is_empty() {
                return self.swept;
            }
            if begun.elapsed() > HUNT {
                self.swept.uncontained = true;
                return self.swept;
            }
            thread::sleep(rest);
            rest = (rest * 2).min(Duration::from_millis(20));
        }
    }

    /// Members of the trial that live. A process once seen belongs for ever.
    fn alive(&self) -> Vec<Process> {
        let all = processes::snapshot();
        let around = Surroundings::of(self.trial);
        let members = self.trial.members(&all, &around);
        let member_pids: BTreeSet<u32> = members.iter().map(|process| process.pid).collect();
        all.iter()
            .filter(|process| {
                !process.gone
                    && !self.trial.wardens.contains(&process.pid)
                    && (member_pids.contains(&process.pid)
                        || self.known.contains(&(process.pid, process.start)))
            })
            .cloned()
            .collect()
    }

    fn report(&mut self, process: &Process) {
        let is_the_child = self.session_is_the_child
            && [process.session, process.group].contains(&self.trial.leader);
        if self.known.insert((process.pid, process.start)) && !is_the_child {
            self.swept.leftovers.push(Leftover {
                pid: process.pid,
                ppid: process.parent,
                argv: processes::argv(process.pid),
            });
        }
    }
}
