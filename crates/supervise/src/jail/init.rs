//! Process 1 of a jail: it assembles the view, starts the program, reaps, and is the end of all when it exits.

use std::os::fd::{AsFd, OwnedFd};

use rustix::io::Errno;
use rustix::process::{Signal, kill_process_group};

use super::super::walls::Ask;
use super::census::{APART, Census};
use super::child_setup::{self, Birth};
use super::reaper::Reaper;
use super::sys;
use super::users::Users;
use super::view;
use super::view::Copies;
use super::wire::{Order, Said, Step, at, tell};

/// What goes from the launcher to the init process.
pub(super) struct Inside {
    pub(super) order: Order,
    pub(super) asks: OwnedFd,
    pub(super) says: OwnedFd,
    pub(super) users: Users,
    pub(super) copies: Copies,
}

/// How often a killed program is asked for its status, a millisecond apart: one that hangs in the kernel gives none.
const LAST_LOOKS: u32 = 20;

/// Lives the life of process 1.
pub(super) fn keep(inside: Inside) -> ! {
    sys::leave(match life(inside) {
        Ok(()) => 0,
        Err(()) => 1,
    })
}

fn life(inside: Inside) -> Result<(), ()> {
    let Inside {
        order,
        asks,
        says,
        users,
        copies,
    } = inside;
    let prepared = sys::die_with_parent()
        .map_err(at(Step::Fork))
        .and_then(|()| view::assemble(&order.jail, &copies).map_err(at(Step::View)))
        .and_then(|()| view::fresh_proc().map_err(at(Step::Proc)))
        .and_then(|()| sys::signals_as_file().map_err(at(Step::Fork)));
    drop(copies);
    let born = prepared.and_then(|signals| Ok((signals, child_setup::bear(&order, &users)?)));
    let (signals, birth) =
        born.map_err(|(step, error)| tell(&says, &Said::not_made(step, &error)))?;
    // Nobody but the program may hold its streams open.
    sys::close_standard_streams();
    sys::hide_memory().ok();
    match birth {
        Birth::Failed(error) => {
            tell(&says, &Said::NotStarted(error));
            Err(())
        }
        Birth::Tried => {
            tell(&says, &Said::Started(u64::from(users.are_strangers()), 0));
            Ok(())
        }
        Birth::Lives { pid, since } => {
            tell(&says, &Said::Started(since, 0));
            Watch {
                asks,
                says,
                reaper: Reaper::new(signals, pid),
                census: Census::begun(),
            }
            .run();
            Ok(())
        }
    }
}

struct Watch {
    asks: OwnedFd,
    says: OwnedFd,
    reaper: Reaper,
    census: Census,
}

impl Watch {
    /// Reaps and obeys until nobody is left, or the harness wants an end or is gone.
    fn run(mut self) {
        loop {
            if self.reap() {
                return;
            }
            tell_of(&self.says, self.census.look());
            match sys::wait_for([self.asks.as_fd(), self.reaper.signals()], APART) {
                Some([true, _]) if self.obey() => return self.end(),
                Some([_, true]) => self.reaper.forget_signals(),
                _ => {}
            }
        }
    }

    /// Reaps all that have died; whether nobody is left.
    fn reap(&mut self) -> bool {
        let (says, census) = (&self.says, &mut self.census);
        self.reaper.reap(|exit, alone| {
            tell_of(says, census.rest());
            tell(says, &Said::Left(exit, alone));
        })
    }

    /// Does what the harness asks; whether it wants an end, or is gone.
    fn obey(&self) -> bool {
        let mut asked = [0; 1];
        match rustix::io::read(&self.asks, &mut asked) {
            Ok(1) => {
                let signal = match asked[0] {
                    byte if byte == Ask::Interrupt as u8 => Signal::INT,
                    byte if byte == Ask::Terminate as u8 => Signal::TERM,
                    _ => return false,
                };
                if let Some(program) = self.reaper.program {
                    // Nobody moves until all have been asked.
                    sys::signal_all(Signal::STOP);
                    kill_process_group(program, signal).ok();
                    sys::signal_all(Signal::CONT);
                }
                false
            }
            Err(Errno::INTR | Errno::AGAIN) => false,
            Ok(_) | Err(_) => true,
        }
    }

    /// Kills everybody and tells how the program left, if it has not left before.
    fn end(mut self) {
        sys::signal_all(Signal::KILL);
        for _ in 0..LAST_LOOKS {
            if self.reaper.program.is_none() || self.reap() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

fn tell_of(says: &OwnedFd, processes: Option<u64>) {
    if let Some(count) = processes {
        tell(says, &Said::Most(count));
    }
}
