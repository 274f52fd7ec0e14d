//! What can be typed: commands, flags and their help, nothing resolved yet.

mod baseline;
mod check;
mod further;
mod judge;
mod metrics;
mod run;

use clap::{Parser, Subcommand};

pub(super) use baseline::{
    BaselineArgs, BaselineCommand, DiffBaselinesArgs, SaveBaselineArgs, StoreArgs, WhoseArgs,
};
pub(super) use check::{AskArgs, CheckArgs};
pub(super) use further::{
    CassetteArgs, CompletionsArgs, DoctorArgs, EstimateArgs, ExportArgs, ExportFormat,
    GoBetweenArgs, InitArgs, ModelServerArgs, RebuildArgs, RegradeArgs, ReplayArgs, SchemaArgs,
    SchemaFile, VerifyArgs,
};
pub(super) use judge::{CalibrateArgs, CheckArg, JudgeArgs, JudgeCommand};
pub(super) use metrics::{MetricsArgs, TiesArg};
pub(super) use run::{RunArgs, ShowArgs, SuiteArgs, ValidateArgs};

/// Usage before flags; flags in their groups; examples last.
pub(super) const TEMPLATE: &str = "{about}\n\n{usage-heading} {usage}\n\n{all-args}{after-help}";

const EXAMPLES: &str =
    "Exit code: 0 done, 1 trials or checks failed, 2 cannot run, 3 disk full, 130 cancelled
Examples:
  proctor run                     run the suite of this folder, else the demo
  proctor init && proctor doctor  write a suite, see what it misses";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "proctor",
    version,
    about = "Measure coding agents: agent x scenario x task x trial, in real workspaces.",
    after_help = EXAMPLES,
    help_template = TEMPLATE,
    max_term_width = 100,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    subcommand_help_heading = "Commands"
)]
pub(super) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The commands, in the order of the help.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run a suite, or finish an interrupted run
    Run(Box<RunArgs>),
    /// Prove tasks: the reference patch of each must pass its graders
    Validate(ValidateArgs),
    /// Make the reports of a run again from its journal
    Rebuild(RebuildArgs),
    /// Grade a run again with today's graders, without any agent
    Regrade(RegradeArgs),
    /// Say what more trials would cost, from a run that is there
    Estimate(EstimateArgs),

    /// Check that a run is as it was written
    Verify(VerifyArgs),
    /// Tell trials in the formats of others
    Export(ExportArgs),
    /// Hold recorded traces to a spec: answer, path and budget
    Check(CheckArgs),
    /// Keep traces that later ones are compared with, in versions
    Baseline(Box<BaselineArgs>),
    /// Figures of rankings, requests and leaks from records, or of a TREC run
    Metrics(Box<MetricsArgs>),
    /// Measure judges of answers against what people said
    Judge(JudgeArgs),
    /// Write a suite to start from, for the agents found on PATH
    Init(InitArgs),
    /// Say what this machine has and what is missing for what
    Doctor(DoctorArgs),
    /// Answer agents from a script instead of a model, to rehearse a suite without paying
    #[command(hide = true)]
    ModelServer(ModelServerArgs),
    /// Print the JSON Schema of config.yaml or tasks.yaml
    Schema(SchemaArgs),
    /// Turn a finished trial into a cassette for a replay agent
    Cassette(CassetteArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// Play a cassette as an agent would work
    #[command(hide = true)]
    ReplayCassette(ReplayArgs),
    /// Stand before an MCP server and note what it tells
    #[command(hide = true)]
    McpGoBetween(GoBetweenArgs),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definition_holds() {
        Args::command().debug_assert();
    }

    fn run_args(words: &[&str]) -> RunArgs {
        let words = ["proctor", "run"].iter().chain(words);
        match Args::try_parse_from(words).unwrap().command {
            Command::Run(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn lists_are_spaced_or_repeated() {
        let args = run_args(&["--task-ids", "A", "B", "--agents", "x", "--task-ids", "C"]);
        assert_eq!(args.suite.task_ids, ["A", "B", "C"]);
        assert_eq!(args.suite.agents, ["x"]);
        assert!(args.suite.scenarios.is_empty());
    }

    #[test]
    fn the_old_scripts_command_line_works() {
        let args = run_args(&[
            "--config",
            "c.yaml",
            "--tasks",
            "t.yaml",
            "--task-ids",
            "a",
            "b",
            "--trials",
            "3",
            "--validate-tasks",
            "--dry-run",
            "--stream",
            "--resume",
            "runs/x",
        ]);
        assert_eq!(args.trials, Some(3));
        assert!(args.validate_tasks && args.dry_run && args.show.stream);
        assert_eq!(args.resume.as_deref(), Some(std::path::Path::new("runs/x")));
    }

    #[test]
    fn numbers_out_of_range_are_refused() {
        for words in [
            ["--trials", "0"],
            ["--jobs", "0"],
            ["--jobs", "-1"],
            ["--trials", "x"],
        ] {
            let all = ["proctor", "run"].iter().chain(&words);
            assert!(Args::try_parse_from(all).is_err(), "{words:?}");
        }
    }
}
