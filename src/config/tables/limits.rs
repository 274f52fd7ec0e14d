//! Keys of `suite.limits`.

use crate::config::shape::{Key, Section, Shape, defaulted};

/// Sizes: 0 switches a limit off.
const SIZE: Shape = Shape::Whole {
    least: 0,
    most: 1 << 30,
};

const fn size(name: &'static str, default: &'static str, doc: &'static str) -> Key {
    defaulted(name, SIZE, default, doc)
}

pub(in crate::config) static LIMITS: Section = Section {
    doc: "What a run may take of the disk and of memory; MiB and KiB are 1024-based, 0 is no limit.",
    keys: &[
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
    ],
    open: None,
};
