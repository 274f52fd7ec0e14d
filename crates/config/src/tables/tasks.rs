//! Keys of `tasks.yaml`.

use crate::shape::{Choice, Section, Shape, defaulted, optional, required};
use crate::tables::suite::{HOSTS, NETWORKS};
use crate::tables::{COMMAND, EXPECT, FILE, GLOBS, GRADERS};

const TASK_KINDS: &[Choice] = &[
    ("capability", "can the agent do it at all?"),
    ("regression", "does it still do it?"),
];

/// `tasks.yaml` as a mapping; a list of tasks alone will do as well.
pub(crate) static TASKS: Section = Section {
    doc: "The tasks of a suite.",
    keys: &[required(
        "tasks",
        Shape::List {
            of: &Shape::Object(&TASK),
            least: 1,
        },
        "The tasks, one entry each.",
    )],
    open: None,
};

pub(crate) static TASK: Section = Section {
    doc: "A task.",
    keys: &[
        required(
            "id",
            Shape::Id,
            "Name in rows, reports and folders; unique, letter case aside.",
        ),
        defaulted("description", Shape::Text, "\"\"", "Shown in reports."),
        required("prompt", Shape::Filled, "What the agent is asked to do."),
        defaulted(
            "kind",
            Shape::OneOf(TASK_KINDS),
            "\"capability\"",
            "What the task is for.",
        ),
        defaulted(
            "setup_commands",
            Shape::List {
                of: &COMMAND,
                least: 0,
            },
            "[]",
            "Commands run in the workspace before the agent, each a list of words or a line for the shell.",
        ),
        defaulted(
            "graders",
            Shape::List {
                of: &Shape::Tagged {
                    noun: "grader",
                    tag: "type",
                    variants: GRADERS,
                },
                least: 0,
            },
            "[]",
            "What judges the result, in order; the first that fails ends it. Each is a name, or a mapping with type and options.",
        ),
        optional(
            "expect",
            Shape::Object(&EXPECT),
            "What is asked of its answer, its path and its bill, judged after graders; what suite.defaults asks is added key by key, and a section that is null takes it away.",
        ),
        defaulted(
            "held_out_graders",
            Shape::List {
                of: &Shape::Tagged {
                    noun: "grader",
                    tag: "type",
                    variants: GRADERS,
                },
                least: 0,
            },
            "[]",
            "Graders that judge after all others passed, by cases that the agent could not know: the report tells how many trials pass one and fail the other.",
        ),
        defaulted(
            "impossible",
            Shape::Bool,
            "false",
            "Whether no honest work can pass: whatever passes all the same raises an alarm.",
        ),
        optional(
            "network",
            Shape::OneOf(NETWORKS),
            "The network of its agents, instead of suite.network.",
        ),
        defaulted(
            "hosts",
            HOSTS,
            "[]",
            "Hosts that its agents may ask beside those of suite.hosts.",
        ),
        defaulted(
            "carry",
            GLOBS,
            "[]",
            "Patterns for paths that go into the graders' tree though the base commit's own rules ignore them, or though they are caches.",
        ),
        optional(
            "protected",
            GLOBS,
            "Patterns for paths that are put back as they were before graders run; a change of one breaks a rule. New files there are left behind, unless every grader has a twin. What forbidden_globs name is always protected. Configuration of test runners, such as conftest.py, jest.config.js or build.rs, is protected as well; [] protects nothing.",
        ),
        optional(
            "allowed_changes",
            Shape::List {
                of: &Shape::Glob,
                least: 1,
            },
            "Patterns for the only paths whose changes are graded; what is changed elsewhere is left behind and listed. Anywhere by default.",
        ),
        defaulted(
            "grader_files",
            Shape::List {
                of: &Shape::Object(&FILE),
                least: 0,
            },
            "[]",
            "Files or folders that are laid into the graders' tree alone, such as hidden tests: no agent sees them.",
        ),
        optional(
            "reference_patch",
            Shape::Path,
            "Unified diff that solves the task, relative to the config's folder; --validate-tasks checks it.",
        ),
        defaulted(
            "alternatives",
            Shape::List {
                of: &Shape::Path,
                least: 0,
            },
            "[]",
            "Unified diffs of other right solutions: validation holds graders and twins against them, too.",
        ),
    ],
    open: None,
};
