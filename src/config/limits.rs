//! `suite.limits`: what a run may take of the disk and of memory.

use crate::config::fields::Fields;

/// `limits`, in bytes; 0 is no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitSettings {
    /// `min_free_disk_mib` (512): below it nothing is started.
    pub min_free_disk: u64,
    /// `ballast_mib` (64): set aside for the last rows.
    pub ballast: u64,
}

/// The limits as they were written.
pub(super) fn limits(fields: &Fields<'_>) -> LimitSettings {
    LimitSettings {
        min_free_disk: mib(fields, "min_free_disk_mib"),
        ballast: mib(fields, "ballast_mib"),
    }
}

fn mib(fields: &Fields<'_>, name: &str) -> u64 {
    fields.whole(name) << 20
}
