//! Grading: what an agent left is carried into trees that the harness builds, and graders work there.
//!
//! [`grade_fresh`] is the one function for it: a trial's own grading, regrading, validation, and the resume of a trial whose
//! agent had ended all come here with changed paths, captured a moment ago or read from `changes.jsonl`.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::{GraderSpec, TaskSpec};
use crate::graders::{
    AppleDesk, ForbiddenBaseline, GradeContext, Heard, Judged, Round, compromised, grade,
    is_unjudged, lacked_by_machine,
};
use crate::judge::Purse;
use crate::layers::Spent;
use crate::model::{Grade, GradedIn, Infra, LayerVerdicts, TwoSuites, Verdict};
use crate::record::TrialDir;
use crate::supervise::aid_of;
use crate::trial::blocking::blocking;
use crate::trial::environment::program_path;
use crate::trial::errands::Spot;
use crate::trial::frame::Frame;
use crate::trial::ground::{self, Grounds, Job, Place};
use crate::trial::guard::Sorted;
use crate::trial::judgement::grade_of;
use crate::trial::known::Known;
use crate::trial::simulator;
use crate::trial::touched::Touched;
use crate::trial::unbuilt::Unbuilt;
use crate::workspace::{ChangedPath, Workspace};

/// What is graded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Work<'a> {
    /// What is different from the state after setup.
    pub(super) changed: &'a [ChangedPath],
    /// Forbidden files after setup, where they were looked at; else they are looked at in the fresh tree.
    pub(super) baseline: Option<&'a ForbiddenBaseline>,
    /// Arguments that the scenario adds to the agent's; graders are told.
    pub(super) extra_args: &'a [String],
    /// What is known of the agent; nothing where none ran.
    pub(super) told: Option<Told<'a>>,
    /// Whether graders behind one that does not pass are asked, too.
    pub(super) to_the_end: bool,
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
    /// The tree that graders worked in.
    pub(super) tree: Option<GradedIn>,
    /// Reasons for `integrity`: rules of the task that were broken.
    pub(super) violations: Vec<String>,
    /// Reasons for `integrity`: what looks odd.
    pub(super) suspicions: Vec<String>,
    pub(super) notes: Vec<String>,
    /// What the two suites of the task say, if it has two.
    pub(super) suites: Option<TwoSuites>,
    /// What the three layers found, where the task asks for one.
    pub(super) layers: Option<LayerVerdicts>,
    /// What the machine lacked, where that kept graders from a tree, or one from starting: then nothing is judged.
    pub(super) fault: Option<Infra>,
}

/// Grades `work` in fresh trees: base, setup, what was left. Total: what keeps it from being built is an error of the
/// grading, never a failure of the work. `old` is the tree that the agent left; unless workspaces are kept,
/// it goes as soon as all is taken from it, so that graders cannot come upon it.
pub(super) async fn grade_fresh(
    frame: &Frame<'_>,
    task: &TaskSpec,
    (work, old): (Work<'_>, &mut Option<Workspace>),
) -> Graded {
    let mut graded = Graded {
        tree: Some(GradedIn::Fresh),
        ..Graded::default()
    };
    let sorted = graded.sort(frame, work);
    if task.graders.is_empty() {
        graded.tree = None;
        return graded;
    }
    graded.notes.extend(sorted.left_out());
    let judged = if let Some(path) = sorted.not_allowed {
        alone(not_allowed(&path))
    } else {
        let job = (task, work, sorted.carried.as_slice());
        let judged = in_fresh_trees(frame, (job, old), &mut graded).await;
        judged.unwrap_or_else(|unbuilt| alone(graded.no_tree(&unbuilt)))
    };
    graded.judged(task, judged);
    graded
}

impl Graded {
    /// Takes in what graders said; a grader that was tampered with breaks a rule whatever it said.
    fn judged(&mut self, task: &TaskSpec, judged: Judged) {
        let verdicts = judged.verdicts;
        self.fault = self.fault.or(verdicts.iter().find_map(lacked_by_machine));
        let tampered = verdicts.iter().filter_map(compromised);
        self.violations.extend(tampered.map(str::to_owned));
        if task.impossible && grade_of(&verdicts) == Grade::Pass {
            self.violations.push(IMPOSSIBLE_PASSED.to_owned());
        }
        let asked = judged.places.into_iter().zip(&verdicts);
        let asked = asked.filter(|(_, verdict)| !is_unjudged(verdict));
        let asked: Vec<_> = asked.map(|(place, it)| (place, it.grade)).collect();
        self.suites = TwoSuites::of(&asked, (task.graders.len(), task.held_out));
        self.verdicts = verdicts;
        self.layers = judged.layers;
    }

    /// Decides about each change, and keeps what speaks against the work.
    fn sort<'a>(&mut self, frame: &Frame<'_>, work: Work<'a>) -> Sorted<'a> {
        let guard = frame.context.guard(frame.planned);
        let mut sorted = guard.map_or_else(Sorted::default, |guard| {
            let path = program_path(&frame.context.base_env);
            let spot = Spot {
                path: &path,
                suite: &frame.context.suite.config_dir,
            };
            let known = Known::of(&frame.context.template);
            guard.sort(work.changed, (&known, spot))
        });
        self.violations.append(&mut sorted.violations);
        self.suspicions.append(&mut sorted.suspicions);
        sorted
    }

    /// No simulator could be had.
    pub(super) fn without_simulator(why: &str) -> Self {
        let verdict = Verdict {
            grader: "simulator".to_owned(),
            grade: Grade::Error,
            reason: Some(format!("simulator:{why}")),
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
    pub(super) fn reasons(&self) -> Vec<String> {
        let reasons = self.verdicts.iter().filter_map(|it| it.reason.clone());
        reasons.collect()
    }

    /// No tree could be had for what was left.
    pub(super) fn unbuilt(unbuilt: &Unbuilt) -> Self {
        let mut graded = Self::default();
        graded.verdicts = vec![graded.no_tree(unbuilt)];
        graded
    }

    /// What was left could not be had.
    pub(super) fn impossible(why: &str) -> Self {
        Self {
            verdicts: vec![not_built(why)],
            ..Self::default()
        }
    }
}

/// The alarm of a task that no honest work can pass.
const IMPOSSIBLE_PASSED: &str = "impossible_task_passed";

/// The verdict on a change where none is allowed.
fn not_allowed(path: &str) -> Verdict {
    Verdict {
        grader: "allowed_changes".to_owned(),
        grade: Grade::Fail,
        reason: Some(format!("change_not_allowed:{path}")),
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
fn not_built(why: &str) -> Verdict {
    Verdict {
        grader: "fresh_tree".to_owned(),
        grade: Grade::Error,
        reason: Some(format!("fresh_tree:{why}")),
        duration: Duration::ZERO,
    }
}

async fn in_fresh_trees(
    frame: &Frame<'_>,
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
    let mut grounds = Grounds::new(frame, job);
    let judged = on_grounds(&mut grounds, old).await;
    let (notes, suspicions) = grounds.leave();
    graded.notes.extend(notes);
    graded.suspicions.extend(suspicions);
    judged
}

async fn on_grounds(
    grounds: &mut Grounds<'_>,
    old: &mut Option<Workspace>,
) -> Result<Judged, Unbuilt> {
    grounds.renew().await?;
    let (frame, (task, work, _)) = (grounds.frame, grounds.job);
    if !grounds.may_read_old_tree()
        && !frame.context.suite.settings.keep_workdirs
        && let Some(old) = old.take()
    {
        grounds.note(blocking(|| old.discard()).problems);
    }
    let desk = Desk::of(frame, task, work).await;
    let (place, baseline) = grounds.current()?;
    // In memory of its own, here and below: the futures of all graders are large.
    let mut round = Box::pin(Round::of(&task.graders, &desk.context(place, baseline))).await;
    while let Some((index, spec)) = round.next() {
        match grounds.make_ready_for(index, spec).await {
            Ok(()) => {}
            Err(unbuilt) if unbuilt.fault.is_some() => return Err(unbuilt),
            Err(unbuilt) => {
                round.give_up(format!("fresh_tree:{}", unbuilt.why));
                continue;
            }
        }
        let (place, baseline) = grounds.current()?;
        Box::pin(round.ask(&desk.context(place, baseline))).await;
        grounds.look_after(spec);
    }
    Ok(desk.closed(round.finish()))
}

/// Asks all graders in one place, whatever they do to it.
async fn in_one_place(
    frame: &Frame<'_>,
    task: &TaskSpec,
    (work, place): (Work<'_>, &Place),
) -> Judged {
    let desk = Desk::of(frame, task, work).await;
    let context = desk.context(place, work.baseline);
    let judged = Box::pin(grade(&task.graders, &context)).await;
    desk.closed(judged)
}

/// Grades in the tree that the agent left, as `grader_env: workspace` asks.
pub(super) async fn grade_in_place(
    frame: &Frame<'_>,
    task: &TaskSpec,
    (work, workspace): (Work<'_>, &Workspace),
) -> Graded {
    let mut graded = Graded {
        tree: (!task.graders.is_empty()).then_some(GradedIn::Workspace),
        ..Graded::default()
    };
    let sorted = graded.sort(frame, work);
    let judged = match sorted.not_allowed {
        Some(path) => alone(not_allowed(&path)),
        None => match Place::of_agent(frame, workspace, (task, work.extra_args)) {
            Ok(place) => {
                let mut touched = Touched::default();
                touched.begin(frame, workspace);
                let judged = in_one_place(frame, task, (work, &place)).await;
                touched.look();
                graded.suspicions.extend(touched.reasons());
                judged
            }
            Err(unbuilt) => alone(graded.no_tree(&unbuilt)),
        },
    };
    graded.judged(task, judged);
    graded
        .notes
        .extend(ground::vacate(frame).err().map(|it| it.why));
    graded
}

/// What graders of a trial share, wherever they work.
struct Desk<'a> {
    frame: &'a Frame<'a>,
    work: Work<'a>,
    apple: Option<AppleDesk<'a>>,
    marker: String,
    purse: Purse,
    out: PathBuf,
}

impl<'a> Desk<'a> {
    async fn of(frame: &'a Frame<'_>, task: &TaskSpec, work: Work<'a>) -> Self {
        Self {
            frame,
            work,
            apple: simulator::desk(frame, task).await,
            marker: aid_of(&frame.marker),
            purse: frame.purse_of_judges(work.told.map(|told| told.spent)),
            out: ground::own_folder(frame).join("out"),
        }
    }

    fn context<'b>(
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
            env: &place.environment,
            containment: &place.containment,
            tools: &context.grader_tools,
            out: &self.out,
            logs: self.frame.trial_dir.root(),
            to_the_end: self.work.to_the_end,
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
