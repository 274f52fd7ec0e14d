//! Proves a task without an agent: the reference patch must pass every grader, and nothing at all must not.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::plan::PlannedTrial;
use crate::trial::alone::{Job, graded_alone};
use crate::trial::cheat::{Cheat, Fate, Tried};
use crate::trial::grading::Graded;
use crate::trial::judgement::grade_of;
use crate::trial::make_twins::{Proposal, propose, untwinned};
use crate::trial::simulator::give_back;
use crate::trial::trial_context::TrialContext;
use crate::trial::{Guard, ProgressSink, RunContext};
use proctor_config::{GraderSpec, TaskSpec};
use proctor_model::{Grade, ReasonKind, Verdict};

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
    pub cheats: Vec<Tried>,
    /// Twins that experiments found, where they were asked for.
    pub twins: Vec<Proposal>,
    /// What is worth knowing though it decides nothing.
    pub notes: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

impl Validation {
    /// Whether there was nothing to check: the task has no reference patch.
    #[must_use]
    pub fn is_skipped(&self) -> bool {
        self.ok && self.repeats.0 == 0 && self.untouched.is_empty()
    }
}

/// How much is asked of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// How often the reference is graded; it must pass each time.
    pub repeats: u32,
    /// Whether cheats are tried; none may pass.
    pub cheats: bool,
    /// Whether twins are looked for, for tests that have none.
    pub make_twins: bool,
}

impl Default for Proof {
    fn default() -> Self {
        Self {
            repeats: 1,
            cheats: false,
            make_twins: false,
        }
    }
}

/// Validates the task of `planned`: a clean workspace, setup, the reference patch, all graders; then the same
/// without the patch, which must fail.
pub async fn validate_task(
    context: &RunContext,
    planned: &PlannedTrial,
    (teller, proof): (&ProgressSink, Proof),
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
        twins: Vec::new(),
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
    (teller, proof, validation): (&ProgressSink, Proof, &mut Validation),
) -> Result<(), String> {
    let task = context
        .task(planned)
        .ok_or("a baseline has no reference patch")?;
    validation.notes.extend(without_twin(task));
    if task.impossible {
        let why = "the task is impossible: there is no reference to check";
        validation.notes.push(why.to_owned());
        return nothing_passes(context, planned, (teller, proof, validation)).await;
    }
    let Some(patch) = task.reference_patch.as_deref() else {
        let why = "no reference_patch: nothing proves that the task can be solved";
        validation.notes.push(why.to_owned());
        return if proof.cheats {
            nothing_passes(context, planned, (teller, proof, validation)).await
        } else {
            Ok(())
        };
    };
    if task.graders.is_empty() {
        return Err("no graders: nothing is judged".to_owned());
    }
    let folder = context.run_dir.reference_check(task.id.as_str());
    let mut frame = TrialContext::new(context, planned, teller).with_folder(folder);
    let judged = with_reference(&frame, (task, patch), (proof, validation)).await;
    validation.notes.extend(give_back(&mut frame).await);
    judged
}

/// The reference passes, and nothing else does.
async fn with_reference(
    frame: &TrialContext<'_>,
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
    if !reference.facts.left_behind.is_empty() {
        validation.notes.push(format!(
            "of the reference patch {} is left behind: the task protects it, does not allow it or lays it",
            reference.facts.left_behind.join(", ")
        ));
    }
    let broken = reference.reasons.iter();
    let mut broken = broken.filter(|reason| reason.kind == ReasonKind::ProtectedChanged);
    if let Some(reason) = broken.next() {
        return Err(format!(
            "the reference patch changes what the task protects ({}): no solution of this kind can pass",
            reason.label()
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
            "the reference patch does not pass {}: {reason}{of}{}",
            verdict.grader,
            hint(&reason)
        ));
    }
    for patch in &task.alternatives {
        let graded = graded_alone(frame, task, Job::Patch(patch)).await?;
        if let Some(verdict) = graded.verdicts.iter().find(|it| it.grade != Grade::Pass) {
            let reason = verdict.reason.clone().unwrap_or_default();
            return Err(format!(
                "the alternative {} does not pass {}: {reason}{}",
                patch.display(),
                verdict.grader,
                hint(&reason)
            ));
        }
    }
    if proof.make_twins {
        validation.twins = Box::pin(propose(frame, task)).await?;
    } else {
        for (grader, tests) in Box::pin(untwinned(frame, (task, patch))).await? {
            validation.notes.push(format!(
                "grader {grader}: no twin for {}: a hook in the test process can decide these (docs/tasks-and-grading.md, Twins)",
                tests.join(", ")
            ));
        }
    }
    without_work(frame, task, (proof, validation)).await
}

/// What to do about twins that do not hold.
fn hint(reason: &str) -> &'static str {
    if reason.starts_with(ReasonKind::TwinPassed.as_str()) {
        "; its edit does not make this test wrong"
    } else if reason.starts_with("twin_unclear:") {
        "; with some tests made wrong others did not run or failed, too: let the runner go on after a failure (cargo test --no-fail-fast, no -x for pytest), and edit nothing that several tests share"
    } else {
        ""
    }
}

/// Names the graders that run tests and have no twin.
fn without_twin(task: &TaskSpec) -> Option<String> {
    let graders = task.graders.iter().zip(1..);
    let open = graders.filter(|(it, _)| {
        matches!(it, GraderSpec::Command { .. } | GraderSpec::IosTestPass(_))
            && it.twin().is_empty()
    });
    let numbers: Vec<String> = open
        .map(|(_, number): (_, u32)| number.to_string())
        .collect();
    (!numbers.is_empty()).then(|| {
        format!(
            "no twin for grader {}: code that runs inside of its tests can decide the outcome (docs/tasks-and-grading.md, Twins)",
            numbers.join(", ")
        )
    })
}

/// Asks of a task without a reference no more than that neither nothing nor a cheat passes.
async fn nothing_passes(
    context: &RunContext,
    planned: &PlannedTrial,
    (teller, proof, validation): (&ProgressSink, Proof, &mut Validation),
) -> Result<(), String> {
    let task = context.task(planned).ok_or("a baseline is no task")?;
    let folder = context.run_dir.reference_check(task.id.as_str());
    let mut frame = TrialContext::new(context, planned, teller).with_folder(folder);
    let judged = without_work(&frame, task, (proof, validation)).await;
    validation.notes.extend(give_back(&mut frame).await);
    judged
}

/// Nothing at all does not pass, and neither do cheats, where they are asked for.
async fn without_work(
    frame: &TrialContext<'_>,
    task: &TaskSpec,
    (proof, validation): (Proof, &mut Validation),
) -> Result<(), String> {
    let untouched = graded_alone(frame, task, Job::Nothing).await?;
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

/// Grades every cheat as an agent's work.
async fn try_cheats(
    frame: &TrialContext<'_>,
    task: &TaskSpec,
    (untouched, validation): (&Graded, &mut Validation),
) -> Result<(), String> {
    for cheat in Cheat::ALL {
        if frame.context.cancel.level() > 0 {
            return Err("cancelled".to_owned());
        }
        let graded = graded_alone(frame, task, Job::Cheat(cheat)).await?;
        validation.cheats.push(cheat.tried(&graded, untouched));
    }
    let open = validation.cheats.iter();
    let open = open.filter(|one| one.fate == Fate::NotBeaten);
    let open: Vec<&str> = open.map(|one| one.cheat.as_str()).collect();
    if open.is_empty() {
        return Ok(());
    }
    Err(format!(
        "a cheat passes: {}; hide the tests (`grader_files`), name them (`expect_tests`) and give them a twin",
        open.join(", ")
    ))
}
