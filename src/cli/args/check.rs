//! Flags of `check`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use crate::cli::args::TEMPLATE;

/// Flags of `check`.
#[derive(Debug, Clone, Args)]
#[command(
    after_help = "Exit code: 0 all pass or warn, 1 a wrong answer, a forbidden call or a failed trial, 2 not all was judged

Match modes are told from the side of the reference: subset means that every tool of the reference was used,
superset that every used tool is in the reference.

Examples:
  proctor check agentci_spec.yaml golden/rag-agent/v1.json
  proctor check tasks.yaml runs/20260101-120000 --judges",
    help_template = TEMPLATE
)]
pub(in crate::cli) struct CheckArgs {
    /// AgentCI's spec, a tasks file, or answer, path and budget alone
    #[arg(value_name = "SPEC", value_hint = ValueHint::FilePath)]
    pub(in crate::cli) spec: PathBuf,

    /// Runs, trials, events.jsonl, ATIF trajectories, or traces and baselines of AgentCI
    #[arg(value_name = "TRACE", required = true, value_hint = ValueHint::AnyPath)]
    pub(in crate::cli) traces: Vec<PathBuf>,

    /// Hold all traces to this query or task of the spec
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) query: Option<String>,

    /// A trace to compare with, instead of the baselines of the spec
    #[arg(long, value_name = "TRACE", value_hint = ValueHint::FilePath)]
    pub(in crate::cli) baseline: Option<PathBuf>,

    /// The folder of kept baselines, for trials
    #[arg(long, value_name = "DIR", default_value = "baselines", value_hint = ValueHint::DirPath)]
    pub(in crate::cli) baselines: PathBuf,

    #[command(flatten)]
    pub(in crate::cli) ask: AskArgs,

    /// How many traces judges are asked about at once
    #[arg(long, value_name = "N", default_value = "4", requires = "judges")]
    pub(in crate::cli) jobs: NonZeroUsize,

    /// Print the result as one JSON document
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// Flags of commands that may ask judges about recorded traces.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct AskArgs {
    /// Ask the judges of the config where all else holds; recorded replies cost nothing
    #[arg(long)]
    pub(in crate::cli) judges: bool,

    /// The config whose judges are asked [config.yaml beside SPEC, else of this folder]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "judges")]
    pub(in crate::cli) config: Option<PathBuf>,
}
