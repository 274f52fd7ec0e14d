//! The end of a watched child: whoever is left is killed, the last bytes are read, and it is told.

use std::time::Duration;

use super::Watch;
use crate::ending::{ChildEnding, EndReason, Exit};
use crate::lifecycle::UNKILLABLE;
use crate::registry;
use crate::spec::{Listener, OutputStream};
use crate::sweep::{self, Swept};
use crate::tap::Ear;
use crate::trial::Trial;
use crate::walls::Ask;
use proctor_model::Leftover;

/// How long the last bytes are read after everybody who could write them was killed.
const LAST_BYTES: Duration = Duration::from_millis(100);

/// How long the end of the output is looked for once more before somebody is said to hold it.
const LATE_END: Duration = Duration::from_millis(5);

impl Watch<'_> {
    /// Kills whoever is left, reads the last bytes, and tells.
    pub(super) async fn clean_up(mut self, listener: &mut dyn Listener) -> ChildEnding {
        if self.exited {
            // A listener that was slow with a long line has not seen yet that the output ended with the child.
            let _ = tokio::time::timeout(LATE_END, self.last_bytes(listener)).await;
        }
        self.ending.leak = self.exited && (self.stdout.is_open() || self.stderr.is_open());
        if !self.exited {
            self.ending.wall = self.clock.look();
            self.swept.uncontained = true;
        } else if self.leash.child.is_jailed() {
            self.empty_jail().await;
        } else if self.leash.child.is_supervised() {
            self.empty_supervisor().await;
        } else if !self.spares_leftovers() && !registry::no_orphans() {
            self.sweep(sweep::without_leader).await;
        }
        self.leash.released = true;
        let _ = tokio::time::timeout(LAST_BYTES, self.last_bytes(listener)).await;
        let now = self.clock.look();
        let mut ear = Ear {
            listener,
            lifecycle: &mut self.lifecycle,
            now,
        };
        self.stdout.finish(&mut ear);
        self.stderr.finish(&mut ear);
        self.told()
    }

    /// Ends the jail and waits for the proof that nobody is left in it.
    async fn empty_jail(&mut self) {
        if !self.leash.child.left_nobody() {
            let how = if self.was_killed {
                sweep::in_jail
            } else {
                sweep::left_in_jail
            };
            self.sweep(how).await;
        }
        self.leash.child.end_monitor();
        let reaped = tokio::time::timeout(UNKILLABLE, self.leash.child.reaped()).await;
        self.swept.uncontained = reaped.is_err();
    }

    /// Kills whoever is left below the supervisor and waits for its word that nobody is.
    async fn empty_supervisor(&mut self) {
        let spares = self.spares_leftovers();
        if spares {
            self.leash.child.ask(Ask::LetGo).await;
        } else if !self.leash.child.left_nobody() {
            self.sweep(sweep::without_leader).await;
        }
        self.leash.child.end_monitor();
        let reaped = tokio::time::timeout(UNKILLABLE, self.leash.child.reaped()).await;
        let empty = matches!(reaped, Ok(Some(Exit::Code(0))));
        self.swept.uncontained |= !empty && !spares;
    }

    /// A command that starts a daemon and ends by itself leaves it running.
    fn spares_leftovers(&self) -> bool {
        self.spare_leftovers && self.lifecycle.reason() == EndReason::Exited
    }

    async fn last_bytes(&mut self, listener: &mut dyn Listener) {
        while self.stdout.is_open() || self.stderr.is_open() {
            tokio::select! {
                count = self.stdout.read(), if self.stdout.is_open() => self.hear(OutputStream::Stdout, count, listener),
                count = self.stderr.read(), if self.stderr.is_open() => self.hear(OutputStream::Stderr, count, listener),
            }
        }
    }

    fn told(mut self) -> ChildEnding {
        let most_processes = self.leash.child.most();
        ChildEnding {
            reason: self.lifecycle.reason(),
            paused: self.clock.paused(),
            leftovers: self.swept.leftovers,
            uncontained: self.swept.uncontained,
            supervisor: self.leash.child.supervisor(),
            stdout_bytes: self.stdout.bytes,
            stderr_bytes: self.stderr.bytes,
            oversize_lines: self.stdout.oversize_lines() + self.stderr.oversize_lines(),
            tee_error: self.stdout.take_error().or(self.stderr.take_error()),
            stderr_tail: self.stderr.into_tail(),
            max_rss_kib: self.samples.highest,
            most_processes,
            ..self.ending
        }
    }

    /// Sweeps on another thread: it reads the table of all processes and may wait.
    pub(super) async fn sweep(&mut self, how: fn(&Trial) -> Swept) {
        let trial = self.leash.trial.clone();
        let swept = tokio::task::spawn_blocking(move || how(&trial))
            .await
            .unwrap_or_default();
        self.swept.uncontained = swept.uncontained;
        let known: Vec<Leftover> = std::mem::take(&mut self.swept.leftovers);
        let new = swept
            .leftovers
            .into_iter()
            .filter(|one| known.iter().all(|other| other.pid != one.pid));
        self.swept.leftovers = known.iter().cloned().chain(new).collect();
    }
}
