//! Proves a task without an agent: the reference patch must pass every grader, and nothing at all must not.

use std::time::{Duration, Instant};

use crate::model::{Grade, Verdict};
use crate::plan::PlannedTrial;
use crate::trial::alone::{Job, graded_alone};
use crate::trial::frame::Frame;
use crate::trial::{Guard, RunContext, Teller};

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
    /// What is worth knowing though it decides nothing.
    pub notes: Vec<String>,
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
        notes: Vec::new(),
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
    let patch = task.reference_patch.as_deref();
    let patch = patch.ok_or("no reference_patch: nothing proves that the task can be solved")?;
    if task.graders.is_empty() {
        return Err("no graders: nothing is judged".to_owned());
    }
    let folder = context.run_dir.reference_check(task.id.as_str());
    let frame = Frame::new(context, planned, teller).with_folder(folder);
    let opened = context.guard(planned).map(Guard::opened);
    for path in opened.unwrap_or_default() {
        validation.notes.push(format!(
            "the reference patch changes {path}, which is protected by default: it is left open for this task; `protected` settles it"
        ));
    }
    let reference = graded_alone(&frame, task, Job::Patch(patch)).await?;
    validation.verdicts = reference.verdicts;
    validation.notes.extend(reference.notes);
    if let Some(reason) = reference.violations.first() {
        return Err(format!(
            "the reference patch changes what the task protects ({reason}): no solution of this kind can pass"
        ));
    }
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
    validation.untouched = graded_alone(&frame, task, Job::Nothing).await?.verdicts;
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
