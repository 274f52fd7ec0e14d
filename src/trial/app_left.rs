//! What an agent left of the app on its simulator, looked at before anybody else is there: setup of the graders' tree may install or
//! erase, and a test run installs the app that it tests.

use crate::trial::simulator::{self, App};
use crate::trial::trial_context::TrialContext;
use proctor_apple::Trouble;
use proctor_config::{GraderSpec, TaskSpec};
use proctor_model::{Reason, ReasonKind};
use proctor_record::AppLeft;
use proctor_supervise::Cancel;

/// Looks, where graders ask, and keeps it for them and for a later start. A person who asks to stop once waits for it: the
/// agent was paid, and nobody can look later. Gives what makes the trial suspect.
pub(super) async fn look(frame: &TrialContext<'_>) -> Option<Reason> {
    let cancel = Cancel::new();
    let mut looking = std::pin::pin!(looked(frame, &cancel));
    let left = tokio::select! {
        left = &mut looking => left,
        () = frame.context.cancel.reached(2) => {
            cancel.request();
            looking.await
        }
    };
    let is_deleted = left == Some(AppLeft::Deleted);
    frame.simulator.set_left(left);
    is_deleted.then(|| Reason::of(ReasonKind::SimulatorDeleted))
}

/// What the mark of an earlier start says, for graders that ask. They never build the app for an agent whose app is not known.
pub(super) fn recall(frame: &TrialContext<'_>, (task, kept): (&TaskSpec, Option<AppLeft>)) {
    if kept == Some(AppLeft::Deleted) {
        return frame.simulator.set_left(kept);
    }
    let asks = task.graders.iter().any(GraderSpec::looks_at_app);
    let unknown = || AppLeft::Unknown("what the agent left there was not kept".to_owned());
    let left = asks.then(|| kept.unwrap_or_else(unknown));
    frame.simulator.set_left(left);
}

/// What is said of checks that are answered from what was seen when the agent had ended; nothing where there is none.
pub(super) fn told(task: &TaskSpec) -> Option<String> {
    let checks = task.graders.iter().filter(|grader| grader.looks_at_app());
    let names: Vec<&str> = checks.map(GraderSpec::type_name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: judged by what was seen on the simulator when the agent had ended, which nobody can look at again",
            names.join(", ")
        )
    })
}

async fn looked(frame: &TrialContext<'_>, cancel: &Cancel) -> Option<AppLeft> {
    if simulator::copy_is_gone(frame, cancel).await {
        return Some(AppLeft::Deleted);
    }
    let seen = match simulator::app_in_question(frame).await {
        Ok(Some(app)) => on_device(&app, cancel).await,
        Ok(None) => return None,
        Err(why) => Err(why),
    };
    Some(seen.unwrap_or_else(|why| AppLeft::Unknown(why.to_string())))
}

async fn on_device(app: &App<'_>, cancel: &Cancel) -> Result<AppLeft, Trouble> {
    let simctl = app.simctl(cancel);
    simctl.boot(app.udid).await?;
    if !simctl.is_installed(app.udid, app.bundle).await? {
        return Ok(AppLeft::Absent);
    }
    let is_launch =
        |grader: &GraderSpec| matches!(grader, GraderSpec::IosLaunchCheck { from_tree: false });
    let launches = if app.task.graders.iter().any(is_launch) {
        Some(simctl.launch(app.udid, app.bundle).await?)
    } else {
        None
    };
    Ok(AppLeft::Installed { launches })
}
