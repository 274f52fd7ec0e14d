//! Keys of `graders[]`, by type.

use crate::shape::{Choice, Key, Section, Shape, Variant, defaulted, optional, required};
use crate::tables::measured::{PRIVACY, RETRIEVAL};
use crate::tables::{ANSWER, BUDGET, COMMAND, ENVIRONMENT, PATH, WORDS};

const TEST_FORMATS: &[Choice] = &[
    (
        "auto",
        "by the command: cargo test, pytest, Python's unittest, go test -v and node --test with --test-reporter=tap are known",
    ),
    ("cargo", "what cargo test prints"),
    ("pytest", "what pytest prints"),
    (
        "unittest",
        "what Python's unittest prints on standard error",
    ),
    ("junit", "a report in JUnit's XML"),
    ("go", "what go test -v prints"),
    ("tap", "the Test Anything Protocol on standard output"),
    ("off", "nowhere"),
];

/// Of graders that look at the tree.
pub(crate) const SHARES_TREE: Key = defaulted(
    "shares_tree",
    Shape::Bool,
    "false",
    "It works in the tree, with the home and the temporary files that the grader before it left, instead of new ones: code under test that ran there may have changed what it judges by.",
);

const EDIT: &Shape = {
    static EDIT: Shape = Shape::Object(&TWIN);
    &EDIT
};

/// Of graders that run tests.
const TWINS: Key = defaulted(
    "twin",
    Shape::List { of: EDIT, least: 0 },
    "[]",
    "For each hidden test an edit that makes it wrong. Where the tests pass, they run again, each time with secret ones of them wrong: exactly the wrong ones must fail.",
);

/// How often these run.
const TWIN_RUNS: Key = defaulted(
    "twin_runs",
    Shape::Whole { least: 2, most: 16 },
    "7",
    "So many runs with wrong tests, each test wrong in some of them: a guess about one test succeeds once in 2^N - 2 trials.",
);

/// An edit of `twin`.
pub(crate) static TWIN: Section = Section {
    doc: "An edit that makes a hidden test wrong.",
    keys: &[
        required(
            "test",
            Shape::Filled,
            "Name of the test, as expect_tests has it; it must have run and passed.",
        ),
        required(
            "file",
            Shape::Inside,
            "The file that grader_files lay, from the project's folder.",
        ),
        required(
            "from",
            Shape::Filled,
            "Text that the file holds exactly once, such as an expected value.",
        ),
        required("to", Shape::Text, "What stands in its place."),
    ],
    open: None,
};

/// All graders; an empty section has no options.
pub(crate) const GRADERS: &[Variant] = &[
    ("git_diff_forbidden", &FORBIDDEN),
    ("command", &COMMAND_GRADER),
    ("screenshot_exists", &SCREENSHOT_EXISTS),
    ("screenshot_compare", &SCREENSHOT_COMPARE),
    ("ios_test_pass", &IOS_TEST),
    ("ios_install_check", &IOS_INSTALL),
    ("ios_launch_check", &IOS_LAUNCH),
    ("retrieval", &RETRIEVAL),
    ("privacy", &PRIVACY),
    ("answer", &ANSWER),
    ("path", &PATH),
    ("budget", &BUDGET),
];

static FORBIDDEN: Section = Section {
    doc: "Passes when no file that a pattern names was changed, added or removed since setup.",
    keys: &[required(
        "forbidden_globs",
        Shape::List {
            of: &Shape::Glob,
            least: 1,
        },
        "Patterns for paths, from the repository's root or from the project's folder.",
    )],
    open: None,
};

static COMMAND_GRADER: Section = Section {
    doc: "Runs a program that judges by its exit code.",
    keys: &[
        optional(
            "argv",
            COMMAND,
            "Program and arguments, or a line for the shell; run in the project's folder of the workspace.",
        ),
        optional("command", COMMAND, "The same as argv."),
        optional(
            "cwd",
            Shape::Inside,
            "Folder to run in, relative to the project's folder.",
        ),
        defaulted(
            "expected_exit",
            Shape::Whole {
                least: 0,
                most: 255,
            },
            "0",
            "Exit code that passes.",
        ),
        optional(
            "timeout_sec",
            Shape::Seconds,
            "Limit, instead of suite.grader_timeout_sec.",
        ),
        optional(
            "expected_output",
            Shape::Filled,
            "Text that standard output and error together must hold.",
        ),
        optional(
            "forbidden_output",
            Shape::Filled,
            "Text that they must not hold.",
        ),
        defaulted("env", ENVIRONMENT, "{}", "Further environment."),
        defaulted(
            "repeats",
            Shape::Whole {
                least: 1,
                most: 100,
            },
            "1",
            "How often it runs; when not all agree, the grade is flaky.",
        ),
        defaulted(
            "tests",
            Shape::OneOf(TEST_FORMATS),
            "\"auto\"",
            "Where it is read which tests ran; none at all is an error, never a pass.",
        ),
        defaulted(
            "test_report",
            Shape::Inside,
            "\"junit.xml\"",
            "The report that a test runner writes for `tests: junit`, in the folder {OUT_DIR}.",
        ),
        defaulted(
            "expect_tests",
            WORDS,
            "[]",
            "Names of tests that must have run and passed.",
        ),
        TWINS,
        TWIN_RUNS,
        SHARES_TREE,
    ],
    open: None,
};

static SCREENSHOT_EXISTS: Section = Section {
    doc: "Passes when a PNG is there.",
    keys: &[
        required(
            "path",
            Shape::Inside,
            "The screenshot, relative to the project's folder.",
        ),
        SHARES_TREE,
    ],
    open: None,
};

static SCREENSHOT_COMPARE: Section = Section {
    doc: "Passes when a screenshot looks like a reference.",
    keys: &[
        required(
            "path",
            Shape::Inside,
            "The screenshot, relative to the project's folder.",
        ),
        required(
            "reference_path",
            Shape::Path,
            "The reference, relative to the config's folder.",
        ),
        defaulted(
            "threshold",
            Shape::Whole { least: 0, most: 64 },
            "10",
            "How many of the 64 bits of the perceptual hash may differ.",
        ),
        SHARES_TREE,
    ],
    open: None,
};

static IOS_TEST: Section = Section {
    doc: "Passes when the tests run and pass; what is absent comes from project.build_params.",
    keys: &[
        optional("scheme", Shape::Word, "Scheme."),
        optional("workspace", Shape::Word, "Xcode workspace."),
        optional("project", Shape::Word, "Xcode project."),
        optional("destination", Shape::Word, "Destination of xcodebuild."),
        defaulted("only_testing", WORDS, "[]", "Tests to run."),
        defaulted("skip_testing", WORDS, "[]", "Tests to leave out."),
        optional("test_plan", Shape::Word, "Test plan."),
        defaulted("xcodebuild_args", WORDS, "[]", "Further arguments."),
        optional(
            "timeout_sec",
            Shape::Seconds,
            "Limit, instead of suite.grader_timeout_sec.",
        ),
        TWINS,
        TWIN_RUNS,
        SHARES_TREE,
    ],
    open: None,
};

const FROM_TREE: Key = defaulted(
    "from_tree",
    Shape::Bool,
    "false",
    "The app that the agent installed makes way for the one that the graded tree builds, which is then looked for.",
);

static IOS_INSTALL: Section = Section {
    doc: "Passes when the app is installed on the simulator.",
    keys: &[FROM_TREE, SHARES_TREE],
    open: None,
};

static IOS_LAUNCH: Section = Section {
    doc: "Passes when the app can be launched on the simulator.",
    keys: &[FROM_TREE, SHARES_TREE],
    open: None,
};
