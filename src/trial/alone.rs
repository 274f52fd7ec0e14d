//! Grading without an agent: a workspace, setup, some work that is there already, and then what a trial's work goes through.

use std::path::Path;

use crate::trial::app_left;
use crate::trial::blocking::blocking;
use crate::trial::capture::scrub_folder;
use crate::trial::cheat::{Cheat, Scene};
use crate::trial::grading::{Graded, Work, grade_fresh};
use crate::trial::outcome_builder::Stop;
use crate::trial::preparation;
use crate::trial::simulator;
use crate::trial::trial_context::TrialContext;
use proctor_config::TaskSpec;
use proctor_graders::ForbiddenBaseline;
use proctor_workspace::{Captured, Workspace};

/// What is graded.
#[derive(Debug, Clone, Copy)]
pub(super) enum Job<'a> {
    /// The workspace as setup left it.
    Nothing,
    /// A reference patch.
    Patch(&'a Path),
    /// Something that must not pass.
    Cheat(Cheat),
}

/// One workspace, set up, worked on, captured, and graded as an agent's would be.
///
/// # Errors
/// When the work could not be done; whatever comes after it is a verdict.
pub(super) async fn graded_alone(
    frame: &TrialContext<'_>,
    task: &TaskSpec,
    job: Job<'_>,
) -> Result<Graded, String> {
    let context = frame.context;
    blocking(|| frame.trial_dir.create()).map_err(|error| error.to_string())?;
    let parent = context.scratch.join("w");
    let workspace = blocking(|| context.template.prepare(&parent, &frame.short_name))
        .map_err(|error| format!("workspace: {error}"))?;
    let mut slot = Some(workspace);
    let mut graded = graded(frame, task, (job, &mut slot)).await;
    let discarded = slot.map(|workspace| blocking(|| workspace.discard()));
    let mut problems = discarded.unwrap_or_default();
    problems.extend(blocking(|| {
        scrub_folder(&frame.trial_dir, &context.redactor)
    }));
    if let Ok(graded) = &mut graded {
        graded.notes.extend(problems);
    }
    graded
}

async fn graded(
    frame: &TrialContext<'_>,
    task: &TaskSpec,
    (job, slot): (Job<'_>, &mut Option<Workspace>),
) -> Result<Graded, String> {
    let Some(workspace) = &*slot else {
        return Err("there is no workspace".to_owned());
    };
    let done = done(frame, task, (job, workspace)).await?;
    Ok(grade_fresh(frame, task, (done.work(), slot)).await)
}

/// Work that is there to be graded.
pub(super) struct Done {
    captured: Captured,
    baseline: Option<ForbiddenBaseline>,
}

impl Done {
    pub(super) fn work(&self) -> Work<'_> {
        Work {
            changed: &self.captured.changed,
            oversize: self.captured.oversize,
            baseline: self.baseline.as_ref(),
            extra_args: &[],
            told: None,
        }
    }
}

/// Sets a workspace up, does the work in it, and captures that.
pub(super) async fn done(
    frame: &TrialContext<'_>,
    task: &TaskSpec,
    (job, workspace): (Job<'_>, &Workspace),
) -> Result<Done, String> {
    let stopped = |stop: Stop| stop.message().to_owned();
    let scenario = frame.context.scenario(frame.planned);
    preparation::lay_files(scenario, &workspace.project_dir)
        .map_err(|error| format!("lay the scenario's files: {error}"))?;
    simulator::lend(frame).await.map_err(stopped)?;
    let log = frame.trial_dir.setup_log();
    preparation::set_up(frame, workspace, (task, &[], &log))
        .await
        .map_err(stopped)?;
    preparation::has_its_files(frame, workspace).map_err(stopped)?;
    let baseline = preparation::baseline(frame, workspace).map_err(stopped)?;
    let captured = blocking(|| {
        let before = workspace.noted(&frame.counts());
        let before = before.map_err(|error| error.to_string())?;
        work((task, workspace), job)?;
        let captured = workspace.capture(Some(&before), &frame.counts());
        captured.map_err(|error| error.to_string())
    })?;
    simulator::make_ready(frame).await.map_err(stopped)?;
    match job {
        // Whoever solved it so has installed nothing: graders build what they look for.
        Job::Patch(_) => frame.simulator.set_left(None),
        // Whoever is asked here has no tools to delete it with.
        Job::Nothing | Job::Cheat(_) => drop(app_left::look(frame).await),
    }
    Ok(Done { captured, baseline })
}

fn work((task, workspace): (&TaskSpec, &Workspace), job: Job<'_>) -> Result<(), String> {
    match job {
        Job::Nothing => Ok(()),
        Job::Patch(patch) => workspace
            .apply_patch(patch)
            .map_err(|error| format!("apply {}: {error}", patch.display())),
        Job::Cheat(cheat) => {
            let scene = Scene { workspace, task };
            let played = scene.play(cheat);
            played.map_err(|error| format!("cheat {}: {error}", cheat.as_str()))
        }
    }
}
