//! Where graders work: a tree that the harness built, with a home and a folder for temporary files that nobody was in before.
//!
//! Graders run what an agent left, and that may change whatever is in its reach: hidden tests, what a compiler or an
//! interpreter believes of them, settings of the home. So no grader that looks at a tree follows another's code in it. As
//! long as none would, graders share one.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::config::{GraderSpec, TaskSpec};
use crate::graders::{ForbiddenBaseline, system_path};
use crate::supervise::Containment;
use crate::trial::blocking::blocking;
use crate::trial::environment::Environment;
use crate::trial::frame::Frame;
use crate::trial::grading::Work;
use crate::trial::jail::{self, Role};
use crate::trial::preparation;
use crate::trial::touched::Touched;
use crate::trial::unbuilt::Unbuilt;
use crate::workspace::{Age, ChangedPath, Content, Now, Workspace};

/// A task, what is graded, and which of its changes are carried into the graders' trees.
pub(super) type Job<'a> = (&'a TaskSpec, Work<'a>, &'a [(&'a ChangedPath, Age)]);

/// The trees of a trial's graders, one at a time.
pub(super) struct Grounds<'a> {
    pub(super) frame: &'a Frame<'a>,
    pub(super) job: Job<'a>,
    /// Forbidden files after setup, as the first tree had them, where nobody looked before.
    baseline: Option<ForbiddenBaseline>,
    tree: Option<Workspace>,
    place: Option<Place>,
    /// Whether a grader ran code in this one.
    is_used: bool,
    touched: Touched,
    notes: Vec<String>,
}

impl<'a> Grounds<'a> {
    /// Nothing is made yet.
    pub(super) fn new(frame: &'a Frame<'_>, job: Job<'a>) -> Self {
        Self {
            frame,
            job,
            baseline: None,
            tree: None,
            place: None,
            is_used: false,
            touched: Touched::default(),
            notes: Vec::new(),
        }
    }

    /// Makes one where nobody was before, in the place of the last.
    pub(super) async fn renew(&mut self) -> Result<(), Unbuilt> {
        self.give_up_tree();
        let (frame, (task, work, carried)) = (self.frame, self.job);
        vacate(frame)?;
        let own = own_folder(frame);
        fs::create_dir_all(&frame.private)
            .and_then(|()| fs::create_dir(&own))
            .map_err(Unbuilt::by(format_args!("make {}", own.display())))?;
        let context = frame.context;
        let parent = context.scratch.join("g");
        let tree = blocking(|| context.template.prepare(&parent, &frame.short_name));
        let tree = self.tree.insert(tree?);
        let known = work.baseline.or(self.baseline.as_ref());
        let work = Work {
            baseline: known,
            ..work
        };
        let baseline = furnish(frame, tree, (task, work, carried)).await?;
        self.place = Some(Place::furnished(frame, tree, work.extra_args)?);
        self.touched.begin(frame, tree);
        self.baseline = baseline.or(self.baseline.take());
        self.is_used = false;
        Ok(())
    }

    /// Sees to it that the grader at this place judges nothing that the code of another may have changed.
    pub(super) async fn make_ready_for(
        &mut self,
        index: usize,
        spec: &GraderSpec,
    ) -> Result<(), Unbuilt> {
        let (task, ..) = self.job;
        let needs_another = self.is_used && spec.looks_at_tree() && !task.sharing.contains(&index);
        if needs_another && self.frame.context.cancel.level() == 0 {
            self.renew().await?;
        }
        self.is_used |= spec.runs_code();
        Ok(())
    }

    /// Where the next grader works, and what it compares forbidden files with.
    pub(super) fn current(&self) -> Result<(&Place, Option<&ForbiddenBaseline>), String> {
        let (_, work, _) = self.job;
        let place = self.place.as_ref().ok_or("there is no tree")?;
        Ok((place, work.baseline.or(self.baseline.as_ref())))
    }

    /// Whether a later tree takes large files from the tree that the agent left.
    pub(super) fn may_read_old_tree(&self) -> bool {
        let (task, _, carried) = self.job;
        let mut graders = task.graders.iter().enumerate();
        let runs = graders.any(|(_, grader)| grader.runs_code());
        let another =
            graders.any(|(place, it)| it.looks_at_tree() && !task.sharing.contains(&place));
        let in_tree = |one: &ChangedPath| match &one.now {
            Now::File(file) => matches!(file.content, Content::In { .. }),
            Now::Removed | Now::Link(_) | Now::Special(_) => false,
        };
        runs && another && carried.iter().any(|(one, _)| in_tree(one))
    }

    /// Keeps what is to be said.
    pub(super) fn note(&mut self, notes: Vec<String>) {
        self.notes.extend(notes);
    }

    fn give_up_tree(&mut self) {
        self.place = None;
        if let Some(tree) = self.tree.take() {
            self.notes.extend(blocking(|| tree.discard()).problems);
        }
    }

    /// Looks at what graders judge by, after one that ran code.
    pub(super) fn look_after(&mut self, spec: &GraderSpec) {
        if spec.runs_code() {
            self.touched.look();
        }
    }

    /// Removes all; gives what went wrong, and reasons for `integrity`.
    pub(super) fn leave(mut self) -> (Vec<String>, Vec<String>) {
        self.give_up_tree();
        self.notes.extend(vacate(self.frame).err().map(|it| it.why));
        (self.notes, self.touched.reasons())
    }
}

/// What graders have for themselves beside their tree.
pub(super) fn own_folder(frame: &Frame<'_>) -> PathBuf {
    frame.private.join("g")
}

/// Removes that folder, whoever made it. Code that ran there may have closed folders of its own: then it is moved out of the
/// way, and removed with all else of the trial.
pub(super) fn vacate(frame: &Frame<'_>) -> Result<(), Unbuilt> {
    /// So many may be in the way.
    const MOST: u32 = 1000;
    let folder = own_folder(frame);
    let Err(error) = fs::remove_dir_all(&folder) else {
        return Ok(());
    };
    if error.kind() == io::ErrorKind::NotFound {
        return Ok(());
    }
    let mut asides = (1..MOST).map(|number| frame.private.join(format!("g-{number}")));
    let aside = asides.find(|aside| fs::symlink_metadata(aside).is_err());
    let moved = aside.map(|aside| fs::rename(&folder, aside));
    match moved {
        Some(Ok(())) => Ok(()),
        _ => Err(Unbuilt::by("remove the graders' folder")(error)),
    }
}

/// Sets up a fresh tree and carries over what was left.
pub(super) async fn furnish(
    frame: &Frame<'_>,
    fresh: &Workspace,
    (task, work, carried): Job<'_>,
) -> Result<Option<ForbiddenBaseline>, Unbuilt> {
    let scenario = frame.context.scenario(frame.planned);
    preparation::lay_files(scenario, &fresh.project_dir)
        .map_err(Unbuilt::by("lay the scenario's files"))?;
    let log = frame.trial_dir.grading_setup_log();
    preparation::set_up(frame, fresh, (task, work.extra_args, &log)).await?;
    let baseline = match work.baseline {
        Some(_) => None,
        None => preparation::baseline(frame, fresh)?,
    };
    let is_set_up = !task.setup_commands.is_empty();
    let guard = frame.context.guard(frame.planned);
    blocking(|| {
        // Setup may have built with what the base commit holds: new sources must be younger than that, and what is protected
        // younger than them.
        let age = |age| match age {
            Age::BeforeBase if is_set_up => Age::Now,
            age => age,
        };
        let carried = carried.iter().map(|(one, of)| (*one, age(*of)));
        fresh.put(carried)?;
        if let Some(guard) = guard.filter(|_| is_set_up) {
            fresh.renew(&|path| guard.is_kept(path))?;
        }
        lay_grader_files(task, fresh)
    })?;
    Ok(baseline)
}

/// Lays what only graders see, over whatever stands there.
fn lay_grader_files(task: &TaskSpec, tree: &Workspace) -> Result<(), Unbuilt> {
    task.grader_files.iter().try_for_each(|(from, to)| {
        tree.lay(from, to)
            .map_err(Unbuilt::doing("lay grader_files"))
    })
}

/// Where graders work.
pub(super) struct Place {
    pub(super) containment: Containment,
    pub(super) root: PathBuf,
    pub(super) project_dir: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
}

impl Place {
    /// For graders that run nothing.
    pub(super) fn bare(workspace: &Workspace) -> Self {
        Self {
            containment: Containment::None,
            root: workspace.root.clone(),
            project_dir: workspace.project_dir.clone(),
            environment: Vec::new(),
        }
    }

    /// The tree that the agent left, with the operator's own home, as `grader_env: workspace` asks.
    pub(super) fn of_agent(
        frame: &Frame<'_>,
        workspace: &Workspace,
        (task, extra_args): (&TaskSpec, &[String]),
    ) -> Result<Self, Unbuilt> {
        // One that was rebuilt was set up there.
        if !jail::is_graded(frame, workspace) {
            vacate(frame)?;
        }
        blocking(|| lay_grader_files(task, workspace))?;
        let environment = frame.around(workspace).for_harness(extra_args);
        Ok(Self::with(frame, workspace, environment))
    }

    fn furnished(
        frame: &Frame<'_>,
        fresh: &Workspace,
        extra_args: &[String],
    ) -> Result<Self, Unbuilt> {
        let own = own_folder(frame);
        let mut environment = frame.around(fresh).for_harness(extra_args);
        let set_by_suite = &frame.context.suite.settings.env;
        for (name, folder) in [("HOME", "home"), ("TMPDIR", "tmp")] {
            let folder = own.join(folder);
            make(&folder)?;
            if !set_by_suite.contains_key(name) {
                environment.insert(OsString::from(name), folder.into_os_string());
            }
        }
        if let Some(path) = environment.get_mut(OsStr::new("PATH")) {
            *path = system_path(path, &[&frame.context.scratch]);
        }
        Ok(Self::with(frame, fresh, environment))
    }

    fn with(frame: &Frame<'_>, workspace: &Workspace, environment: Environment) -> Self {
        Self {
            environment: environment.into_iter().collect(),
            containment: jail::containment(frame, workspace, Role::Grader),
            ..Self::bare(workspace)
        }
    }
}

fn make(folder: &Path) -> Result<(), Unbuilt> {
    fs::create_dir_all(folder).map_err(Unbuilt::by(format_args!("make {}", folder.display())))
}
