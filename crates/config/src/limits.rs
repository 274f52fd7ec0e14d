//! `suite.limits`: what a run may take of the disk, of memory and of money.

use crate::fields::Fields;

/// `limits`: money in USD, `None` is no limit; sizes in bytes; what is switched off is 0 of the first two, and `u64::MAX` of the others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LimitSettings {
    /// `max_cost_usd`: all rows of a run.
    pub max_cost_usd: Option<f64>,
    /// `max_trial_cost_usd`: each attempt at a trial.
    pub max_trial_cost_usd: Option<f64>,
    /// `min_free_disk_mib` (512): below it nothing is started.
    pub min_free_disk: u64,
    /// `ballast_mib` (64): set aside for the last rows.
    pub ballast: u64,
    /// `run_mib` (102,400): all trials' folders together.
    pub run: u64,
    /// `workspace_mib` (20,480): a trial's workspace, home and temporary files.
    pub workspace: u64,
    /// `derived_data_mib` (20,480): what a build of a grader writes.
    pub derived_data: u64,
    /// `line_kib` (8,192): a line of output.
    pub line: u64,
    /// `output_mib` (256): each raw output file.
    pub output: u64,
    /// `events_mib` (256): `events.jsonl`.
    pub events: u64,
    /// `transcript_mib` (64): `transcript.txt`.
    pub transcript: u64,
    /// `artifacts_mib` (1,024): content of changed files.
    pub artifacts: u64,
    /// `artifact_files` (20,000): how many of them.
    pub artifact_files: u64,
}

/// The limits as they were written.
pub(super) fn limits(fields: &Fields<'_>) -> LimitSettings {
    LimitSettings {
        max_cost_usd: fields.number("max_cost_usd"),
        max_trial_cost_usd: fields.number("max_trial_cost_usd"),
        min_free_disk: mib(fields, "min_free_disk_mib"),
        ballast: mib(fields, "ballast_mib"),
        run: most(mib(fields, "run_mib")),
        workspace: most(mib(fields, "workspace_mib")),
        derived_data: most(mib(fields, "derived_data_mib")),
        line: fields.whole("line_kib") << 10,
        output: most(mib(fields, "output_mib")),
        events: most(mib(fields, "events_mib")),
        transcript: most(mib(fields, "transcript_mib")),
        artifacts: most(mib(fields, "artifacts_mib")),
        artifact_files: most(fields.whole("artifact_files")),
    }
}

/// A limit that is switched off is one that nothing reaches.
const fn most(limit: u64) -> u64 {
    if limit == 0 { u64::MAX } else { limit }
}

fn mib(fields: &Fields<'_>, name: &str) -> u64 {
    fields.whole(name) << 20
}
