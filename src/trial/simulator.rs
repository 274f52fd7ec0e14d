//! The simulator of a trial: waited for and made ready before the agent starts, given back when all is over.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OnceCell, OwnedSemaphorePermit};

use crate::apple::{Lease, Leases, Simctl, Trouble, Wanted, Xcode, sweep_derived_data};
use crate::config::{GraderSpec, Project, Simulators, TaskSpec};
use crate::graders::AppleDesk;
use crate::trial::RunContext;
use crate::trial::draft::Stop;
use crate::trial::frame::Frame;

/// What a run knows of Apple's tools.
#[derive(Debug)]
pub struct AppleSide {
    /// The tools.
    pub xcode: Xcode,
    /// Who has which device.
    pub leases: Leases,
    /// Which devices trials want.
    pub wanted: Wanted,
    /// The operator's home, where Xcode has its settings and devices.
    pub home: PathBuf,
    /// Packages that were fetched before the trials.
    pub packages: Option<PathBuf>,
}

/// The simulator of a trial, once it was asked for.
#[derive(Debug, Default)]
pub(super) struct Slot {
    cell: OnceCell<Result<Option<Lease>, Trouble>>,
    /// Whether it was made ready for an agent, so that its state is what that agent left.
    was_lent: AtomicBool,
    builds_waited: Mutex<Duration>,
}

impl Slot {
    /// The device that is held.
    pub(super) fn held(&self) -> Option<&Lease> {
        self.cell.get()?.as_ref().ok()?.as_ref()
    }

    /// How long it was waited for.
    pub(super) fn waited(&self) -> Duration {
        self.held().map(|lease| lease.waited).unwrap_or_default()
    }

    /// Says that no agent was at it.
    pub(super) fn was_not_lent(&self) {
        self.was_lent.store(false, Ordering::Relaxed);
    }

    fn waited_for_a_build(&self, wait: Duration) {
        *self
            .builds_waited
            .lock()
            .unwrap_or_else(PoisonError::into_inner) += wait;
    }

    /// How long the agent and builds of graders waited for their turn.
    pub(super) fn builds_waited(&self) -> Duration {
        *self
            .builds_waited
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a trial of this task has a simulator.
fn wants_one(context: &RunContext, task: &TaskSpec) -> bool {
    let explicit = context.suite.project.simulators != Simulators::Single;
    explicit || task.graders.iter().any(GraderSpec::is_apple)
}

/// The trial's simulator, waited for when it is first asked for; nothing where it needs none.
pub(super) async fn simulator<'a>(
    frame: &'a Frame<'_>,
    task: &TaskSpec,
) -> Result<Option<&'a Lease>, Trouble> {
    let Some(apple) = frame.context.apple.as_ref() else {
        return Ok(None);
    };
    if !wants_one(frame.context, task) {
        return Ok(None);
    }
    let simctl = Simctl {
        xcode: &apple.xcode,
        cancel: &frame.context.cancel,
    };
    let name = &frame.marker;
    let taken = frame.simulator.cell.get_or_init(async || {
        let taken = apple.leases.take(simctl, (&apple.wanted, name));
        taken.await
    });
    match taken.await {
        Ok(lease) => Ok(lease.as_ref()),
        Err(trouble) => Err(trouble.clone()),
    }
}

/// Waits for a simulator and takes the app from it that graders will look for.
pub(super) async fn make_ready(frame: &Frame<'_>) -> Result<(), Stop> {
    let context = frame.context;
    let (Some(task), Some(apple)) = (context.task(frame.planned), context.apple.as_ref()) else {
        return Ok(());
    };
    if wants_one(context, task) {
        frame.enter("simulator");
    }
    let Some(lease) = simulator(frame, task).await.map_err(stop)? else {
        return Ok(());
    };
    let bundle = context.suite.project.build_params.bundle_id.as_deref();
    if let Some(bundle) = bundle
        && task.graders.iter().any(GraderSpec::looks_at_app)
    {
        let simctl = Simctl {
            xcode: &apple.xcode,
            cancel: &context.cancel,
        };
        let removed = simctl.remove_app(&lease.device.udid, bundle).await;
        removed.map_err(stop)?;
    }
    frame.simulator.was_lent.store(true, Ordering::Relaxed);
    Ok(())
}

/// The agent's place among all builds, where the suite counts agents in: it is waited for before any of its time, and is given
/// back when the place is dropped.
pub(super) async fn place_of_agent(
    frame: &Frame<'_>,
) -> Result<Option<OwnedSemaphorePermit>, Stop> {
    let context = frame.context;
    let Some(apple) = context.apple.as_ref() else {
        return Ok(None);
    };
    if !context.suite.settings.cap_agent_builds {
        return Ok(None);
    }
    frame.enter("build place");
    tokio::select! {
        (wait, place) = apple.xcode.build_place() => {
            frame.simulator.waited_for_a_build(wait);
            Ok(place)
        }
        () = context.cancel.reached(1) => Err(Stop::cancelled()),
    }
}

/// What Apple graders work with; nothing where the suite has none. A device that cannot be had is for the graders to tell.
pub(super) async fn desk<'a>(frame: &'a Frame<'_>, task: &TaskSpec) -> Option<AppleDesk<'a>> {
    let context = frame.context;
    let apple = context.apple.as_ref()?;
    let lease = simulator(frame, task).await;
    let lease = lease.map_err(|trouble| trouble.to_string());
    Some(AppleDesk {
        xcode: &apple.xcode,
        params: &context.suite.project.build_params,
        udid: lease.map(|lease| lease.map(|lease| lease.device.udid.as_str())),
        is_as_left: frame.simulator.was_lent.load(Ordering::Relaxed),
        home: &apple.home,
        packages: apple.packages.as_deref(),
        most_bytes: context.suite.settings.limits.derived_data,
        waited: &frame.simulator.builds_waited,
    })
}

fn stop(trouble: Trouble) -> Stop {
    match trouble {
        Trouble::Cancelled => Stop::cancelled(),
        trouble => Stop::simulator(trouble.to_string()),
    }
}

/// The project as the prompt tells it: where several devices are to choose from, with the one that this trial has.
pub(super) fn project_told(frame: &Frame<'_>) -> Project {
    let mut project = frame.context.suite.project.clone();
    if project.simulators == Simulators::Single {
        return project;
    }
    if let Some(lease) = frame.simulator.held() {
        let device = &lease.device;
        project.build_params.simulator_name = Some(device.name.clone());
        project.build_params.destination =
            Some(format!("platform=iOS Simulator,id={}", device.udid));
    }
    project
}

/// Gives the simulator back, and removes what builds left in the operator's own derived data; tells what went wrong.
pub(super) async fn give_back(frame: &mut Frame<'_>) -> Option<String> {
    let apple = frame.context.apple.as_ref()?;
    sweep_derived_data(&apple.home, &frame.context.scratch);
    let lease = std::mem::take(&mut frame.simulator)
        .cell
        .into_inner()?
        .ok()??;
    let name = lease.device.name.clone();
    let simctl = Simctl {
        xcode: &apple.xcode,
        // Also where a person asked to stop: what was made for the trial must go.
        cancel: &crate::supervise::Cancel::new(),
    };
    let gone = apple.leases.give_back(simctl, lease).await;
    let why = gone.err()?;
    Some(format!("simulator {name} could not be deleted: {why}"))
}
