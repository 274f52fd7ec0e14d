//! Which suite a command is about: the files that were named, those of this folder, or the built-in one.

use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::cli::args::SuiteArgs;
use crate::cli::console::say;
use crate::cli::embedded;
use crate::cli::failure::{Failure, Kind, Outcome, shown_path};
use crate::cli::out::Colour;
use proctor_config::{self, AgentKind, LeftOut, LoadRequest, Problem, Problems, Suite};
use proctor_record::RunDir;
use proctor_report::sanitize;

/// The name that a suite has when none is given.
const CONFIG: &str = "config.yaml";
const TASKS: &str = "tasks.yaml";

/// Folder of the unpacked built-in suite inside a run directory.
const UNPACKED: &str = "suite";

/// A suite, narrowed to what was chosen.
#[derive(Debug)]
pub(super) struct Chosen {
    /// What runs.
    pub(super) suite: Suite,
    /// The run directory that already holds the built-in suite.
    pub(super) prepared: Option<RunDir>,
    /// What would keep it from running: files that are not there, where nothing is run.
    missing: Vec<String>,
    /// Whether no scenario was named.
    any_scenario: bool,
    /// Holds the built-in suite for as long as it is looked at.
    scratch: Option<tempfile::TempDir>,
}

/// What a suite is loaded for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Purpose<'a> {
    /// Whether anything will run, so that the files that the suite names must be there.
    pub(super) runs: bool,
    /// The run that is to be finished.
    pub(super) resume: Option<&'a Path>,
}

/// The files of a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Files {
    config: PathBuf,
    tasks: PathBuf,
}

/// Where the suite comes from.
#[derive(Debug, PartialEq, Eq)]
enum Origin {
    Files(Files),
    Embedded,
}

impl Chosen {
    /// Loads the suite of the command line and narrows it. Nothing is created but, for the built-in suite, a
    /// temporary folder.
    ///
    /// # Errors
    /// The suite cannot be used, or an id is unknown.
    pub(super) fn look(args: &SuiteArgs, purpose: Purpose<'_>) -> Outcome<Self> {
        let (files, scratch) = match origin(args, purpose.resume)? {
            Origin::Files(files) => (files, None),
            Origin::Embedded => {
                let folder = tempfile::tempdir()
                    .map_err(|error| Failure::at("create a temporary folder", error))?;
                (unpacked(folder.path())?, Some(folder))
            }
        };
        let suite = load(&files, args, purpose)?;
        Ok(Self {
            suite,
            prepared: None,
            missing: if purpose.runs {
                Vec::new()
            } else {
                missing_files(&files)
            },
            any_scenario: args.scenarios.is_empty(),
            scratch,
        })
    }

    /// Whether this is the built-in suite.
    pub(super) fn is_embedded(&self) -> bool {
        self.scratch.is_some() || self.prepared.is_some()
    }

    /// Gives the built-in suite its place in a new run directory below `runs` in the current folder, and says so.
    ///
    /// # Errors
    /// The run directory cannot be made.
    pub(super) fn settle(self, args: &SuiteArgs) -> Outcome<Self> {
        if self.scratch.is_none() {
            return Ok(self);
        }
        let root = PathBuf::from("runs");
        let run_dir = RunDir::create(&root, &stamp())
            .map_err(|error| Failure::at("create a run below ./runs", error))?;
        let laid = unpacked(&run_dir.root().join(UNPACKED));
        let purpose = Purpose {
            runs: true,
            resume: None,
        };
        let loaded = laid.and_then(|files| load(&files, args, purpose));
        let mut suite = loaded.inspect_err(|_| discard(&run_dir))?;
        suite.settings.output_root = root;
        Ok(Self {
            suite,
            prepared: Some(run_dir),
            missing: Vec::new(),
            any_scenario: self.any_scenario,
            scratch: None,
        })
    }

    /// Whether all agents only play recordings.
    pub(super) fn is_recorded(&self) -> bool {
        let mut agents = self.suite.agents.iter();
        agents.all(|agent| agent.kind == AgentKind::Replay)
    }

    /// Tells what a person should know of the suite before it runs.
    pub(super) fn tell(&self, colour: Colour) {
        if self.is_embedded() {
            let text = "no config.yaml here: running the built-in demo; `proctor init` writes a suite of your own";
            say(colour, format_args!("note: {text}"));
        }
        for warning in &self.suite.warnings {
            say(colour, format_args!("warning: {warning}"));
        }
        for problem in &self.missing {
            say(colour, format_args!("warning: it would not run: {problem}"));
        }
        for absent in self.missed_scenarios() {
            say(
                colour,
                format_args!(
                    "note: scenario {} is left out: {}",
                    absent.id, absent.reason
                ),
            );
        }
    }

    /// Scenarios that a person may miss: of a suite with MCP whose scenarios with MCP are all left out.
    fn missed_scenarios(&self) -> &[LeftOut] {
        let mut scenarios = self.suite.scenarios.iter();
        let with_mcp = scenarios.any(|scenario| scenario.mcp_config.is_some());
        if self.suite.mcp.enabled && self.any_scenario && !with_mcp {
            &self.suite.left_out
        } else {
            &[]
        }
    }
}

/// Takes the run directory of a start that was refused away, unless there is something in it to read.
pub(super) fn discard(run_dir: &RunDir) {
    if let Ok(_held) = run_dir.lock() {
        run_dir.discard_unused(Some(&run_dir.root().join(UNPACKED)));
    }
}

/// The name of a new run directory: UTC.
pub(super) fn stamp() -> String {
    Timestamp::now().strftime("%Y%m%d_%H%M%S").to_string()
}

/// The config that is named, or that of this folder if there is one.
pub(super) fn config_here(named: Option<&Path>) -> Option<PathBuf> {
    let here = || Path::new(CONFIG).is_file().then(|| PathBuf::from(CONFIG));
    named.map(Path::to_owned).or_else(here)
}

/// The config beside a file, if there is one.
pub(super) fn config_beside(file: &Path) -> Option<PathBuf> {
    let config = file.with_file_name(CONFIG);
    config.is_file().then_some(config)
}

/// The config that a run directory brings along: that of the built-in suite.
pub(super) fn config_of_run(run: &Path) -> Option<PathBuf> {
    let config = run.join(UNPACKED).join(CONFIG);
    config.is_file().then_some(config)
}

/// The tasks that are named, else those beside the config, else those of this folder.
pub(super) fn tasks_for(config: &Path, named: Option<&Path>) -> PathBuf {
    let beside = config.with_file_name(TASKS);
    match named {
        Some(tasks) => tasks.to_owned(),
        None if !beside.is_file() && Path::new(TASKS).is_file() => PathBuf::from(TASKS),
        None => beside,
    }
}

/// Problems of a suite as the person sees them.
pub(super) fn config_failure(problems: &Problems) -> Failure {
    let count = problems.errors().count() + problems.untold;
    let failure = Failure::new(Kind::Config, sanitize(&problems.to_string()));
    match count {
        0 | 1 => failure,
        count => failure.hint(format_args!(
            "{count} problems; all of them are listed above"
        )),
    }
}

fn origin(args: &SuiteArgs, resume: Option<&Path>) -> Outcome<Origin> {
    let of_run = || {
        args.config
            .is_none()
            .then(|| resume.and_then(config_of_run))
            .flatten()
    };
    let config = of_run().or_else(|| config_here(args.config.as_deref()));
    match config {
        Some(config) => {
            let tasks = tasks_for(&config, args.tasks.as_deref());
            Ok(Origin::Files(Files { config, tasks }))
        }
        None if args.tasks.is_some() || resume.is_some() || !embedded::is_there() => {
            Err(Failure::new(Kind::Usage, "no config.yaml in this folder")
                .hint("name one with --config, or write one with `proctor init`"))
        }
        None => Ok(Origin::Embedded),
    }
}

fn unpacked(folder: &Path) -> Outcome<Files> {
    embedded::unpack(folder).map_err(|error| Failure::at("unpack the built-in suite", error))?;
    Ok(Files {
        config: folder.join(CONFIG),
        tasks: folder.join(TASKS),
    })
}

/// What a suite that can be read would still not run without.
fn missing_files(files: &Files) -> Vec<String> {
    let loaded = proctor_config::load(&LoadRequest {
        config: &files.config,
        tasks: &files.tasks,
        check_files: true,
    });
    match loaded {
        Ok(_) => Vec::new(),
        Err(problems) => problems.errors().map(Problem::sentence).collect(),
    }
}

fn load(files: &Files, args: &SuiteArgs, purpose: Purpose<'_>) -> Outcome<Suite> {
    let request = LoadRequest {
        config: &files.config,
        tasks: &files.tasks,
        check_files: purpose.runs,
    };
    let all = |problems| {
        // What is missing belongs to the list as well.
        let again = proctor_config::load(&LoadRequest {
            check_files: true,
            ..request
        });
        config_failure(again.as_ref().err().unwrap_or(&problems))
    };
    let suite = proctor_config::load(&request).map_err(all)?;
    suite
        .filtered(&args.filter())
        .map_err(|unknown| {
            let failure = Failure::new(Kind::Usage, unknown);
            let Some(run) = purpose.resume else {
                return failure;
            };
            let run = shown_path(run);
            failure.hint(format_args!("what is not named on the command line is in the plan of {run}: put it back, or start a new run"))
        })
}
