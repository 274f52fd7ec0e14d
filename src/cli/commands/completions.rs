//! `proctor completions`: a script for a shell.

use clap::CommandFactory as _;

use crate::cli::args::{Args, CompletionsArgs};
use crate::cli::failure::Outcome;
use crate::cli::out::{Colour, Out};

/// Prints completions for a shell.
pub(in crate::cli) fn run(args: &CompletionsArgs) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "proctor", &mut script);
    Out::new(Colour::AUTO).text(String::from_utf8_lossy(&script))
}
