//! Grades again what an agent left in an earlier trial, with today's graders and without any agent.

use std::time::{Duration, Instant};

use crate::plan::PlannedTrial;
use crate::trial::app_left;
use crate::trial::blocking::blocking;
use crate::trial::capture::scrub_folder;
use crate::trial::grading::{Graded, Told, Work, grade_fresh};
use crate::trial::judgement::{decided, grade_of, reason_with};
use crate::trial::kept;
use crate::trial::perform::extra_args;
use crate::trial::simulator::{self, give_back};
use crate::trial::trial_context::TrialContext;
use crate::trial::{ProgressSink, RunContext};
use proctor_model::{Grade, Integrity, LayerVerdicts, Reason, ReasonKind, Verdict};
use proctor_record::{Row, TrialDir};

/// What today's graders say of an earlier trial.
#[derive(Debug, Clone)]
pub struct Regraded {
    /// The grade.
    pub grade: Grade,
    /// One per grader that ran.
    pub verdicts: Vec<Verdict>,
    /// What the three layers found.
    pub layers: Option<LayerVerdicts>,
    /// What is to be said of it.
    pub notes: Vec<String>,
    /// Whether the work can be trusted, as today's rules of the task say.
    pub integrity: Integrity,
    /// Why the trial is no success: by how its agent ended, or by today's graders.
    pub reason: Option<String>,
    /// Why nothing could be graded.
    pub problem: Option<String>,
    /// How long it took.
    pub took: Duration,
}

/// Grades anew what was kept of the agent's changes, in a fresh tree; the logs go to `folder`.
pub async fn regrade_trial(
    context: &RunContext,
    (planned, row): (&PlannedTrial, &Row),
    (teller, kept, folder): (&ProgressSink, &TrialDir, TrialDir),
) -> Regraded {
    let started = Instant::now();
    let mut frame = TrialContext::new(context, planned, teller).with_folder(folder);
    let task = context.task(planned);
    if let Some(task) = task {
        app_left::recall(&frame, (task, kept.app_left()));
    }
    let (mut graded, decided, problem) = match again(&frame, kept, row).await {
        Ok((graded, decided)) => (graded, decided, None),
        Err(problem) => (Graded::default(), None, Some(problem)),
    };
    graded.notes.extend(task.and_then(app_left::told));
    graded.notes.extend(give_back(&mut frame).await);
    Regraded {
        grade: grade_of(&graded.verdicts),
        reason: reason_with(decided, &graded.verdicts),
        verdicts: graded.verdicts,
        layers: graded.layers,
        notes: graded.notes,
        integrity: graded.reasons.into_iter().collect(),
        problem,
        took: started.elapsed(),
    }
}

/// What today's graders say, and why the trial is no success whatever they say.
async fn again(
    frame: &TrialContext<'_>,
    kept: &TrialDir,
    row: &Row,
) -> Result<(Graded, Option<String>), String> {
    let decided = blocking(|| decided(row, kept))?;
    let graded = grade_kept(frame, kept, (row, decided.as_deref())).await?;
    if graded.fault.is_some() {
        return Err(graded.why().join("; "));
    }
    Ok((graded, decided))
}

/// Grades what was kept in the folder `kept` of a trial whose agent has ended, as the trial itself would have: no agent is
/// started. Logs go to the frame's folder; `row` tells what the trial spent, `decided` why it is no success whatever graders say.
///
/// # Errors
/// When the changes were not kept, or cannot be read.
pub(super) async fn grade_kept(
    frame: &TrialContext<'_>,
    kept: &TrialDir,
    (row, decided): (&Row, Option<&str>),
) -> Result<Graded, String> {
    let task = frame.context.task(frame.planned);
    let task = task.ok_or("a baseline is not graded")?;
    if !kept.changes().is_file() {
        return Err("the changes of this trial were not kept".to_owned());
    }
    // Setup of the graders' tree may use the device as well as graders do.
    if let Err(stop) = simulator::lend(frame).await {
        return if frame.context.cancel.level() > 0 {
            Err(stop.message().to_owned())
        } else {
            Ok(Graded::without_simulator(stop.message()))
        };
    }
    let read = blocking(|| {
        frame
            .trial_dir
            .create_if_missing()
            .map_err(|error| error.to_string())?;
        kept::read(kept, &frame.context.source.subdir)
    })?;
    let work = Work {
        changed: &read.changed,
        oversize: read.oversize,
        baseline: None,
        extra_args: &extra_args(kept),
        told: Some(Told {
            dir: kept,
            spent: row.spent(),
            decided,
        }),
    };
    let mut graded = grade_fresh(frame, task, (work, &mut None)).await;
    if let Some(sums) = &row.artifacts_sha256 {
        let (_, changed) = blocking(|| kept.compared(sums));
        if let Some(first) = changed.first() {
            graded.reasons.push(Reason::of(ReasonKind::KeptWorkChanged));
            graded.notes.push(format!(
                "what was kept is not what the row stands for, so that this grade may be that of other work ({first}; `proctor verify` says all)"
            ));
        }
    }
    let problems = blocking(|| scrub_folder(&frame.trial_dir, &frame.context.redactor));
    graded.notes.extend(problems);
    if !read.altered.is_empty() {
        graded.notes.push(format!(
            "a secret was taken out of what was kept, so that graders may judge otherwise: {}",
            read.altered.join(", ")
        ));
    }
    Ok(graded)
}
