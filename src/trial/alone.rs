//! Grading without an agent: a fresh workspace, setup, some work that is there already, all graders.

use std::path::Path;

use tokio::task::block_in_place;

use crate::config::TaskSpec;
use crate::graders::{GradeContext, grade};
use crate::model::{Progress, Verdict};
use crate::record::ChangedFile;
use crate::trial::draft::Stop;
use crate::trial::frame::Frame;
use crate::trial::preparation;
use crate::workspace::{Now, Workspace};

/// What is graded.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work<'a> {
    /// The workspace as setup left it.
    Nothing,
    /// A reference patch.
    Patch(&'a Path),
    /// What an agent left in an earlier trial.
    Kept(&'a [ChangedFile]),
}

/// One workspace, set up, worked on, graded and discarded.
pub(super) async fn graded_alone(
    frame: &Frame<'_>,
    task: &TaskSpec,
    work: Work<'_>,
) -> Result<Vec<Verdict>, String> {
    let context = frame.context;
    block_in_place(|| frame.trial_dir.create()).map_err(|error| error.to_string())?;
    let parent = context.scratch.join("w");
    let workspace = block_in_place(|| context.template.prepare(&parent, &frame.short_name))
        .map_err(|error| format!("workspace: {error}"))?;
    let verdicts = graded(frame, &workspace, (task, work)).await;
    for text in block_in_place(|| workspace.discard()).problems {
        frame.teller.tell(Progress::Notice { text });
    }
    verdicts
}

async fn graded(
    frame: &Frame<'_>,
    workspace: &Workspace,
    (task, work): (&TaskSpec, Work<'_>),
) -> Result<Vec<Verdict>, String> {
    let stopped = |stop: Stop| stop.message().to_owned();
    let laid = preparation::lay_files(
        frame.context.scenario(frame.planned),
        &workspace.project_dir,
    );
    laid.map_err(|error| format!("lay the scenario's files: {error}"))?;
    preparation::set_up(frame, workspace, task, &[])
        .await
        .map_err(stopped)?;
    let baseline = preparation::baseline(frame, workspace).map_err(stopped)?;
    block_in_place(|| do_work(workspace, work))?;
    let settings = &frame.context.suite.settings;
    let around = frame.around(workspace);
    let environment: Vec<_> = around.for_harness(&[]).into_iter().collect();
    let context = GradeContext {
        root: &workspace.root,
        project_dir: &workspace.project_dir,
        subdir: &frame.context.source.subdir,
        baseline: baseline.as_ref(),
        env: &environment,
        logs: frame.trial_dir.root(),
        default_timeout: settings.grader_timeout,
        grace: settings.stop_grace,
        cancel: &frame.context.cancel,
    };
    Ok(grade(&task.graders, &context).await)
}

fn do_work(workspace: &Workspace, work: Work<'_>) -> Result<(), String> {
    match work {
        Work::Nothing => Ok(()),
        Work::Patch(patch) => workspace
            .apply_patch(patch)
            .map_err(|error| format!("apply {}: {error}", patch.display())),
        Work::Kept(files) => files.iter().try_for_each(|file| {
            workspace
                .put(Path::new(&file.path), &now(file))
                .map_err(|error| error.to_string())
        }),
    }
}

fn now(file: &ChangedFile) -> Now {
    match (&file.link, file.bytes()) {
        _ if file.removed => Now::Removed,
        (Some(target), _) => Now::Link(target.clone().into_bytes()),
        (None, Some(bytes)) => Now::File {
            bytes,
            executable: file.executable,
        },
        (None, None) => Now::NotKept,
    }
}
