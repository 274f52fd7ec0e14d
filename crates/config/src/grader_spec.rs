//! Graders as tasks ask for them.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::{PrivacyOptions, RetrievalOptions};
use proctor_layers::{CorrectnessSpec, CostSpec, JudgeCheck, PathSpec};
use proctor_model::vocabulary::{Filled, Inside, Limit, Word};

/// One grader of a task, with its options.
#[derive(Debug, Clone, PartialEq)]
pub enum GraderSpec {
    /// `git_diff_forbidden`
    GitDiffForbidden {
        /// `forbidden_globs`, as written.
        forbidden_globs: Vec<String>,
    },
    /// `command`: any program that judges by its exit code.
    Command {
        /// `argv` (or `command`), run in the workspace's project folder.
        argv: Vec<String>,
        /// `cwd`, relative to the project folder.
        cwd: Option<PathBuf>,
        /// `expected_exit`; 0 where the task does not say.
        expected_exit: i32,
        /// `timeout_sec`
        timeout: Option<Duration>,
        /// `expected_output`: text that standard output and error together must hold.
        expected_output: Option<String>,
        /// `forbidden_output`: text that they must not hold.
        forbidden_output: Option<String>,
        /// `env`
        env: Vec<(String, String)>,
        /// `repeats` (1): how often it runs; all must agree.
        repeats: u32,
        /// What is asked of the tests that it runs.
        tests: TestsSpec,
    },
    /// `screenshot_exists`
    ScreenshotExists {
        /// `path`, relative to the project folder.
        path: PathBuf,
    },
    /// `screenshot_compare`
    ScreenshotCompare {
        /// `path`, relative to the project folder.
        path: PathBuf,
        /// `reference_path`, absolute.
        reference_path: PathBuf,
        /// `threshold` (10), of 64 bits.
        threshold: u32,
    },
    /// `ios_test_pass`
    IosTestPass(IosTestOptions),
    /// `ios_install_check`
    IosInstallCheck {
        /// `from_tree` (new): what was installed makes way for what the graded tree builds.
        from_tree: bool,
    },
    /// `ios_launch_check`
    IosLaunchCheck {
        /// `from_tree` (new): as above.
        from_tree: bool,
    },
    /// `retrieval`
    Retrieval(RetrievalOptions),
    /// `privacy`
    Privacy(PrivacyOptions),
    /// `answer`
    Answer(Box<CorrectnessSpec>),
    /// `path`
    Path(Box<PathSpec>),
    /// `budget`
    Budget(CostSpec),
    /// A grader that this version does not know, from an old tasks file: always fails as `unknown_grader:NAME`.
    Unknown {
        /// Its name.
        name: String,
    },
}

impl GraderSpec {
    /// Whether it needs Apple's tools.
    #[must_use]
    pub const fn is_apple(&self) -> bool {
        matches!(self, Self::IosTestPass(_)) || self.looks_at_app()
    }

    /// Whether it looks at an app on a simulator, as the agent left it there.
    #[must_use]
    pub const fn looks_at_app(&self) -> bool {
        matches!(
            self,
            Self::IosInstallCheck { .. } | Self::IosLaunchCheck { .. }
        )
    }

    /// Whether it runs what an agent left, which may change whatever is in its reach.
    #[must_use]
    pub const fn runs_code(&self) -> bool {
        matches!(self, Self::Command { .. }) || self.is_apple()
    }

    /// Whether it judges by what it finds in the graders' tree. `privacy` takes from there what it knows by digest alone.
    #[must_use]
    pub const fn looks_at_tree(&self) -> bool {
        self.runs_code()
            || matches!(
                self,
                Self::ScreenshotExists { .. } | Self::ScreenshotCompare { .. } | Self::Retrieval(_)
            )
    }

    /// The edits that make its hidden tests wrong; none where it has no twin.
    #[must_use]
    pub fn twin(&self) -> &[TwinEdit] {
        match self {
            Self::Command { tests, .. } => &tests.twin.edits,
            Self::IosTestPass(options) => &options.twin.edits,
            _ => &[],
        }
    }

    /// How often its hidden tests run with wrong ones among them.
    #[must_use]
    pub const fn twin_runs(&self) -> u32 {
        match self {
            Self::Command { tests, .. } => tests.twin.runs,
            Self::IosTestPass(options) => options.twin.runs,
            _ => 0,
        }
    }

    /// Whether it is one of the three layers, which judge what an agent said, did and spent.
    #[must_use]
    pub const fn is_layer(&self) -> bool {
        matches!(self, Self::Answer(_) | Self::Path(_) | Self::Budget(_))
    }

    /// Whether a baseline, where there is one, has a part in what it finds.
    #[must_use]
    pub const fn reads_baseline(&self) -> bool {
        match self {
            Self::Path(spec) => spec.expected_tool_sequence.is_none(),
            Self::Budget(spec) => spec.max_cost_multiplier.is_some(),
            _ => false,
        }
    }

    /// What it asks judges.
    pub fn questions(&self) -> impl Iterator<Item = JudgeCheck> + '_ {
        let spec = match self {
            Self::Answer(spec) => Some(spec),
            _ => None,
        };
        spec.into_iter().flat_map(|spec| spec.questions())
    }

    /// The `type` as tasks and rows have it.
    #[must_use]
    pub fn type_name(&self) -> &str {
        match self {
            Self::GitDiffForbidden { .. } => "git_diff_forbidden",
            Self::Command { .. } => "command",
            Self::ScreenshotExists { .. } => "screenshot_exists",
            Self::ScreenshotCompare { .. } => "screenshot_compare",
            Self::IosTestPass(_) => "ios_test_pass",
            Self::IosInstallCheck { .. } => "ios_install_check",
            Self::IosLaunchCheck { .. } => "ios_launch_check",
            Self::Retrieval(_) => "retrieval",
            Self::Privacy(_) => "privacy",
            Self::Answer(_) => "answer",
            Self::Path(_) => "path",
            Self::Budget(_) => "budget",
            Self::Unknown { name } => name,
        }
    }
}

/// What a `command` grader asks of the tests that it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct TestsSpec {
    /// Where to read which tests ran. If no test ran, the grade is an error, never a pass.
    #[serde(rename = "tests")]
    #[schemars(extend("default" = "auto"))]
    pub format: TestFormat,
    /// Report that the test runner writes for `tests: junit`, in the folder `{OUT_DIR}`.
    #[serde(rename = "test_report")]
    #[schemars(with = "Inside", extend("default" = "junit.xml"))]
    pub report: PathBuf,
    /// Names of tests that must have run and passed.
    #[serde(rename = "expect_tests", default)]
    #[schemars(with = "Vec<Word>")]
    pub expect: Vec<String>,
    /// What makes its hidden tests wrong.
    #[serde(flatten)]
    pub twin: Twin,
}

impl TestsSpec {
    /// The tests that must have run and passed.
    pub fn expected(&self) -> impl Iterator<Item = &String> {
        let of_twin = self.twin.edits.iter().map(|edit| &edit.test);
        self.expect.iter().chain(of_twin)
    }

    /// Whether some are.
    #[must_use]
    pub const fn names_tests(&self) -> bool {
        !self.expect.is_empty() || !self.twin.edits.is_empty()
    }
}

/// How hidden tests are made wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Twin {
    /// For each hidden test, an edit that makes it wrong. If the tests pass, they run again several times with a secret
    /// selection of edits: exactly the edited tests must fail.
    #[serde(rename = "twin", default)]
    pub edits: Vec<TwinEdit>,
    /// Number N of these further runs. Code that guesses which runs edit one test succeeds in one of 2^N-2 trials.
    #[serde(rename = "twin_runs")]
    #[schemars(range(min = 2, max = 16), extend("default" = 7))]
    pub runs: u32,
}

/// An edit of a hidden test, so that a correct solution fails it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct TwinEdit {
    /// Name of the test, as in `expect_tests`. It must have run and passed.
    #[schemars(with = "Filled")]
    pub test: String,
    /// A file of `grader_files`, relative to the project's folder.
    #[schemars(with = "Inside")]
    pub file: PathBuf,
    /// Text that occurs exactly once in the file, such as an expected value.
    #[schemars(with = "Filled")]
    pub from: String,
    /// Replacement for that text.
    pub to: String,
}

/// Where it is read which tests ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestFormat {
    /// Recognized from the command: `cargo test`, `pytest`, Python's `unittest`, `go test -v`, and `node --test` with
    /// `--test-reporter=tap`.
    #[default]
    Auto,
    /// Output of `cargo test`.
    Cargo,
    /// Output of `pytest`.
    Pytest,
    /// Output of Python's `unittest` on standard error.
    Unittest,
    /// A `JUnit` XML report.
    Junit,
    /// Output of `go test -v`.
    Go,
    /// The Test Anything Protocol on standard output.
    Tap,
    /// Not read.
    Off,
}

/// Passes if the tests of an Xcode project run and pass. Options that are not set come from `project.build_params`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct IosTestOptions {
    /// Scheme to test.
    #[schemars(with = "Option<Word>")]
    pub scheme: Option<String>,
    /// Xcode workspace.
    #[schemars(with = "Option<Word>")]
    pub workspace: Option<String>,
    /// Xcode project.
    #[schemars(with = "Option<Word>")]
    pub project: Option<String>,
    /// Destination of xcodebuild.
    #[schemars(with = "Option<Word>")]
    pub destination: Option<String>,
    /// Tests to run.
    #[serde(default)]
    #[schemars(with = "Vec<Word>")]
    pub only_testing: Vec<String>,
    /// Tests to skip.
    #[serde(default)]
    #[schemars(with = "Vec<Word>")]
    pub skip_testing: Vec<String>,
    /// Test plan to run.
    #[schemars(with = "Option<Word>")]
    pub test_plan: Option<String>,
    /// Further arguments of `xcodebuild`.
    #[serde(default)]
    #[schemars(with = "Vec<Word>")]
    pub xcodebuild_args: Vec<String>,
    /// Time limit; replaces `suite.grader_timeout_sec`.
    #[serde(rename = "timeout_sec")]
    #[schemars(with = "Option<Limit>")]
    pub timeout: Option<Duration>,
    /// What makes its hidden tests wrong.
    #[serde(flatten)]
    pub twin: Twin,
}
