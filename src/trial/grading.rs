//! Grading: what an agent left is carried into trees that the harness builds, and graders work there.
//!
//! [`grade_fresh`] is the one function for it: a trial's own grading, regrading, validation, and the resume of a trial whose
//! agent had ended all come here with changed paths, captured a moment ago or read from `changes.jsonl`.

use std::path::PathBuf;
use std::time::Duration;

use crate::trial::blocking::blocking;
use crate::trial::grading_tree::{self, GradingTree, Job, Place};
use crate::trial::guard::Sorted;
use crate::trial::judgement::grade_of;
use crate::trial::known::Known;
use crate::trial::simulator;
use crate::trial::trial_context::TrialContext;
use crate::trial::twins;
use crate::trial::unbuilt::Unbuilt;
use proctor_config::{GraderSpec, TaskSpec};
use proctor_graders::{AppleEnv, ForbiddenBaseline, GradeContext, Heard, Judged, Round, grade};
use proctor_judge::JudgeBudget;
use proctor_layers::Spent;
use proctor_model::{
    ChangeFacts, Grade, Infra, LayerVerdicts, Oversize, Reason, ReasonKind, TwoSuites, Verdict,
    VerdictCause,
};
use proctor_record::TrialDir;
use proctor_supervise::aid_of;
use proctor_workspace::{ChangedPath, Content, Now, Workspace};

/// What is graded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work<'a> {
    /// What is different from the state after setup.
    pub(super) changed: &'a [ChangedPath],
    /// Set where that is too much to grade.
    pub(super) oversize: Option<Oversize>,
    /// Forbidden files after setup, where they were looked at; else they are looked at in the fresh tree.
    pub(super) baseline: Option<&'a ForbiddenBaseline>,
    /// Arguments that the scenario adds to the agent's; graders are told.
    pub(super) extra_args: &'a [String],
    /// What is known of the agent; nothing where none ran.
    pub(super) told: Option<Told<'a>>,
}

/// What is known of an agent whose work is graded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    /// The folder of what it said.
    pub(super) dir: &'a TrialDir,
    pub(super) spent: Spent,
    /// Why the trial is no success, whatever graders say.
    pub(super) decided: Option<&'a str>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Graded {
    pub(super) verdicts: Vec<Verdict>,
    /// Whether graders were asked in a tree that the harness built.
    pub(super) in_fresh_tree: bool,
    /// Reasons for `integrity`.
    pub(super) reasons: Vec<Reason>,
    /// What is to be known of the changes beside these.
    pub(super) facts: ChangeFacts,
    pub(super) notes: Vec<String>,
    /// What the two suites of the task say, if it has two.
    pub(super) suites: Option<TwoSuites>,
    /// What the three layers found, where the task asks for one.
    pub(super) layers: Option<LayerVerdicts>,
    /// What the machine lacked, where that kept graders from a tree, or one from starting: then nothing is judged.
    pub(super) fault: Option<Infra>,
}

/// Grades `work` in fresh trees: base, setup, what is carried of the changes. Total: what keeps a tree from being built is an error
/// of the grading, never a failure of the work. `old` is the tree that the agent left; unless workspaces are kept, it goes as soon as
/// all is taken from it, so that graders cannot come upon it.
pub(super) async fn grade_fresh(
    frame: &TrialContext<'_>,
    task: &TaskSpec,
    (work, old): (Work<'_>, &mut Option<Workspace>),
) -> Graded {
    let mut graded = Graded::default();
    let sorted = sorted(frame, work);
    graded.reasons = sorted.reasons;
    graded.facts = sorted.facts;
    if task.graders.is_empty() {
        return graded;
    }
    graded.in_fresh_tree = true;
    let judged = if let Some(size) = work.oversize {
        graded.notes.push(format!(
            "the agent changed {} paths of {} bytes in all: more than {} paths or {} bytes are not graded",
            size.paths, size.bytes, Oversize::MAX_PATHS, Oversize::MAX_BYTES
        ));
        alone(oversize())
    } else if let Some(why) = dropped(&sorted.carried) {
        alone(not_built(&why))
    } else {
        let job = (task, work, sorted.carried.as_slice());
        let judged = in_fresh_trees(frame, (job, old), &mut graded).await;
        judged.unwrap_or_else(|unbuilt| alone(graded.no_tree(&unbuilt)))
    };
    graded.judged(task, judged);
    graded
}

/// Decides about each change.
pub(super) fn sorted<'a>(frame: &TrialContext<'_>, work: Work<'a>) -> Sorted<'a> {
    let guard = frame.context.guard(frame.planned);
    guard.map_or_else(Sorted::default, |guard| {
        guard.sort(work.changed, &Known::of(&frame.context.template))
    })
}

/// Why work cannot be graded of which a part is no longer kept.
fn dropped(carried: &[&ChangedPath]) -> Option<String> {
    let limits = carried.iter().filter_map(|one| match &one.now {
        Now::File(file) => match &file.content {
            Content::Dropped(limit) => Some((one, limit)),
            Content::Bytes(_) | Content::In { .. } | Content::Lost(_) => None,
        },
        Now::Removed | Now::Link(_) | Now::Special(_) => None,
    });
    let (first, limit) = { limits }.next()?;
    Some(format!(
        "{} is no longer kept, since the trial left more than suite.limits.{limit}",
        first.path.display()
    ))
}

impl Graded {
    /// Takes in what graders said.
    fn judged(&mut self, task: &TaskSpec, judged: Judged) {
        let verdicts = judged.verdicts;
        for cause in verdicts.iter().filter_map(|it| it.cause.as_ref()) {
            match cause {
                VerdictCause::Violation(reason) => self.reasons.push(reason.clone()),
                VerdictCause::Machine(fault) => self.fault = self.fault.or(Some(*fault)),
                VerdictCause::Simulator | VerdictCause::Unjudged => {}
            }
        }
        if task.impossible && grade_of(&verdicts) == Grade::Pass {
            self.reasons
                .push(Reason::of(ReasonKind::ImpossibleTaskPassed));
        }
        let asked = judged.places.into_iter().zip(&verdicts);
        let asked = asked.filter(|(_, verdict)| verdict.cause != Some(VerdictCause::Unjudged));
        let asked: Vec<_> = asked.map(|(place, it)| (place, it.grade)).collect();
        self.suites = TwoSuites::of(&asked, (task.graders.len(), task.held_out));
        self.verdicts = verdicts;
        self.layers = judged.layers;
    }

    /// No simulator could be had.
    pub(super) fn without_simulator(why: &str) -> Self {
        let verdict = Verdict {
            grader: "simulator".to_owned(),
            grade: Grade::Error,
            reason: Some(format!("simulator:{why}")),
            cause: Some(VerdictCause::Simulator),
            duration: Duration::ZERO,
        };
        Self {
            verdicts: vec![verdict],
            ..Self::default()
        }
    }

    /// The verdict where there is no tree; whether the machine is why is kept.
    fn no_tree(&mut self, unbuilt: &Unbuilt) -> Verdict {
        self.fault = unbuilt.fault;
        not_built(&unbuilt.why)
    }

    /// Why there are no better verdicts.
    pub(super) fn why(&self) -> Vec<String> {
        let reasons = self.verdicts.iter().filter_map(|it| it.reason.clone());
        reasons.collect()
    }

    /// What was left could not be had.
    pub(super) fn impossible(why: &str) -> Self {
        Self {
            verdicts: vec![not_built(why)],
            ..Self::default()
        }
    }
}

/// The verdict on work that is too large to grade.
fn oversize() -> Verdict {
    Verdict {
        grader: "changes".to_owned(),
        grade: Grade::Fail,
        reason: Some("oversize".to_owned()),
        cause: None,
        duration: Duration::ZERO,
    }
}

/// A verdict that no grader was asked for.
fn alone(verdict: Verdict) -> Judged {
    Judged {
        verdicts: vec![verdict],
        places: vec![0],
        ..Judged::default()
    }
}

/// The verdict when no tree could be built.
pub(super) fn not_built(why: &str) -> Verdict {
    Verdict {
        grader: "fresh_tree".to_owned(),
        grade: Grade::Error,
        reason: Some(format!("fresh_tree:{why}")),
        cause: None,
        duration: Duration::ZERO,
    }
}

async fn in_fresh_trees(
    frame: &TrialContext<'_>,
    (job, old): (Job<'_>, &mut Option<Workspace>),
    graded: &mut Graded,
) -> Result<Judged, Unbuilt> {
    let (task, work, _) = job;
    let needs_baseline =
        |grader: &GraderSpec| matches!(grader, GraderSpec::GitDiffForbidden { .. });
    let only_forbidden = task.graders.iter().all(needs_baseline);
    if only_forbidden && let (Some(_), Some(old)) = (work.baseline, old.as_ref()) {
        // Nothing is run and nothing but the captured changes is looked at.
        return Ok(in_one_place(frame, task, (work, &Place::bare(old))).await);
    }
    let mut grounds = GradingTree::new(frame, job);
    let judged = on_grounds(&mut grounds, old).await;
    graded.notes.extend(grounds.leave());
    judged
}

async fn on_grounds(
    grounds: &mut GradingTree<'_>,
    old: &mut Option<Workspace>,
) -> Result<Judged, Unbuilt> {
    grounds.renew().await?;
    let (frame, (task, work, _)) = (grounds.frame, grounds.job);
    if !grounds.may_read_old_tree()
        && !frame.context.suite.settings.keep_workdirs
        && let Some(old) = old.take()
    {
        grounds.note(blocking(|| old.discard()));
    }
    let desk = GraderEnv::of(frame, task, work).await;
    let (place, baseline) = grounds.current()?;
    // In memory of its own, here and below: the futures of all graders are large.
    let mut round = Box::pin(Round::of(&task.graders, &desk.context(place, baseline))).await;
    while let Some((index, spec)) = round.next() {
        match grounds.make_ready_for((index, spec)).await {
            Ok(()) => {}
            Err(unbuilt) if unbuilt.fault.is_some() => return Err(unbuilt),
            Err(unbuilt) => {
                round.give_up(format!("fresh_tree:{}", unbuilt.why));
                continue;
            }
        }
        let (place, baseline) = grounds.current()?;
        Box::pin(round.ask(&desk.context(place, baseline))).await;
    }
    let mut judged = round.finish();
    twins::confirm(grounds, (&desk, task), &mut judged).await?;
    Ok(desk.closed(judged))
}

/// Asks all graders in one place, whatever they do to it.
async fn in_one_place(
    frame: &TrialContext<'_>,
    task: &TaskSpec,
    (work, place): (Work<'_>, &Place),
) -> Judged {
    let desk = GraderEnv::of(frame, task, work).await;
    let context = desk.context(place, work.baseline);
    let judged = Box::pin(grade(&task.graders, &context)).await;
    desk.closed(judged)
}

/// What graders of a trial share, wherever they work.
pub(super) struct GraderEnv<'a> {
    frame: &'a TrialContext<'a>,
    work: Work<'a>,
    apple: Option<AppleEnv<'a>>,
    marker: String,
    purse: JudgeBudget,
    out: PathBuf,
}

impl<'a> GraderEnv<'a> {
    pub(super) async fn of(frame: &'a TrialContext<'_>, task: &TaskSpec, work: Work<'a>) -> Self {
        Self {
            frame,
            work,
            apple: simulator::desk(frame, task).await,
            marker: aid_of(&frame.marker),
            purse: frame.purse_of_judges(work.told.map(|told| told.spent)),
            out: grading_tree::own_folder(frame).join("out"),
        }
    }

    pub(super) fn context<'b>(
        &'b self,
        place: &'b Place,
        baseline: Option<&'b ForbiddenBaseline>,
    ) -> GradeContext<'b> {
        let context = self.frame.context;
        let settings = &context.suite.settings;
        GradeContext {
            marker: &self.marker,
            apple: self.apple.as_ref(),
            root: &place.root,
            project_dir: &place.project_dir,
            subdir: &context.source.subdir,
            baseline,
            left: Some(self.work.changed),
            mixture: None,
            tests: None,
            env: &place.environment,
            containment: &place.containment,
            tools: &context.grader_tools,
            out: &self.out,
            logs: self.frame.trial_dir.root(),
            default_timeout: settings.grader_timeout,
            grace: settings.stop_grace,
            cancel: &context.cancel,
            judges: context.judges.as_ref().map(|it| (it, &self.purse)),
            heard: self.work.told.map(|told| Heard {
                dir: told.dir,
                spent: told.spent,
                decided: told.decided,
                most_raw: settings.limits.output,
                baseline: context.reference(self.frame.planned),
                redactor: &context.redactor,
            }),
        }
    }

    /// What was judged, with what judges did for it.
    fn closed(self, mut judged: Judged) -> Judged {
        if let Some(layers) = &mut judged.layers {
            layers.judges_asked = self.purse.is_used();
            layers.judge_charged_usd = self.purse.charged();
        }
        judged
    }
}
