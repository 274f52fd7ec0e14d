//! The only loop around a child: it hears, looks at the clock, and acts.

use std::pin::pin;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;

use crate::model::Leftover;

use super::activity::{ActivityFiles, MemorySamples, Work};
use super::cancel::Cancel;
use super::child::Child;
use super::clock::{AgentClock, TICK};
use super::course::{Act, Course, UNKILLABLE};
use super::disk::DiskUse;
use super::ending::{ChildEnding, EndReason, Exit};
use super::health::Health;
use super::spawn::{self, Started};
use super::spec::{ChildSpec, Listener, OutputStream, StdinPlan};
use super::sweep::Swept;
use super::tap::{Ear, Tap};
use super::trial::Trial;
use super::{kill, registry, sweep};

/// How long the last bytes are read after everybody who could write them was killed.
const LAST_BYTES: Duration = Duration::from_millis(100);

/// How long the end of the output is looked for once more before somebody is said to hold it.
const LATE_END: Duration = Duration::from_millis(5);

/// The longest that a listener may keep in memory what it heard.
const SETTLE: Duration = Duration::from_millis(20);

/// How often a killed child is asked for its status, a millisecond apart, when its watcher goes away.
const REAP_TRIES: u32 = 100;

/// Runs a child to its end. Total: whatever happens is an ending.
///
/// The time is bounded by `hard + 2 * grace + drain`, and a little. If the returned future is dropped, the child and all that
/// it started are killed.
pub async fn run(spec: &ChildSpec, listener: &mut dyn Listener, cancel: &Cancel) -> ChildEnding {
    if cancel.level() > 0 {
        return ChildEnding::unstarted(EndReason::Cancelled, None);
    }
    match spawn::start(spec).await {
        Err(message) => {
            tracing::debug!("{message}");
            ChildEnding::unstarted(EndReason::NotStarted, Some(message))
        }
        Ok(mut started) => {
            let hatches = std::mem::replace(&mut started.hatches, Ok(Vec::new()));
            if let Err(error) = hatches.and_then(|hatches| listener.reached(hatches)) {
                drop(Watch::new(spec, started));
                let message = format!("no way leads out of its network: {error}");
                let message = spawn::in_words(spec, &message);
                return ChildEnding::unstarted(EndReason::NotStarted, Some(message));
            }
            let pid = started.trial.pid;
            tracing::debug!(pid, program = ?spec.argv.first(), "started");
            let mut watch = Watch::new(spec, started);
            // What waits for a child is large, and so would be all that wait for it.
            let ending = Box::pin(async move {
                watch.until_the_end(spec, listener, cancel).await;
                watch.clean_up(listener).await
            })
            .await;
            let left = ending.leftovers.len();
            tracing::debug!(pid, reason = ?ending.reason, exit = ?ending.exit, left, "ended");
            ending
        }
    }
}

/// A child that is being watched.
struct Watch<'a> {
    stdin: Option<ChildStdin>,
    leash: Leash,
    clock: AgentClock,
    course: Course<'a>,
    stdout: Tap,
    stderr: Tap,
    activity: ActivityFiles,
    work: Work,
    health: Health,
    samples: MemorySamples,
    disk: Option<DiskUse>,
    swept: Swept,
    /// When the first output came that the listener has not been told to put down yet.
    unsettled: Option<Duration>,
    /// How often a person had asked to stop at the last look.
    wishes: u32,
    exited: bool,
    /// Whether all that was seen in its jail got KILL before it exited.
    was_killed: bool,
    spare_leftovers: bool,
    ending: ChildEnding,
}

impl<'a> Watch<'a> {
    fn new(spec: &'a ChildSpec, started: Started) -> Self {
        let Started {
            child,
            streams,
            trial,
            at,
            hatches: _,
        } = started;
        let limits = &spec.limits;
        let mut ending = ChildEnding::unstarted(EndReason::Exited, None);
        ending.started_mono_ns = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        Self {
            stdout: Tap::new(
                OutputStream::Stdout,
                streams.stdout,
                spec.stdout_to.as_deref(),
                limits,
            ),
            stderr: Tap::new(
                OutputStream::Stderr,
                streams.stderr,
                spec.stderr_to.as_deref(),
                limits,
            ),
            stdin: streams.stdin,
            leash: Leash {
                trial,
                child,
                released: false,
            },
            clock: AgentClock::started_at(at),
            course: Course::new(limits),
            activity: ActivityFiles::new(&spec.activity_files),
            work: Work::default(),
            health: Health::of(&limits.workplaces),
            samples: MemorySamples::default(),
            disk: limits.disk.clone().map(DiskUse::new),
            swept: Swept::default(),
            unsettled: None,
            wishes: 0,
            exited: false,
            was_killed: false,
            spare_leftovers: limits.spare_leftovers,
            ending,
        }
    }

    /// Hears, looks and acts until the child has exited and its output has ended, or the drain is over.
    async fn until_the_end(
        &mut self,
        spec: &ChildSpec,
        listener: &mut dyn Listener,
        cancel: &Cancel,
    ) {
        let mut feeding = pin!(feed(self.stdin.take(), &spec.stdin));
        let mut fed = false;
        loop {
            let now = self.look(cancel);
            self.settle(now, listener);
            self.act(now).await;
            let drained = self.exited && !self.stdout.is_open() && !self.stderr.is_open();
            if drained || self.course.is_over() {
                return;
            }
            let wake = [
                self.course.next(),
                self.unsettled.map(|since| since + SETTLE),
            ]
            .into_iter()
            .flatten()
            .fold(TICK, |wake, at| wake.min(at.saturating_sub(now)));
            tokio::select! {
                count = self.stdout.read(), if self.stdout.is_open() => self.hear(OutputStream::Stdout, count, listener),
                count = self.stderr.read(), if self.stderr.is_open() => self.hear(OutputStream::Stderr, count, listener),
                exit = self.leash.child.exit(), if !self.exited => self.left(exit),
                () = &mut feeding, if !fed => fed = true,
                () = cancel.reached(self.wishes + 1) => {}
                () = tokio::time::sleep(wake) => {}
            }
        }
    }

    /// Looks at the clock and at all that is not heard.
    fn look(&mut self, cancel: &Cancel) -> Duration {
        let now = self.clock.look();
        self.wishes = cancel.level();
        self.course.cancel(self.wishes);
        self.look_for_work(now);
        if !self.exited && self.health.is_lost(now) {
            self.course.homeless();
        }
        if !self.exited && self.samples.are_due(now) {
            self.samples.take(now, self.leash.trial.leader);
            registry::reap_orphans();
        }
        if !self.exited
            && let Some(disk) = &mut self.disk
            && disk.is_too_much(now)
        {
            self.course.over_disk();
        }
        now
    }

    /// Looks for what is not heard, once it has been quiet for a while.
    fn look_for_work(&mut self, now: Duration) {
        let trial = &self.leash.trial;
        if !self.course.is_quiet(now) {
            return self.work.forget();
        }
        if !self.course.looks_stalled(now) {
            return self.work.look(now, trial);
        }
        if let Some(at) = self.activity.last(now) {
            self.course.active(at);
        }
        if self.course.looks_stalled(now) && self.work.went_on(now, trial) {
            self.course.works(now);
        }
    }

    fn settle(&mut self, now: Duration, listener: &mut dyn Listener) {
        if self.unsettled.is_some_and(|since| now >= since + SETTLE) {
            self.unsettled = None;
            listener.settle();
        }
    }

    async fn act(&mut self, now: Duration) {
        match self.course.due(now) {
            Some(Act::Interrupt) if self.leash.child.is_jailed() => {
                self.leash.child.interrupt().await;
            }
            Some(Act::Interrupt) => self.freeze_and_ask().await,
            Some(Act::Terminate) => self.leash.child.terminate().await,
            Some(Act::Kill) if self.leash.child.is_jailed() => {
                self.was_killed = true;
                self.sweep(sweep::in_jail).await;
                self.leash.child.end_jail();
            }
            Some(Act::Kill) => self.sweep(sweep::with_leader).await,
            None => {}
        }
    }

    /// Asks for the end after a moment in which nobody moved, so that who belongs to the child is known before anybody can
    /// leave. Whoever stopped itself again meanwhile is woken once more.
    async fn freeze_and_ask(&mut self) {
        let trial = self.leash.trial.clone();
        let frozen = tokio::task::spawn_blocking(move || sweep::freeze(&trial))
            .await
            .unwrap_or_default();
        let seen = frozen.iter().map(|process| (process.pid, process.start));
        self.leash.trial.seen.extend(seen);
        sweep::thaw(&self.leash.trial, &frozen);
        self.leash.child.interrupt().await;
        kill::group(self.leash.trial.pid, Signal::CONT);
    }

    fn hear(&mut self, stream: OutputStream, count: usize, listener: &mut dyn Listener) {
        if count == 0 {
            return;
        }
        let now = self.clock.look();
        self.ending.first_output_at.get_or_insert(now);
        self.unsettled.get_or_insert(now);
        self.course.active(now);
        let tap = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        tap.pass_on(
            count,
            &mut Ear {
                listener,
                course: &mut self.course,
                now,
            },
        );
    }

    fn left(&mut self, exit: Option<Exit>) {
        let now = self.clock.look();
        self.exited = true;
        self.ending.exit = exit;
        self.ending.wall = now;
        self.course.exited(now);
    }

    /// Kills whoever is left, reads the last bytes, and tells.
    async fn clean_up(mut self, listener: &mut dyn Listener) -> ChildEnding {
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
        } else if !self.spares_leftovers() && !registry::no_orphans() {
            self.sweep(sweep::without_leader).await;
        }
        self.leash.released = true;
        let _ = tokio::time::timeout(LAST_BYTES, self.last_bytes(listener)).await;
        let now = self.clock.look();
        let mut ear = Ear {
            listener,
            course: &mut self.course,
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
        self.leash.child.end_jail();
        let reaped = tokio::time::timeout(UNKILLABLE, self.leash.child.reaped()).await;
        self.swept.uncontained = reaped.is_err();
    }

    /// A command that starts a daemon and ends by itself leaves it running.
    fn spares_leftovers(&self) -> bool {
        self.spare_leftovers && self.course.reason() == EndReason::Exited
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
        ChildEnding {
            reason: self.course.reason(),
            paused: self.clock.paused(),
            leftovers: self.swept.leftovers,
            uncontained: self.swept.uncontained,
            stdout_bytes: self.stdout.bytes,
            stderr_bytes: self.stderr.bytes,
            oversize_lines: self.stdout.oversize_lines() + self.stderr.oversize_lines(),
            tee_error: self.stdout.take_error().or(self.stderr.take_error()),
            stderr_tail: self.stderr.into_tail(),
            max_rss_kib: self.samples.highest,
            ..self.ending
        }
    }

    /// Sweeps on another thread: it reads the table of all processes and may wait.
    async fn sweep(&mut self, how: fn(&Trial) -> Swept) {
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

/// Kills a trial whose watcher goes away before its end.
struct Leash {
    trial: Trial,
    child: Child,
    released: bool,
}

impl Drop for Leash {
    fn drop(&mut self) {
        if self.released {
            return;
        }
        if self.child.is_jailed() {
            kill::group(self.trial.pid, Signal::KILL);
        } else {
            sweep::with_leader(&self.trial);
        }
        for _ in 0..REAP_TRIES {
            if self.child.poll_exit().is_ready() {
                return;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Writes what the child reads and closes its standard input. A child that does not read it is no error.
async fn feed(stdin: Option<ChildStdin>, plan: &StdinPlan) {
    if let (Some(mut stdin), StdinPlan::Bytes(bytes)) = (stdin, plan) {
        stdin.write_all(bytes).await.ok();
    }
}
