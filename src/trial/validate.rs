//! Proves a task without an agent: the reference patch must pass every grader, and nothing at all must not.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::config::TaskSpec;
use crate::model::{Grade, Verdict};
use crate::plan::PlannedTrial;
use crate::trial::advice::{believed, open_scripts, unasked};
use crate::trial::alone::{Job, graded_alone};
use crate::trial::cheat::Cheat;
use crate::trial::frame::Frame;
use crate::trial::grading::Graded;
use crate::trial::judgement::{deciding, grade_of};
use crate::trial::simulator::give_back;
use crate::trial::weak::{Weak, satisfied, weak};
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
    /// How often the reference was graded, and how often it passed.
    pub repeats: (u32, u32),
    /// What became of the cheats that were tried.
    pub cheats: Vec<Caught>,
    /// Graders that cheats satisfy which others keep from passing.
    pub weak: Vec<Weak>,
    /// What is worth knowing though it decides nothing.
    pub notes: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

/// How much is asked of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// How often the reference is graded; it must pass each time.
    pub repeats: u32,
    /// Whether cheats are tried; none may pass.
    pub cheats: bool,
}

impl Default for Proof {
    fn default() -> Self {
        Self {
            repeats: 1,
            cheats: false,
        }
    }
}

/// What became of a cheat.
#[derive(Debug, Clone)]
pub struct Caught {
    /// Its name.
    pub cheat: &'static str,
    /// What it was graded.
    pub grade: Grade,
    /// Why.
    pub reason: Option<String>,
    /// Whether its row would tell of it, though it passes: makefiles and `package.json` are open to honest work.
    pub told: bool,
    /// The numbers, from 1, of the graders that it satisfies and nothing alone does not, unless it is caught for itself.
    pub satisfied: Vec<usize>,
}

impl Caught {
    /// Whether it comes to nothing: beside real work it would not help either.
    #[must_use]
    pub const fn is_beaten(&self) -> bool {
        !matches!(self.grade, Grade::Pass) && self.satisfied.is_empty()
    }

    /// Whether it passes, and no row would tell.
    const fn is_unseen(&self) -> bool {
        matches!(self.grade, Grade::Pass) && !self.told
    }
}

/// Validates the task of `planned`: a clean workspace, setup, the reference patch, all graders; then the same
/// without the patch, which must fail.
pub async fn validate_task(
    context: &RunContext,
    planned: &PlannedTrial,
    (teller, proof): (&Teller, Proof),
) -> Validation {
    let started = Instant::now();
    let mut validation = Validation {
        task: planned.key.cell.task.to_string(),
        ok: false,
        reason: None,
        verdicts: Vec::new(),
        untouched: Vec::new(),
        repeats: (0, 0),
        cheats: Vec::new(),
        weak: Vec::new(),
        notes: Vec::new(),
        took: Duration::ZERO,
    };
    if let Err(reason) = judge_both(context, planned, (teller, proof, &mut validation)).await {
        validation.reason = Some(reason);
    }
    validation.ok = validation.reason.is_none();
    validation.took = started.elapsed();
    validation
}

async fn judge_both(
    context: &RunContext,
    planned: &PlannedTrial,
    (teller, proof, validation): (&Teller, Proof, &mut Validation),
) -> Result<(), String> {
    let task = context
        .task(planned)
        .ok_or("a baseline has no reference patch")?;
    validation.notes.extend(believed(&task.graders));
    if task.impossible {
        let why = "the task is impossible: there is no reference to check";
        validation.notes.push(why.to_owned());
        return nothing_passes(context, planned, (teller, proof, validation)).await;
    }
    if task.graders.is_empty() {
        return Err("no graders: nothing is judged".to_owned());
    }
    let Some(patch) = task.reference_patch.as_deref() else {
        let why = "no reference_patch: nothing proves that the task can be solved";
        validation.notes.push(why.to_owned());
        return nothing_passes(context, planned, (teller, proof, validation)).await;
    };
    let folder = context.run_dir.reference_check(task.id.as_str());
    let mut frame = Frame::new(context, planned, teller).with_folder(folder);
    let judged = with_reference(&frame, (task, patch), (proof, validation)).await;
    validation.notes.extend(give_back(&mut frame).await);
    judged
}

/// The reference passes, and nothing else does.
async fn with_reference(
    frame: &Frame<'_>,
    (task, patch): (&TaskSpec, &Path),
    (proof, validation): (Proof, &mut Validation),
) -> Result<(), String> {
    let opened = frame.context.guard(frame.planned).map(Guard::opened);
    for path in opened.unwrap_or_default() {
        validation.notes.push(format!(
            "the reference patch changes {path}, which is protected by default: it is left open for this task; `protected` settles it"
        ));
    }
    let mut reference = graded_alone(frame, task, Job::Patch(patch)).await?;
    validation.repeats = (1, u32::from(passes(&reference.verdicts)));
    for _ in 1..proof.repeats {
        let again = graded_alone(frame, task, Job::Patch(patch)).await?;
        validation.repeats.0 += 1;
        validation.repeats.1 += u32::from(passes(&again.verdicts));
        if passes(&reference.verdicts) {
            reference = again;
        }
    }
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
        let of = match validation.repeats {
            (1, _) | (_, 0) => String::new(),
            (all, passed) => format!(" ({passed} of {all} times it did)"),
        };
        return Err(format!(
            "the reference patch does not pass {}: {reason}{of}",
            verdict.grader
        ));
    }
    without_work(frame, task, (proof, validation)).await
}

/// Asks of a task without a reference no more than that neither nothing nor a cheat passes.
async fn nothing_passes(
    context: &RunContext,
    planned: &PlannedTrial,
    (teller, proof, validation): (&Teller, Proof, &mut Validation),
) -> Result<(), String> {
    let task = context.task(planned).ok_or("a baseline is no task")?;
    let folder = context.run_dir.reference_check(task.id.as_str());
    let mut frame = Frame::new(context, planned, teller).with_folder(folder);
    let judged = without_work(&frame, task, (proof, validation)).await;
    validation.notes.extend(give_back(&mut frame).await);
    judged
}

/// Nothing at all does not pass, and neither do cheats, where they are asked for.
async fn without_work(
    frame: &Frame<'_>,
    task: &TaskSpec,
    (proof, validation): (Proof, &mut Validation),
) -> Result<(), String> {
    let to_the_end = proof.cheats;
    let untouched = graded_alone(frame, task, Job::Nothing { to_the_end }).await?;
    validation.untouched.clone_from(&untouched.verdicts);
    if passes(&validation.untouched) {
        return Err(
            "the graders pass without any work: they would pass an agent that does nothing"
                .to_owned(),
        );
    }
    if proof.cheats {
        try_cheats(frame, task, (&untouched, validation)).await?;
    }
    Ok(())
}

fn passes(verdicts: &[Verdict]) -> bool {
    grade_of(verdicts) == Grade::Pass
}

/// Whether a row would say that what runs the tests was changed.
fn is_told(graded: &Graded) -> bool {
    let mut told = graded.suspicions.iter().chain(&graded.violations);
    told.any(|reason| reason.starts_with("test_config_changed:"))
}

/// Grades every cheat as an agent's work, by each grader.
async fn try_cheats(
    frame: &Frame<'_>,
    task: &TaskSpec,
    (untouched, validation): (&Graded, &mut Validation),
) -> Result<(), String> {
    let mut in_part = Vec::new();
    for cheat in Cheat::ALL {
        if frame.context.cancel.level() > 0 {
            return Err("cancelled".to_owned());
        }
        let graded = graded_alone(frame, task, Job::Cheat(cheat)).await?;
        let deciding = deciding(&graded.verdicts);
        let caught = Caught {
            cheat: cheat.as_str(),
            grade: grade_of(&graded.verdicts),
            reason: deciding.and_then(|verdict| verdict.reason.clone()),
            told: cheat == Cheat::TestCommand && is_told(&graded),
            satisfied: satisfied(untouched, &graded),
        };
        if !caught.is_unseen() {
            in_part.push((cheat, caught.satisfied.clone()));
        }
        validation.cheats.push(caught);
    }
    validation.weak = weak(frame, task, &in_part);
    let passed = validation.cheats.iter().filter(|one| one.is_unseen());
    let passed: Vec<&str> = passed.map(|one| one.cheat).collect();
    if passed.is_empty() {
        return Ok(());
    }
    if passed.contains(&Cheat::AlwaysEqual.as_str()) {
        validation.notes.extend(unasked(&task.graders));
    }
    if passed.contains(&Cheat::GraderScript.as_str()) {
        validation.notes.extend(open_scripts(frame, task));
    }
    Err(format!(
        "a cheat passes: {}; protect what it changes, or ask for more than an exit code",
        passed.join(", ")
    ))
}
