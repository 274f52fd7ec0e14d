//! `proctor schema`: what editors check `config.yaml` and `tasks.yaml` with.

use crate::cli::args::{SchemaArgs, SchemaFile};
use crate::cli::failure::Outcome;
use crate::cli::out::{Colour, Out};
use crate::config;

/// Prints a JSON Schema.
pub(in crate::cli) fn run(args: &SchemaArgs) -> Outcome {
    let schema = match args.file {
        SchemaFile::Config => config::schema_config(),
        SchemaFile::Tasks => config::schema_tasks(),
    };
    Out::new(Colour::AUTO).json(&schema)
}
