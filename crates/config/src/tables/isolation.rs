//! Keys that say what keeps the processes of a trial.

use crate::shape::{Choice, Section, Shape, defaulted, required};

const LEVELS: &[Choice] = &[
    ("auto", "the highest level that this machine gives"),
    ("none", "a session of its own, and a sweep at its end"),
    (
        "jail",
        "namespaces, a view without your files, and an end that nothing outlives (Linux)",
    ),
    (
        "external",
        "a container or virtual machine of yours, which you vouch for",
    ),
];

pub(crate) const LEVEL: Shape = Shape::OneOf(LEVELS);

pub(crate) const ON_UNCONTAINED: Shape = Shape::OneOf(&[
    (
        "pause",
        "nothing further is started, and `--resume` goes on",
    ),
    ("continue", "the others run beside what is left"),
]);

pub(crate) static ISOLATION: Section = Section {
    doc: "What keeps the processes of a trial.",
    keys: &[
        defaulted("level", LEVEL, "\"auto\"", "The level."),
        defaulted(
            "require",
            Shape::Bool,
            "false",
            "Whether nothing is run when this machine does not give the level (auto: not even a jail).",
        ),
    ],
    open: None,
};

pub(crate) static LENT: Section = Section {
    doc: "A place that is lent into the jail.",
    keys: &[
        required("path", Shape::Path, "A file or folder."),
        defaulted(
            "write",
            Shape::Bool,
            "false",
            "Whether trials may write to it: what one leaves there the next one finds.",
        ),
        defaulted(
            "optional",
            Shape::Bool,
            "false",
            "Whether it may be missing: nothing is lent then.",
        ),
    ],
    open: None,
};
