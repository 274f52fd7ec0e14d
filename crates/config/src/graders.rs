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

/// Graders of the result.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(extend("x-noun" = "grader"))]
pub(super) enum Grader {
    /// Passes if no file that matches a pattern was changed, added or removed since setup.
    GitDiffForbidden {
        /// Path patterns, relative to the repository's root or to the project's folder.
        #[schemars(with = "Vec<Glob>", length(min = 1))]
        forbidden_globs: Vec<String>,
    },
    /// Runs a program. Its exit code is the result.
    Command(Box<CommandGrader>),
    /// Passes if the file is a PNG image.
    ScreenshotExists {
        /// The screenshot, relative to the project's folder.
        #[schemars(with = "Inside")]
        path: PathBuf,
        #[serde(flatten)]
        tree: Tree,
    },
    /// Passes if a screenshot looks like a reference image.
    ScreenshotCompare {
        /// The screenshot, relative to the project's folder.
        #[schemars(with = "Inside")]
        path: PathBuf,
        /// The reference image.
        #[schemars(with = "AnyPath")]
        reference_path: PathBuf,
        /// Maximum number of differing bits in the 64-bit perceptual hash.
        #[schemars(range(max = 64), extend("default" = 10))]
        threshold: u32,
        #[serde(flatten)]
        tree: Tree,
    },
    /// Passes if the tests of an Xcode project run and pass. Options that are not set come from `project.build_params`.
    IosTestPass {
        #[serde(flatten)]
        options: Box<IosTestOptions>,
        #[serde(flatten)]
        tree: Tree,
    },
    /// Passes if the app is installed on the simulator.
    IosInstallCheck(App),
    /// Passes if the app can be launched on the simulator.
    IosLaunchCheck(App),
    /// Passes if the agent's ranking of ids is good enough. At least one of the minimums is required.
    Retrieval {
        #[serde(flatten)]
        options: Retrieval,
        #[serde(flatten)]
        tree: Tree,
    },
    /// Passes if nothing sensitive is in the answer, the transcript or the diff. The verdict never repeats what leaked.
    /// At least one of `strings`, `strings_file` and `patterns` is required.
    Privacy(PrivacyOptions),
    /// Passes if the agent's final answer passes all of these checks.
    Answer(Box<AnswerKeys>),
    /// Checks tool calls. Forbidden calls fail the trial; the other checks warn.
    Path(Box<PathSpec>),
    /// Warns if a trial used more than allowed.
    Budget(CostSpec),
}

/// Runs a program. Its exit code is the result.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("oneOf" = [
    {"required": ["argv"], "properties": {"argv": {"not": {"type": "null"}}}},
    {"required": ["command"], "properties": {"command": {"not": {"type": "null"}}}},
]))]
pub(super) struct CommandGrader {
    /// Program and arguments, or a line for the shell. Either this or `command` is required.
    #[schemars(with = "Option<Command>")]
    argv: Option<Vec<String>>,
    /// The same as `argv`.
    #[schemars(with = "Option<Command>")]
    command: Option<Vec<String>>,
    /// Working directory, relative to the project's folder.
    #[schemars(with = "Option<Inside>")]
    cwd: Option<PathBuf>,
    /// Exit code that passes.
    #[schemars(with = "u32", range(max = 255), extend("default" = 0))]
    expected_exit: i32,
    /// Time limit; replaces `suite.grader_timeout_sec`.
    #[schemars(with = "Option<Limit>")]
    timeout_sec: Option<Duration>,
    /// Text that standard output or standard error must contain.
    #[schemars(with = "Option<Filled>")]
    expected_output: Option<String>,
    /// Text that standard output and standard error must not contain.
    #[schemars(with = "Option<Filled>")]
    forbidden_output: Option<String>,
    /// Environment variables of the program.
    #[serde(default)]
    #[schemars(with = "Map<Variable, Word>")]
    env: BTreeMap<String, String>,
    /// How often to run it. If the results differ, the grade is flaky.
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
    /// Whether to remove the installed app first, and to build and install the one of the graded tree.
    #[serde(default)]
    from_tree: bool,
    #[serde(flatten)]
    tree: Tree,
}

/// Of graders that look at the tree.
#[derive(Default, Deserialize, JsonSchema)]
pub(super) struct Tree {
    /// Whether it works in the tree, home and temporary files of the grader before it, instead of fresh ones. Code under
    /// test may have changed them.
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
