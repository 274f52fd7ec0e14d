//! What an agent left of the app on its simulator, looked at before anybody else is there: setup of the graders' tree may install or
//! erase, and a test run installs the app that it tests.

use crate::apple::Trouble;
use crate::config::{GraderSpec, TaskSpec};
use crate::record::AppLeft;
use crate::supervise::Cancel;
use crate::trial::frame::Frame;
use crate::trial::simulator::{self, App};

/// Looks, where graders ask, and keeps it for them and for a later start. A person who asks to stop once waits for it: the
/// agent was paid, and nobody can look later.
pub(super) async fn look(frame: &Frame<'_>) {
    let cancel = Cancel::new();
    let mut looking = std::pin::pin!(looked(frame, &cancel));
    let left = tokio::select! {
        left = &mut looking => left,
        () = frame.context.cancel.reached(2) => {
            cancel.request();
            looking.await
        }
    };
    frame.simulator.set_left(left);
}

/// What the mark of an earlier start says, for graders that ask. They never build the app for an agent whose app is not known.
pub(super) fn recall(frame: &Frame<'_>, (task, kept): (&TaskSpec, Option<AppLeft>)) {
    let asks = task.graders.iter().any(GraderSpec::looks_at_app);
    let unknown = || AppLeft::Unknown("what the agent left there was not kept".to_owned());
    let left = asks.then(|| kept.unwrap_or_else(unknown));
    frame.simulator.set_left(left);
}

async fn looked(frame: &Frame<'_>, cancel: &Cancel) -> Option<AppLeft> {
    let seen = match simulator::app(frame).await {
        Ok(Some(app)) => on_device(&app, cancel).await,
        Ok(None) => return None,
        Err(why) => Err(why),
    };
    Some(seen.unwrap_or_else(|why| AppLeft::Unknown(why.to_string())))
}

async fn on_device(app: &App<'_>, cancel: &Cancel) -> Result<AppLeft, Trouble> {
    let simctl = app.apple.simctl(cancel);
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
