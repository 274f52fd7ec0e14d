//! `suite.limits`: what a run may take of the disk, of memory and of money.

use schemars::JsonSchema;
use serde::Deserialize;

use proctor_model::vocabulary::{LineKib, Mib, Most, MostMib};

/// What a run may take of the disk, of memory and of money; MiB and KiB are 1024-based, 0 is no limit of these.
///
/// Sizes are read as bytes, and what is switched off as one that nothing reaches: `u64::MAX`, or 0 where something is kept
/// free.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
pub struct LimitSettings {
    /// Most USD that all rows of the run may cost, those of earlier starts included; then no further trial is started, and a
    /// running one is stopped. The same as --max-cost-usd.
    pub max_cost_usd: Option<f64>,
    /// Most USD that each attempt at a trial may cost; one that costs more is stopped and judged. The same as
    /// --max-trial-cost-usd.
    pub max_trial_cost_usd: Option<f64>,
    /// Free room, in MiB, that the disks of the run and of the workspaces must have: below it no run and no further trial is
    /// started.
    #[serde(rename = "min_free_disk_mib")]
    #[schemars(with = "Mib", extend("default" = 512))]
    pub min_free_disk: u64,
    /// Room, in MiB, that a run sets aside on its disk, and gives back to write the last rows when the disk is full.
    #[serde(rename = "ballast_mib")]
    #[schemars(with = "Mib", extend("default" = 64))]
    pub disk_reserve: u64,
    /// Most MiB that the trials' folders of a run may take; then no further trial is started.
    #[serde(rename = "run_mib")]
    #[schemars(with = "MostMib", extend("default" = 102_400))]
    pub run: u64,
    /// Most MiB that a trial's workspace, home and temporary files may take; an agent that takes more is stopped.
    #[serde(rename = "workspace_mib")]
    #[schemars(with = "MostMib", extend("default" = 20_480))]
    pub workspace: u64,
    /// Most MiB that a grader's build of an Apple project may write: derived data, packages and result bundle.
    #[serde(rename = "derived_data_mib")]
    #[schemars(with = "MostMib", extend("default" = 20_480))]
    pub derived_data: u64,
    /// Longest line of an agent's output, in KiB, that is read whole; what is longer is cut.
    #[serde(rename = "line_kib")]
    #[schemars(with = "LineKib", extend("default" = 8_192))]
    pub line: u64,
    /// Most MiB that are kept of each of an agent's output streams.
    #[serde(rename = "output_mib")]
    #[schemars(with = "MostMib", extend("default" = 256))]
    pub output: u64,
    /// Most MiB of events that are kept of a trial; further ones are counted.
    #[serde(rename = "events_mib")]
    #[schemars(with = "MostMib", extend("default" = 256))]
    pub events: u64,
    /// Most MiB of a transcript; further lines are counted.
    #[serde(rename = "transcript_mib")]
    #[schemars(with = "MostMib", extend("default" = 64))]
    pub transcript: u64,
    /// Most MiB that are kept of the files that an agent changed; further ones are named only.
    #[serde(rename = "artifacts_mib")]
    #[schemars(with = "MostMib", extend("default" = 1_024))]
    pub artifacts: u64,
    /// Most files that are kept of those that an agent changed; further ones are named only.
    #[schemars(with = "Most", extend("default" = 20_000))]
    pub artifact_files: u64,
}
