//! Where graders work: a tree that the harness built, with a home and a folder for temporary files that nobody was in before.
//!
//! Graders run what an agent left, and that may change whatever is in its reach: hidden tests, what a compiler or an
//! interpreter believes of them, settings of the home. So no grader that looks at a tree follows another's code in it. As
//! long as none would, graders share one.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::trial::blocking::blocking;
use crate::trial::environment::Environment;
use crate::trial::grading::Work;
use crate::trial::guard::Guard;
use crate::trial::jail::{self, Role};
use crate::trial::preparation;
use crate::trial::trial_context::TrialContext;
use crate::trial::twins;
use crate::trial::unbuilt::Unbuilt;
use proctor_config::{GraderSpec, TaskSpec, TwinEdit};
use proctor_graders::{ForbiddenBaseline, system_path};
use proctor_supervise::Containment;
use proctor_workspace::{ChangedPath, Content, LaidAt, LaidFile, Now, Times, Workspace};

/// A task, what is graded, and which of its changes are carried into the graders' trees.
pub(super) type Job<'a> = (&'a TaskSpec, Work<'a>, &'a [&'a ChangedPath]);

/// Edits to hidden tests, by the file that is laid.
pub(super) type Edits<'a> = &'a [&'a TwinEdit];

/// The trees of a trial's graders, one at a time.
pub(super) struct GradingTree<'a> {
    pub(super) frame: &'a TrialContext<'a>,
    pub(super) job: Job<'a>,
    /// Forbidden files after setup, as the first tree had them, where nobody looked before.
    baseline: Option<ForbiddenBaseline>,
    tree: Option<Workspace>,
    place: Option<Place>,
    /// Whether a grader ran code in this one.
    is_used: bool,
    notes: Vec<String>,
}

impl<'a> GradingTree<'a> {
    /// Nothing is made yet.
    pub(super) fn new(frame: &'a TrialContext<'_>, job: Job<'a>) -> Self {
        Self {
            frame,
            job,
            baseline: None,
            tree: None,
            place: None,
            is_used: false,
            notes: Vec::new(),
        }
    }

    /// Makes one where nobody was before, in the place of the last.
    pub(super) async fn renew(&mut self) -> Result<(), Unbuilt> {
        self.renew_with(&[]).await
    }

    /// The same with hidden tests that are made wrong.
    pub(super) async fn renew_with(&mut self, edits: Edits<'_>) -> Result<(), Unbuilt> {
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
        let baseline = furnish(frame, tree, ((task, work, carried), edits)).await?;
        self.place = Some(Place::furnished(frame, tree, work.extra_args)?);
        self.baseline = baseline.or(self.baseline.take());
        self.is_used = false;
        Ok(())
    }

    /// Sees to it that the grader at this place judges nothing that the code of another may have changed.
    pub(super) async fn make_ready_for(
        &mut self,
        (index, spec): (usize, &GraderSpec),
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
        let another = another || task.is_twinned();
        let in_tree = |one: &ChangedPath| match &one.now {
            Now::File(file) => matches!(file.content, Content::In { .. }),
            Now::Removed | Now::Link(_) | Now::Special(_) => false,
        };
        runs && another && carried.iter().any(|one| in_tree(one))
    }

    /// Keeps what is to be said.
    pub(super) fn note(&mut self, notes: Vec<String>) {
        self.notes.extend(notes);
    }

    fn give_up_tree(&mut self) {
        self.place = None;
        if let Some(tree) = self.tree.take() {
            self.notes.extend(blocking(|| tree.discard()));
        }
    }

    /// Removes all; gives what went wrong.
    pub(super) fn leave(mut self) -> Vec<String> {
        self.give_up_tree();
        self.notes.extend(vacate(self.frame).err().map(|it| it.why));
        self.notes
    }
}

/// What graders have for themselves beside their tree.
pub(super) fn own_folder(frame: &TrialContext<'_>) -> PathBuf {
    frame.private.join("g")
}

/// Removes that folder, whoever made it. Code that ran there may have closed folders of its own: then it is moved out of the
/// way, and removed with all else of the trial.
pub(super) fn vacate(frame: &TrialContext<'_>) -> Result<(), Unbuilt> {
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

/// Sets up a fresh tree, carries over what was left, puts back what is protected, and lays hidden tests last.
async fn furnish(
    frame: &TrialContext<'_>,
    fresh: &Workspace,
    ((task, work, carried), edits): (Job<'_>, Edits<'_>),
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
    let times = if is_set_up {
        Times::AfterSetup
    } else {
        Times::BeforeCheckout
    };
    let guard = frame.context.guard(frame.planned);
    blocking(|| {
        fresh.put(carried, times)?;
        let Some(guard) = guard else { return Ok(()) };
        if is_set_up {
            fresh.renew(&|path| guard.is_kept(path))?;
        }
        lay_grader_files(frame, fresh, (guard, edits))
    })?;
    Ok(baseline)
}

/// Lays what only graders see, over whatever stands there: all files alike, those that are edited among them.
fn lay_grader_files(
    frame: &TrialContext<'_>,
    tree: &Workspace,
    (guard, edits): (&Guard, Edits<'_>),
) -> Result<(), Unbuilt> {
    let subdir = &frame.context.source.subdir;
    let time = LaidAt::now();
    guard.laid_files().iter().try_for_each(|(to, from)| {
        let to = to.strip_prefix(subdir).unwrap_or(to);
        let here: Vec<_> = edits.iter().filter(|edit| edit.file == to).collect();
        let edited = if here.is_empty() {
            None
        } else {
            let text = fs::read_to_string(from)
                .map_err(Unbuilt::by(format_args!("read {}", from.display())))?;
            Some(twins::edited(text, &here)?.into_bytes())
        };
        let from = from.clone();
        tree.lay(to, &LaidFile { from, edited }, time)
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

    fn furnished(
        frame: &TrialContext<'_>,
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

    fn with(frame: &TrialContext<'_>, workspace: &Workspace, environment: Environment) -> Self {
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
