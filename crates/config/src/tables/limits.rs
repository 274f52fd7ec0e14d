//! Keys of `suite.limits`.

use crate::shape::{Key, Section, Shape, defaulted, optional};

/// Sizes: 0 switches a limit off.
const SIZE: Shape = Shape::Whole {
    least: 0,
    most: 1 << 30,
};

/// A line is held in memory, so there is always a limit.
const LINE: Shape = Shape::Whole {
    least: 1,
    most: 1 << 20,
};

const fn size(name: &'static str, default: &'static str, doc: &'static str) -> Key {
    defaulted(name, SIZE, default, doc)
}

pub(crate) static LIMITS: Section = Section {
    doc: "What a run may take of the disk, of memory and of money; MiB and KiB are 1024-based, 0 is no limit of these.",
    keys: &[
        optional(
            "max_cost_usd",
            Shape::Number,
            "Most USD that all rows of the run may cost, those of earlier starts included; then no further trial is started, and a running one is stopped. The same as --max-cost-usd.",
        ),
        optional(
            "max_trial_cost_usd",
            Shape::Number,
            "Most USD that each attempt at a trial may cost; one that costs more is stopped and judged. The same as --max-trial-cost-usd.",
        ),
        size(
            "min_free_disk_mib",
            "512",
            "Free room, in MiB, that the disks of the run and of the workspaces must have: below it no run and no further trial is started.",
        ),
        size(
            "ballast_mib",
            "64",
            "Room, in MiB, that a run sets aside on its disk, and gives back to write the last rows when the disk is full.",
        ),
        size(
            "run_mib",
            "102400",
            "Most MiB that the trials' folders of a run may take; then no further trial is started.",
        ),
        size(
            "workspace_mib",
            "20480",
            "Most MiB that a trial's workspace, home and temporary files may take; an agent that takes more is stopped.",
        ),
        size(
            "derived_data_mib",
            "20480",
            "Most MiB that a grader's build of an Apple project may write: derived data, packages and result bundle.",
        ),
        defaulted(
            "line_kib",
            LINE,
            "8192",
            "Longest line of an agent's output, in KiB, that is read whole; what is longer is cut.",
        ),
        size(
            "output_mib",
            "256",
            "Most MiB that are kept of each of an agent's output streams.",
        ),
        size(
            "events_mib",
            "256",
            "Most MiB of events that are kept of a trial; further ones are counted.",
        ),
        size(
            "transcript_mib",
            "64",
            "Most MiB of a transcript; further lines are counted.",
        ),
        size(
            "artifacts_mib",
            "1024",
            "Most MiB that are kept of the files that an agent changed; further ones are named only.",
        ),
        size(
            "artifact_files",
            "20000",
            "Most files that are kept of those that an agent changed; further ones are named only.",
        ),
    ],
    open: None,
};
