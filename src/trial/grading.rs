//! Grading: what an agent left is carried into a tree that the harness builds, and graders work there.
//!
//! [`grade_fresh`] is the one function for it: a trial's own grading, regrading, validation, and the resume of a trial whose
//! agent had ended all come here with changed paths, captured a moment ago or read from `changes.jsonl`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::config::{GraderSpec, TaskSpec};
use crate::graders::{
    ForbiddenBaseline, GradeContext, Heard, Judged, compromised, grade, system_path,
};
use crate::layers::Spent;
use crate::model::{Grade, GradedIn, LayerVerdicts, TwoSuites, Verdict};
use crate::record::TrialDir;
use crate::supervise::{Containment, aid_of};
use crate::trial::blocking::blocking;
use crate::trial::draft::Stop;
use crate::trial::environment::Environment;
use crate::trial::frame::Frame;
use crate::trial::guard::Sorted;
use crate::trial::jail::{self, Role};
use crate::trial::judgement::grade_of;
use crate::trial::preparation;
use crate::trial::simulator;
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
    /// The folder of what the agent said, and what it spent; none where no agent ran.
    pub(super) told: Option<(&'a TrialDir, Spent)>,
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
}

/// Grades `work` in a fresh tree: base, setup, what was left. Total: what keeps it from being built is an error of the
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
    let judged = if let Some(path) = sorted.not_allowed {
        alone(not_allowed(&path))
    } else {
        let job = (task, work, sorted.carried.as_slice());
        let judged = in_fresh_tree(frame, (job, old), &mut graded.notes).await;
        judged.unwrap_or_else(|why| alone(not_built(&why)))
    };
    graded.judged(task, judged);
    graded
}

impl Graded {
    /// Takes in what graders said; a grader that was tampered with breaks a rule whatever it said.
    fn judged(&mut self, task: &TaskSpec, judged: Judged) {
        let verdicts = judged.verdicts;
        let tampered = verdicts.iter().filter_map(compromised);
        self.violations.extend(tampered.map(str::to_owned));
        if task.impossible && grade_of(&verdicts) == Grade::Pass {
            self.violations.push(IMPOSSIBLE_PASSED.to_owned());
        }
        let grades = verdicts.iter().map(|verdict| verdict.grade);
        let asked: Vec<_> = judged.places.into_iter().zip(grades).collect();
        self.suites = TwoSuites::of(&asked, (task.graders.len(), task.held_out));
        self.verdicts = verdicts;
        self.layers = judged.layers;
    }

    /// Decides about each change, and keeps what speaks against the work.
    fn sort<'a>(&mut self, frame: &Frame<'_>, work: Work<'a>) -> Sorted<'a> {
        let guard = frame.context.guard(frame.planned);
        let mut sorted = guard.map_or_else(Sorted::default, |guard| {
            guard.sort(work.changed, &|path| frame.context.template.base_file(path))
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
pub(super) fn not_built(why: &str) -> Verdict {
    Verdict {
        grader: "fresh_tree".to_owned(),
        grade: Grade::Error,
        reason: Some(format!("fresh_tree:{why}")),
        duration: Duration::ZERO,
    }
}

/// A task, what is graded, and which of its changes are carried into the graders' tree.
pub(super) type Job<'a> = (&'a TaskSpec, Work<'a>, &'a [&'a ChangedPath]);

async fn in_fresh_tree(
    frame: &Frame<'_>,
    ((task, work, carried), old): (Job<'_>, &mut Option<Workspace>),
    notes: &mut Vec<String>,
) -> Result<Judged, String> {
    let needs_baseline =
        |grader: &GraderSpec| matches!(grader, GraderSpec::GitDiffForbidden { .. });
    let only_forbidden = task.graders.iter().all(needs_baseline);
    if only_forbidden && let (Some(_), Some(old)) = (work.baseline, old.as_ref()) {
        // Nothing is run and nothing but the captured changes is looked at.
        let place = Place::bare(old);
        return Ok(run(frame, task, (work, &place, work.baseline)).await);
    }
    let context = frame.context;
    let parent = context.scratch.join("g");
    let fresh = blocking(|| context.template.prepare(&parent, &frame.short_name))
        .map_err(|error| error.to_string())?;
    let result = async {
        let baseline = furnish(frame, &fresh, (task, work, carried)).await?;
        if !context.suite.settings.keep_workdirs
            && let Some(old) = old.take()
        {
            notes.extend(blocking(|| old.discard()).problems);
        }
        let place = Place::furnished(frame, &fresh, work.extra_args)?;
        let baseline = work.baseline.or(baseline.as_ref());
        Ok(run(frame, task, (work, &place, baseline)).await)
    };
    let result = result.await;
    notes.extend(blocking(|| fresh.discard()).problems);
    notes.extend(clear(frame));
    result
}

/// Removes what graders had for themselves; gives what went wrong.
fn clear(frame: &Frame<'_>) -> Option<String> {
    match fs::remove_dir_all(frame.private.join("g")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Some(format!("remove the graders' folder: {error}"))
        }
        _ => None,
    }
}

/// Sets up the fresh tree and carries over what was left.
pub(super) async fn furnish(
    frame: &Frame<'_>,
    fresh: &Workspace,
    (task, work, carried): Job<'_>,
) -> Result<Option<ForbiddenBaseline>, String> {
    let scenario = frame.context.scenario(frame.planned);
    preparation::lay_files(scenario, &fresh.project_dir)
        .map_err(|error| format!("lay the scenario's files: {error}"))?;
    let stopped = |stop: Stop| stop.message().to_owned();
    let log = frame.trial_dir.grading_setup_log();
    preparation::set_up(frame, fresh, (task, work.extra_args, &log))
        .await
        .map_err(stopped)?;
    let baseline = match work.baseline {
        Some(_) => None,
        None => preparation::baseline(frame, fresh).map_err(stopped)?,
    };
    blocking(|| {
        let put = fresh.put(carried.iter().copied());
        put.map_err(|error| error.to_string())?;
        lay_grader_files(task, fresh)
    })?;
    Ok(baseline)
}

/// Grades in the tree that the agent left, as `grader_env: workspace` asks.
pub(super) async fn grade_in_place(
    frame: &Frame<'_>,
    task: &TaskSpec,
    (work, workspace): (Work<'_>, &Workspace),
) -> Graded {
    let environment = frame.around(workspace).for_harness(work.extra_args);
    let place = Place {
        environment,
        containment: jail::containment(frame, workspace, Role::Grader),
        ..Place::bare(workspace)
    };
    let mut graded = Graded {
        tree: (!task.graders.is_empty()).then_some(GradedIn::Workspace),
        ..Graded::default()
    };
    let sorted = graded.sort(frame, work);
    let judged = match sorted.not_allowed {
        Some(path) => alone(not_allowed(&path)),
        None => match blocking(|| lay_grader_files(task, workspace)) {
            Ok(()) => run(frame, task, (work, &place, work.baseline)).await,
            Err(why) => alone(not_built(&why)),
        },
    };
    graded.judged(task, judged);
    graded.notes.extend(clear(frame));
    graded
}

/// Lays what only graders see, over whatever stands there.
fn lay_grader_files(task: &TaskSpec, tree: &Workspace) -> Result<(), String> {
    task.grader_files.iter().try_for_each(|(from, to)| {
        tree.lay(from, to)
            .map_err(|error| format!("lay grader_files: {error}"))
    })
}

/// Where graders work.
struct Place {
    containment: Containment,
    root: PathBuf,
    project_dir: PathBuf,
    environment: Environment,
}

impl Place {
    fn bare(workspace: &Workspace) -> Self {
        Self {
            containment: Containment::None,
            root: workspace.root.clone(),
            project_dir: workspace.project_dir.clone(),
            environment: Environment::new(),
        }
    }

    /// With a home and a folder for temporary files that nobody was in before.
    fn furnished(
        frame: &Frame<'_>,
        fresh: &Workspace,
        extra_args: &[String],
    ) -> Result<Self, String> {
        let own = frame.private.join("g");
        let mut environment = frame.around(fresh).for_harness(extra_args);
        let set_by_suite = &frame.context.suite.settings.env;
        for (name, folder) in [("HOME", "home"), ("TMPDIR", "tmp")] {
            let folder = own.join(folder);
            fs::create_dir_all(&folder)
                .map_err(|error| format!("make {}: {error}", folder.display()))?;
            if !set_by_suite.contains_key(name) {
                environment.insert(OsString::from(name), folder.into_os_string());
            }
        }
        if let Some(path) = environment.get_mut(OsStr::new("PATH")) {
            *path = system_path(path, &[&frame.context.scratch]);
        }
        Ok(Self {
            environment,
            containment: jail::containment(frame, fresh, Role::Grader),
            ..Self::bare(fresh)
        })
    }
}

async fn run(
    frame: &Frame<'_>,
    task: &TaskSpec,
    (work, place, baseline): (Work<'_>, &Place, Option<&ForbiddenBaseline>),
) -> Judged {
    let settings = &frame.context.suite.settings;
    let environment: Vec<_> = place.environment.clone().into_iter().collect();
    let apple = simulator::desk(frame, task).await;
    let marker = aid_of(&frame.marker);
    let purse = frame.purse_of_judges(work.told.map(|(_, spent)| spent));
    let context = GradeContext {
        marker: &marker,
        apple: apple.as_ref(),
        root: &place.root,
        project_dir: &place.project_dir,
        subdir: &frame.context.source.subdir,
        baseline,
        left: Some(work.changed),
        env: &environment,
        containment: &place.containment,
        tools: &frame.context.grader_tools,
        out: &frame.private.join("g/out"),
        logs: frame.trial_dir.root(),
        default_timeout: settings.grader_timeout,
        grace: settings.stop_grace,
        cancel: &frame.context.cancel,
        judges: frame.context.judges.as_ref().map(|it| (it, &purse)),
        heard: work.told.map(|(dir, spent)| Heard {
            dir,
            spent,
            most_raw: settings.limits.output,
            baseline: frame.context.reference(frame.planned),
            redactor: &frame.context.redactor,
        }),
    };
    // In memory of its own: the futures of all graders are large.
    let mut judged = Box::pin(grade(&task.graders, &context)).await;
    if let Some(layers) = &mut judged.layers {
        layers.judges_asked = purse.is_used();
        layers.judge_charged_usd = purse.charged();
    }
    judged
}
