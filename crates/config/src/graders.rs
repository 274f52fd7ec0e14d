//! `graders` and `held_out_graders`: what each type takes, and what it is read as.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::at::At;
use crate::layers::{self, AnswerKeys};
use crate::measured::{self, Retrieval};
use crate::{GraderSpec, IosTestOptions, PrivacyOptions, TestsSpec, Twin, twins};
use proctor_layers::{CostSpec, PathSpec};
use proctor_model::vocabulary::{
    AnyPath, Command, Filled, Glob, Inside, Limit, Listed, Map, Variable, Word,
};

/// What judges the result.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(extend("x-noun" = "grader"))]
pub(super) enum Grader {
    /// Passes when no file that a pattern names was changed, added or removed since setup.
    GitDiffForbidden {
        /// Patterns for paths, from the repository's root or from the project's folder.
        #[schemars(with = "Vec<Glob>", length(min = 1))]
        forbidden_globs: Vec<String>,
    },
    /// Runs a program that judges by its exit code.
    Command(Box<CommandGrader>),
    /// Passes when a PNG is there.
    ScreenshotExists {
        /// The screenshot, relative to the project's folder.
        #[schemars(with = "Inside")]
        path: PathBuf,
        #[serde(flatten)]
        tree: Tree,
    },
    /// Passes when a screenshot looks like a reference.
    ScreenshotCompare {
        /// The screenshot, relative to the project's folder.
        #[schemars(with = "Inside")]
        path: PathBuf,
        /// The reference, relative to the config's folder.
        #[schemars(with = "AnyPath")]
        reference_path: PathBuf,
        /// How many of the 64 bits of the perceptual hash may differ.
        #[schemars(range(max = 64), extend("default" = 10))]
        threshold: u32,
        #[serde(flatten)]
        tree: Tree,
    },
    /// Passes when the tests run and pass; what is absent comes from `project.build_params`.
    IosTestPass {
        #[serde(flatten)]
        options: Box<IosTestOptions>,
        #[serde(flatten)]
        tree: Tree,
    },
    /// Passes when the app is installed on the simulator.
    IosInstallCheck(App),
    /// Passes when the app can be launched on the simulator.
    IosLaunchCheck(App),
    /// Passes when the ranking that the agent gives is good enough.
    Retrieval {
        #[serde(flatten)]
        options: Retrieval,
        #[serde(flatten)]
        tree: Tree,
    },
    /// Passes when nothing sensitive is in the answer, the transcript or the diff; its verdict never repeats what leaked.
    Privacy(PrivacyOptions),
    /// Passes when the agent's last answer is as it should be; every check is made and reported.
    Answer(Box<AnswerKeys>),
    /// Warns when the calls of tools are not as they should be, and fails when a forbidden one was made.
    Path(Box<PathSpec>),
    /// Warns when a trial took more than it should.
    Budget(CostSpec),
}

/// Runs a program that judges by its exit code.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [
    {"required": ["argv"], "properties": {"argv": {"not": {"type": "null"}}}},
    {"required": ["command"], "properties": {"command": {"not": {"type": "null"}}}},
]))]
pub(super) struct CommandGrader {
    /// Program and arguments, or a line for the shell; run in the project's folder of the workspace.
    #[schemars(with = "Option<Command>")]
    argv: Option<Vec<String>>,
    /// The same as argv.
    #[schemars(with = "Option<Command>")]
    command: Option<Vec<String>>,
    /// Folder to run in, relative to the project's folder.
    #[schemars(with = "Option<Inside>")]
    cwd: Option<PathBuf>,
    /// Exit code that passes.
    #[schemars(with = "u32", range(max = 255), extend("default" = 0))]
    expected_exit: i32,
    /// Limit, instead of `suite.grader_timeout_sec`.
    #[schemars(with = "Option<Limit>")]
    timeout_sec: Option<Duration>,
    /// Text that standard output and error together must hold.
    #[schemars(with = "Option<Filled>")]
    expected_output: Option<String>,
    /// Text that they must not hold.
    #[schemars(with = "Option<Filled>")]
    forbidden_output: Option<String>,
    /// Further environment.
    #[serde(default)]
    #[schemars(with = "Map<Variable, Word>")]
    env: BTreeMap<String, String>,
    /// How often it runs; when not all agree, the grade is flaky.
    #[schemars(range(min = 1, max = 100), extend("default" = 1))]
    repeats: u32,
    #[serde(flatten)]
    tests: TestsSpec,
    #[serde(flatten)]
    tree: Tree,
}

/// Of graders that look at an app.
#[derive(Deserialize, JsonSchema)]
pub(super) struct App {
    /// The app that the agent installed makes way for the one that the graded tree builds, which is then looked for.
    #[serde(default)]
    from_tree: bool,
    #[serde(flatten)]
    tree: Tree,
}

/// Of graders that look at the tree.
#[derive(Default, Deserialize, JsonSchema)]
pub(super) struct Tree {
    /// It works in the tree, with the home and the temporary files that the grader before it left, instead of new ones: code
    /// under test that ran there may have changed what it judges by.
    #[serde(default)]
    shares_tree: bool,
}

/// The graders of a task that lays these files: those of a list, and whether each works in the tree that the one before it left.
pub(super) fn graders(
    listed: Listed<Grader>,
    at: &At<'_>,
    laid: &[(PathBuf, PathBuf)],
) -> Vec<(GraderSpec, bool)> {
    let each = listed.into_readable();
    each.filter_map(|(index, one)| grader(one, &at.item(index), laid))
        .collect()
}

fn grader(grader: Grader, at: &At<'_>, laid: &[(PathBuf, PathBuf)]) -> Option<(GraderSpec, bool)> {
    let alone = |spec| (spec, Tree::default());
    let (spec, tree) = match grader {
        Grader::GitDiffForbidden { forbidden_globs } => {
            for glob in &forbidden_globs {
                idle_glob(glob, &at.key("forbidden_globs"));
            }
            alone(GraderSpec::GitDiffForbidden { forbidden_globs })
        }
        Grader::Command(options) => command(*options, at, laid)?,
        Grader::ScreenshotExists { path, tree } => (GraderSpec::ScreenshotExists { path }, tree),
        Grader::ScreenshotCompare {
            path,
            reference_path,
            threshold,
            tree,
        } => {
            let at = at.key("reference_path");
            let spec = GraderSpec::ScreenshotCompare {
                path,
                reference_path: at.file(&reference_path),
                threshold,
            };
            (spec, tree)
        }
        Grader::IosTestPass { mut options, tree } => {
            own_arguments(&options.xcodebuild_args, &at.key("xcodebuild_args"));
            twin(&mut options.twin, at, laid);
            (GraderSpec::IosTestPass(*options), tree)
        }
        Grader::IosInstallCheck(App { from_tree, tree }) => {
            (GraderSpec::IosInstallCheck { from_tree }, tree)
        }
        Grader::IosLaunchCheck(App { from_tree, tree }) => {
            (GraderSpec::IosLaunchCheck { from_tree }, tree)
        }
        Grader::Retrieval { options, tree } => {
            let options = measured::retrieval(options, at);
            (GraderSpec::Retrieval(options), tree)
        }
        Grader::Privacy(options) => alone(GraderSpec::Privacy(measured::privacy(options, at))),
        Grader::Answer(answer) => {
            let spec = layers::answer(*answer, at);
            alone(GraderSpec::Answer(Box::new(spec)))
        }
        Grader::Path(path) => alone(GraderSpec::Path(Box::new(layers::call_path(*path, at)))),
        Grader::Budget(spec) => alone(GraderSpec::Budget(layers::budget(spec, at))),
    };
    Some((spec, tree.shares_tree))
}

/// The edits with clean paths; says what is wrong with them.
fn twin(twin: &mut Twin, at: &At<'_>, laid: &[(PathBuf, PathBuf)]) {
    for edit in &mut twin.edits {
        edit.file = twins::clean(&edit.file);
    }
    twins::check(twin, at, laid);
}

/// Says so where a glob cannot mean what its writer thought.
fn idle_glob(glob: &str, at: &At<'_>) {
    let (why, hint) = if glob.starts_with(['/', '~']) || glob.split('/').any(|part| part == "..") {
        (
            "never matches: globs are matched against paths inside of the repository",
            "write it from the root of the repository or from the folder of repo_path",
        )
    } else if glob.starts_with('!') {
        (
            "is a name that begins with `!`: nothing is negated",
            "list what is forbidden, and leave out what is not",
        )
    } else {
        return;
    };
    at.warning(format!("\"{glob}\" {why}")).hint(hint);
}

fn command(
    mut options: CommandGrader,
    at: &At<'_>,
    laid: &[(PathBuf, PathBuf)],
) -> Option<(GraderSpec, Tree)> {
    let (argv, written) = match (options.argv, options.command) {
        (Some(argv), None) => (argv, at.key("argv")),
        (None, Some(argv)) => (argv, at.key("command")),
        (Some(_), Some(_)) => {
            at.key("command")
                .error("contradicts argv")
                .hint("they mean the same: keep one");
            return None;
        }
        (None, None) => {
            if ["argv", "command"]
                .iter()
                .all(|key| at.key(key).node().is_none())
            {
                at.missing("argv")
                    .error("is missing")
                    .hint("give the program and its arguments as a list");
            }
            return None;
        }
    };
    if argv
        .first()
        .is_some_and(|program| program.trim().is_empty())
    {
        written.error("must start with a program");
    }
    twin(&mut options.tests.twin, at, laid);
    let spec = GraderSpec::Command {
        argv,
        cwd: options.cwd,
        expected_exit: options.expected_exit,
        timeout: options.timeout_sec,
        expected_output: options.expected_output,
        forbidden_output: options.forbidden_output,
        env: options.env.into_iter().collect(),
        repeats: options.repeats,
        tests: options.tests,
    };
    Some((spec, options.tree))
}

/// Refuses arguments of `xcodebuild` that the grader gives by itself: a second destination is nobody's lease, and a second
/// place for results is none that is looked at.
fn own_arguments(words: &[String], at: &At<'_>) {
    const OWN: [(&str, &str); 3] = [
        (
            "-destination",
            "name it in destination of this grader, so that its simulator is lent",
        ),
        (
            "-derivedDataPath",
            "leave it out: each build of a grader has its own",
        ),
        (
            "-resultBundlePath",
            "leave it out: results count from the grader's own bundle alone",
        ),
    ];
    for word in words {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if let Some((name, hint)) = OWN.iter().find(|(own, _)| *own == name) {
            let why = format!("holds {name}, which the grader gives by itself");
            at.error(why).hint(*hint);
        }
    }
}
