//! Starting a child in each manner of containment.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use tokio::signal::unix::Signal;

use super::cancel::Cancel;
use super::child::{self, Child, ChildEnds, Monitor, Streams};
use super::jail;
use super::process_tag::ProcessTag;
use super::registry::Place;
use super::session::Launch;
use super::spec::{ChildSpec, Containment, StdinPlan};
use super::trial::Trial;
use super::walls::Jail;
use super::{clock, processes, registry, sweep};

/// Name of the variable that holds a trial's marker.
pub(super) const MARKER: &str = "PROCTOR_TRIAL";

/// The longest that a helper may take to start a program, on a busy machine as well.
const LONGEST_BIRTH: Duration = Duration::from_secs(60);

/// A child that runs.
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) streams: Streams,
    pub(super) trial: Trial,
    /// `CLOCK_MONOTONIC` right before the spawn.
    pub(super) at: Duration,
    /// Sockets that listen in the network of its jail.
    pub(super) listeners: io::Result<Vec<TcpListener>>,
}

/// A program to start, with its name as the first of its words.
pub(super) struct Wanted<'a> {
    pub(super) spec: &'a ChildSpec,
    pub(super) program: &'a Path,
    pub(super) words: &'a [OsString],
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) cancel: &'a Cancel,
}

/// Starts a child as its containment says.
pub(super) async fn start(wanted: &Wanted<'_>) -> io::Result<Started> {
    match &wanted.spec.containment {
        Containment::Supervised | Containment::Wrapped(_) if jail::can_supervise() => {
            supervised(wanted).await
        }
        Containment::None | Containment::Supervised | Containment::Wrapped(_) => {
            in_the_open(wanted)
        }
        Containment::Jail(jail) => in_jail(wanted, jail).await,
    }
}

fn in_the_open(wanted: &Wanted<'_>) -> io::Result<Started> {
    let spec = wanted.spec;
    let changes = child::changes_of_children()?;
    let (streams, ends) = child::open_streams(matches!(spec.stdin, StdinPlan::Bytes(_)))?;
    let at = clock::monotonic();
    let (place, tag) = registry::start(&Launch {
        program: wanted.program,
        arguments: wanted.words,
        environment: &wanted.environment,
        folder: &spec.cwd,
        streams: ends.borrowed(),
        further: &[],
    })?;
    spare(wanted, tag.as_ref());
    let trial = trial(wanted, &place, tag);
    Ok(Started {
        child: Child::new(place, changes, Monitor::Nobody),
        streams,
        trial,
        at,
        listeners: Ok(Vec::new()),
    })
}

/// The same in a jail: what is started is the launcher, and time counts from when the program itself runs.
async fn in_jail(wanted: &Wanted<'_>, jail: &Jail) -> io::Result<Started> {
    let (order, opened) = ordered(wanted, jail)?;
    let (line, launcher_ends) = jail::open(&order)?;
    let (place, tag) = jail::start_launcher(opened.ends.borrowed(), &launcher_ends)?;
    drop((opened.ends, launcher_ends));
    let mut child = Child::new(place, opened.changes, Monitor::Jail(line));
    let (since, _) = begun(wanted, &mut child, tag.as_ref(), "the jail").await?;
    let launcher = child.place.pid;
    let init = processes::first_child(launcher).unwrap_or_default();
    let leader = processes::first_child(init).unwrap_or_default();
    let trial = Trial {
        leader,
        leader_start: processes::start_of(leader).unwrap_or_default(),
        inits: vec![launcher, init],
        ..trial(wanted, &child.place, tag)
    };
    Ok(Started {
        listeners: child.listeners(),
        child,
        streams: opened.streams,
        trial,
        at: Duration::from_nanos(since),
    })
}

/// The same below a supervisor, which is what is started.
async fn supervised(wanted: &Wanted<'_>) -> io::Result<Started> {
    let (order, opened) = ordered(wanted, &Jail::default())?;
    let (line, supervisor_ends) = jail::open_supervised(&order)?;
    let (place, tag) = jail::start_supervisor(opened.ends.borrowed(), &supervisor_ends)?;
    drop((opened.ends, supervisor_ends));
    let mut child = Child::new(place, opened.changes, Monitor::Supervisor(line));
    let (since, leader) = begun(wanted, &mut child, tag.as_ref(), "its supervisor").await?;
    spare(wanted, tag.as_ref());
    let supervisor = child.place.pid;
    let trial = Trial {
        leader,
        leader_start: processes::start_of(leader).unwrap_or_default(),
        supervisor: Some(supervisor),
        inits: vec![supervisor],
        ..trial(wanted, &child.place, tag)
    };
    Ok(Started {
        child,
        streams: opened.streams,
        trial,
        at: Duration::from_nanos(since),
        listeners: Ok(Vec::new()),
    })
}

/// What a helper of our own binary is started with.
struct Opened {
    changes: Signal,
    streams: Streams,
    ends: ChildEnds,
}

fn ordered(wanted: &Wanted<'_>, jail: &Jail) -> io::Result<(jail::Order, Opened)> {
    let spec = wanted.spec;
    let changes = child::changes_of_children()?;
    let (streams, ends) = child::open_streams(matches!(spec.stdin, StdinPlan::Bytes(_)))?;
    let order = jail::order(
        wanted.program,
        wanted.words,
        &wanted.environment,
        &spec.cwd,
        jail,
    );
    let opened = Opened {
        changes,
        streams,
        ends,
    };
    Ok((order, opened))
}

/// Waits until a helper tells that the program runs: since when, and its id where the helper knows it. One that tells nothing for
/// so long was stopped by somebody, and is ended, as it is where a person asks to stop.
async fn begun(
    wanted: &Wanted<'_>,
    child: &mut Child,
    tag: Option<&ProcessTag>,
    what: &str,
) -> io::Result<(u64, u32)> {
    let (error, told) = tokio::select! {
        biased;
        born = Box::pin(child.started()) => match born {
            Ok(begun) => return Ok(begun),
            Err(unborn) => (unborn.into_error(what), true),
        },
        () = wanted.cancel.reached(1) => (io::ErrorKind::Interrupted.into(), false),
        () = tokio::time::sleep(LONGEST_BIRTH) => {
            let told = format!("{what} could not be made in {} s", LONGEST_BIRTH.as_secs());
            (io::Error::new(io::ErrorKind::TimedOut, told), false)
        }
    };
    if !told {
        child.place.kill();
    }
    child.end_monitor();
    child.reaped().await;
    if !told {
        // Its program may have begun meanwhile, and nobody keeps it.
        let trial = trial(wanted, &child.place, tag.cloned());
        tokio::task::spawn_blocking(move || sweep::without_leader(&trial))
            .await
            .ok();
    }
    Err(error)
}

/// What is known of a child whose program is what was started.
fn trial(wanted: &Wanted<'_>, place: &Place, tag: Option<ProcessTag>) -> Trial {
    Trial {
        pid: place.pid,
        start: place.start,
        leader: place.pid,
        leader_start: place.start,
        supervisor: None,
        inits: Vec::new(),
        tag,
        marker: mark(wanted.spec),
        seen: BTreeSet::new(),
    }
}

/// Notes what a command may leave running on purpose.
fn spare(wanted: &Wanted<'_>, tag: Option<&ProcessTag>) {
    if let Some(tag) = tag.filter(|_| wanted.spec.limits.spare_leftovers) {
        registry::spare(tag);
    }
}

fn mark(spec: &ChildSpec) -> Option<String> {
    let marker = spec.marker.as_ref()?;
    Some(format!("{MARKER}={marker}"))
}
