//! Proves a task without an agent: the reference patch must pass every grader, and nothing at all must not.

use std::time::{Duration, Instant};

use tokio::task::block_in_place;

use crate::config::TaskSpec;
use crate::graders::{ForbiddenBaseline, GradeContext, grade};
use crate::model::{Grade, Progress, Verdict};
use crate::plan::PlannedTrial;
use crate::trial::draft::Stop;
use crate::trial::frame::Frame;
use crate::trial::preparation;
use crate::trial::{RunContext, Teller};
use crate::workspace::Workspace;

/// What a task's reference patch is worth.
#[derive(Debug, Clone)]
pub struct Validation {
    /// The task.
    pub task: String,
    /// Whether the reference patch passes, and without it the task does not.
    pub ok: bool,
    /// Why not.
    pub reason: Option<String>,
    /// The graders over the reference.
    pub verdicts: Vec<Verdict>,
    /// The graders over the untouched workspace, where they were asked.
    pub untouched: Vec<Verdict>,
    /// How long it took.
    pub took: Duration,
}

/// Validates the task of `planned`: a clean workspace, setup, the reference patch, all graders; then the same
/// without the patch, which must fail.
pub async fn validate_task(
    context: &RunContext,
    planned: &PlannedTrial,
    teller: &Teller,
) -> Validation {
    let started = Instant::now();
    let mut validation = Validation {
        task: planned.key.cell.task.to_string(),
        ok: false,
        reason: None,
        verdicts: Vec::new(),
        untouched: Vec::new(),
        took: Duration::ZERO,
    };
    if let Err(reason) = judge_both(context, planned, (teller, &mut validation)).await {
        validation.reason = Some(reason);
    }
    validation.ok = validation.reason.is_none();
    validation.took = started.elapsed();
    validation
}

async fn judge_both(
    context: &RunContext,
    planned: &PlannedTrial,
    (teller, validation): (&Teller, &mut Validation),
) -> Result<(), String> {
    let task = context
        .task(planned)
        .ok_or("a baseline has no reference patch")?;
    if task.reference_patch.is_none() {
        return Err("no reference_patch: nothing proves that the task can be solved".to_owned());
    }
    if task.graders.is_empty() {
        return Err("no graders: nothing is judged".to_owned());
    }
    let frame = Frame::new(context, planned, teller);
    validation.verdicts = attempt(&frame, task, true).await?;
    if let Some(verdict) = validation
        .verdicts
        .iter()
        .find(|verdict| verdict.grade != Grade::Pass)
    {
        let reason = verdict.reason.clone().unwrap_or_default();
        return Err(format!(
            "the reference patch does not pass {}: {reason}",
            verdict.grader
        ));
    }
    validation.untouched = attempt(&frame, task, false).await?;
    if validation
        .untouched
        .iter()
        .all(|verdict| verdict.grade == Grade::Pass)
    {
        return Err(
            "the graders pass without any work: they would pass an agent that does nothing"
                .to_owned(),
        );
    }
    Ok(())
}

/// One workspace, set up, patched if asked, and graded.
async fn attempt(
    frame: &Frame<'_>,
    task: &TaskSpec,
    patched: bool,
) -> Result<Vec<Verdict>, String> {
    let context = frame.context;
    block_in_place(|| frame.trial_dir.create())
        .map_err(|error| format!("create {}: {error}", frame.trial_dir.root().display()))?;
    let parent = context.scratch.join("w");
    let workspace = block_in_place(|| context.template.prepare(&parent, &frame.short_name))
        .map_err(|error| format!("workspace: {error}"))?;
    let verdicts = graded(frame, &workspace, (task, patched)).await;
    for text in block_in_place(|| workspace.discard()).problems {
        frame.teller.tell(Progress::Notice { text });
    }
    verdicts
}

async fn graded(
    frame: &Frame<'_>,
    workspace: &Workspace,
    (task, patched): (&TaskSpec, bool),
) -> Result<Vec<Verdict>, String> {
    let stopped = |stop: Stop| stop.message().to_owned();
    preparation::set_up(frame, workspace, task, &[])
        .await
        .map_err(stopped)?;
    let baseline: Option<ForbiddenBaseline> =
        preparation::baseline(frame, workspace).map_err(stopped)?;
    if let (true, Some(patch)) = (patched, &task.reference_patch) {
        workspace
            .apply_patch(patch)
            .map_err(|error| format!("apply {}: {error}", patch.display()))?;
    }
    let settings = &frame.context.suite.settings;
    let environment: Vec<_> = frame
        .around(workspace)
        .for_harness(&[])
        .into_iter()
        .collect();
    Ok(grade(
        &task.graders,
        &GradeContext {
            root: &workspace.root,
            project_dir: &workspace.project_dir,
            subdir: &frame.context.source.subdir,
            baseline: baseline.as_ref(),
            env: &environment,
            logs: frame.trial_dir.root(),
            default_timeout: settings.grader_timeout,
            grace: settings.stop_grace,
            cancel: &frame.context.cancel,
        },
    )
    .await)
}
