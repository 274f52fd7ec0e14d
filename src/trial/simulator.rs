//! The simulator of a trial: waited for and made ready before the agent starts, given back when all is over.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OnceCell, OwnedSemaphorePermit};

use crate::trial::RunContext;
use crate::trial::outcome_builder::Stop;
use crate::trial::trial_context::TrialContext;
use proctor_apple::{
    Ask, Device, Lease, Leases, Simctl, Trouble, Wanted, Xcode, named_by, sweep_derived_data,
};
use proctor_config::{GraderSpec, Project, Simulators, TaskSpec};
use proctor_graders::AppleEnv;
use proctor_record::AppLeft;
use proctor_supervise::Cancel;

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
    /// Why packages that were to be fetched were not.
    pub not_fetched: Option<String>,
}

/// The simulator of a trial, once it was asked for.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The tools, where there are some.
    xcode: Option<Xcode>,
    cell: OnceCell<Result<Option<Lease>, Trouble>>,
    /// What an agent left of the app that graders look for; nothing where no agent was there.
    left: Mutex<Option<AppLeft>>,
    builds_waited: Mutex<Duration>,
}

impl Slot {
    /// That of a trial whose processes are marked so.
    pub(super) fn of(context: &RunContext, trial: &str) -> Self {
        let xcode = context.apple.as_ref().map(|it| it.xcode.of_trial(trial));
        Self {
            xcode,
            ..Self::default()
        }
    }

    /// `simctl` of this trial.
    fn simctl<'a>(&'a self, cancel: &'a Cancel) -> Option<Simctl<'a>> {
        let xcode = self.xcode.as_ref()?;
        Some(Simctl { xcode, cancel })
    }

    /// The device that is held.
    pub(super) fn held(&self) -> Option<&Lease> {
        self.cell.get()?.as_ref().ok()?.as_ref()
    }

    /// How long it was waited for.
    pub(super) fn waited(&self) -> Duration {
        self.held().map(|lease| lease.waited).unwrap_or_default()
    }

    /// What an agent left of the app; nothing where none was there.
    pub(super) fn left(&self) -> Option<AppLeft> {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.clone()
    }

    /// Says what an agent left of the app, or that no agent was there.
    pub(super) fn set_left(&self, left: Option<AppLeft>) {
        *self.left.lock().unwrap_or_else(PoisonError::into_inner) = left;
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

/// Whether a trial of this task has a simulator: where the project names one, or its graders do.
fn wants_one(context: &RunContext, task: &TaskSpec) -> bool {
    let Some(apple) = &context.apple else {
        return false;
    };
    apple.wanted != Wanted::None || named_by(task).next().is_some()
}

/// The trial's simulator, waited for when it is first asked for; nothing where it needs none.
pub(super) async fn simulator<'a>(
    frame: &'a TrialContext<'_>,
    task: &TaskSpec,
) -> Result<Option<&'a Lease>, Trouble> {
    let Some(apple) = frame.context.apple.as_ref() else {
        return Ok(None);
    };
    let simctl = frame.simulator.simctl(&frame.context.cancel);
    let Some(simctl) = simctl.filter(|_| wants_one(frame.context, task)) else {
        return Ok(None);
    };
    let taken = frame.simulator.cell.get_or_init(async || {
        let ask = Ask {
            wanted: &apple.wanted,
            also: &named_by(task).collect::<Vec<_>>(),
            trial: &frame.marker,
        };
        apple.leases.take(simctl, ask).await
    });
    match taken.await {
        Ok(lease) => Ok(lease.as_ref()),
        Err(trouble) => Err(trouble.clone()),
    }
}

/// Waits for the trial's simulator.
pub(super) async fn lend(frame: &TrialContext<'_>) -> Result<(), Stop> {
    let context = frame.context;
    let Some(task) = context.task(frame.planned) else {
        return Ok(());
    };
    if wants_one(context, task) {
        frame.enter("simulator");
    }
    simulator(frame, task).await.map(drop).map_err(stop)
}

/// Takes the app of the project from the trial's simulator, whatever its graders are: the trial before may have left it, and setup
/// may have installed one.
pub(super) async fn make_ready(frame: &TrialContext<'_>) -> Result<(), Stop> {
    let Some(app) = app(frame).await.map_err(stop)? else {
        return Ok(());
    };
    let removed = app.simctl(&frame.context.cancel);
    let removed = removed.remove_app(app.udid, app.bundle).await;
    removed.map_err(stop)
}

/// The app of a project, and where it would be.
pub(super) struct App<'a> {
    xcode: &'a Xcode,
    pub(super) udid: &'a str,
    pub(super) bundle: &'a str,
    pub(super) task: &'a TaskSpec,
}

impl App<'_> {
    /// What asks for it.
    pub(super) const fn simctl<'a>(&'a self, cancel: &'a Cancel) -> Simctl<'a> {
        let xcode = self.xcode;
        Simctl { xcode, cancel }
    }
}

/// The app that graders of this trial look for; nothing where they look for none.
pub(super) async fn app_in_question<'a>(
    frame: &'a TrialContext<'_>,
) -> Result<Option<App<'a>>, Trouble> {
    let app = app(frame).await?;
    let is_asked = |app: &App<'_>| app.task.graders.iter().any(GraderSpec::looks_at_app);
    Ok(app.filter(is_asked))
}

/// Whether the device that was made for this trial is not there any more. Nobody but the trial knows of it.
pub(super) async fn copy_is_gone(frame: &TrialContext<'_>, cancel: &Cancel) -> bool {
    let slot = &frame.simulator;
    let copy = slot.held().filter(|lease| lease.is_copy);
    let (Some(copy), Some(simctl)) = (copy, slot.simctl(cancel)) else {
        return false;
    };
    let is_it = |device: &Device| device.udid == copy.device.udid;
    let devices = simctl.devices().await;
    devices.is_ok_and(|devices| !devices.iter().any(is_it))
}

/// The app of the project on the trial's simulator; nothing where the trial has none or the project does not name it.
async fn app<'a>(frame: &'a TrialContext<'_>) -> Result<Option<App<'a>>, Trouble> {
    let context = frame.context;
    let xcode = frame.simulator.xcode.as_ref();
    let (Some(task), Some(xcode)) = (context.task(frame.planned), xcode) else {
        return Ok(None);
    };
    let bundle = context.suite.project.build_params.bundle_id.as_deref();
    let (Some(bundle), Some(lease)) = (bundle, simulator(frame, task).await?) else {
        return Ok(None);
    };
    Ok(Some(App {
        xcode,
        udid: &lease.device.udid,
        bundle,
        task,
    }))
}

/// Waits for all that an agent needs for itself.
pub(super) async fn turn_of_agent(
    frame: &TrialContext<'_>,
) -> Result<Option<OwnedSemaphorePermit>, Stop> {
    lend(frame).await?;
    place_of_agent(frame).await
}

/// The agent's place among all builds, where the suite counts agents in: it is waited for before any of its time, and is given
/// back when the place is dropped.
async fn place_of_agent(frame: &TrialContext<'_>) -> Result<Option<OwnedSemaphorePermit>, Stop> {
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
pub(super) async fn desk<'a>(frame: &'a TrialContext<'_>, task: &TaskSpec) -> Option<AppleEnv<'a>> {
    let context = frame.context;
    let apple = context.apple.as_ref()?;
    let lease = simulator(frame, task).await;
    let lease = lease.map_err(|trouble| trouble.to_string());
    Some(AppleEnv {
        xcode: frame.simulator.xcode.as_ref()?,
        params: &context.suite.project.build_params,
        beside: match &lease {
            Ok(Some(lease)) => &lease.beside,
            Ok(None) | Err(_) => &[],
        },
        udid: lease.map(|lease| lease.map(|lease| lease.device.udid.as_str())),
        left: frame.simulator.left(),
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
pub(super) fn project_told(frame: &TrialContext<'_>) -> Project {
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
pub(super) async fn give_back(frame: &mut TrialContext<'_>) -> Option<String> {
    let apple = frame.context.apple.as_ref()?;
    sweep_derived_data(&apple.home, &frame.context.scratch);
    let taken = std::mem::take(&mut frame.simulator.cell);
    let lease = taken.into_inner()?.ok()??;
    let name = lease.device.name.clone();
    // Also where a person asked to stop: what was made for the trial must go.
    let cancel = Cancel::new();
    let simctl = frame.simulator.simctl(&cancel)?;
    let gone = apple.leases.give_back(simctl, lease).await;
    let why = gone.err()?;
    Some(format!("simulator {name} could not be deleted: {why}"))
}
