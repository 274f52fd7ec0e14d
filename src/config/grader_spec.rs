//! Graders as tasks ask for them.

use std::path::PathBuf;
use std::time::Duration;

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
        /// `expected_exit` (0).
        expected_exit: i32,
        /// `timeout_sec`
        timeout: Option<Duration>,
        /// `expected_output`: text that standard output and error together must hold.
        expected_output: Option<String>,
        /// `forbidden_output`: text that they must not hold.
        forbidden_output: Option<String>,
        /// `env`
        env: Vec<(String, String)>,
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
    IosInstallCheck,
    /// `ios_launch_check`
    IosLaunchCheck,
    /// A grader that this version does not know, from an old tasks file: always fails as `unknown_grader:NAME`.
    Unknown {
        /// Its name.
        name: String,
    },
}

impl GraderSpec {
    /// The `type` as tasks and rows have it.
    #[must_use]
    pub fn type_name(&self) -> &str {
        match self {
            Self::GitDiffForbidden { .. } => "git_diff_forbidden",
            Self::Command { .. } => "command",
            Self::ScreenshotExists { .. } => "screenshot_exists",
            Self::ScreenshotCompare { .. } => "screenshot_compare",
            Self::IosTestPass(_) => "ios_test_pass",
            Self::IosInstallCheck => "ios_install_check",
            Self::IosLaunchCheck => "ios_launch_check",
            Self::Unknown { name } => name,
        }
    }
}

/// Options of `ios_test_pass`; what is absent comes from `project.build_params`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IosTestOptions {
    /// `scheme`
    pub scheme: Option<String>,
    /// `workspace`
    pub workspace: Option<String>,
    /// `project`
    pub project: Option<String>,
    /// `destination`
    pub destination: Option<String>,
    /// `only_testing`
    pub only_testing: Vec<String>,
    /// `skip_testing`
    pub skip_testing: Vec<String>,
    /// `test_plan`
    pub test_plan: Option<String>,
    /// `xcodebuild_args`
    pub xcodebuild_args: Vec<String>,
    /// `timeout_sec`
    pub timeout: Option<Duration>,
}
