//! `proctor cassette`: a finished trial as a cassette.

mod changes;
mod ending;
mod material;
mod times;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use crate::cli::args::CassetteArgs;
use crate::cli::console::say;
use crate::cli::failure::{Failure, Kind, Outcome};
use crate::cli::out::{Colour, Out};
use material::Material;
use proctor_cassette::record;
use proctor_report::{escape_json, sanitize_line};

/// More than this is no trial that anybody plays again.
const LONGEST_FILE: u64 = 512 << 20;

/// Prints or writes the cassette of a trial.
pub(in crate::cli) fn run(args: &CassetteArgs) -> Outcome {
    let material = Material::read(&args.trial_dir)?;
    for what in material.left_out() {
        say(
            Colour::AUTO,
            format_args!("note: left out: {}", sanitize_line(what)),
        );
    }
    let text = record(&material.recording(args.note.clone())).map_err(|why| {
        let what = format!("record {}: {why}", args.trial_dir.display());
        Failure::new(Kind::Infrastructure, what)
    })?;
    let text = escape_json(&text);
    match &args.out {
        None => Out::new(Colour::AUTO).text(text),
        Some(path) => write(path, &text, args.force).map_err(|error| {
            let is_there = error.kind() == io::ErrorKind::AlreadyExists;
            let failure = Failure::at(format_args!("write {}", path.display()), error);
            if is_there {
                failure.hint("--force writes over it")
            } else {
                failure
            }
        }),
    }
}

fn write(path: &Path, text: &str, force: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true);
    if force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    options.open(path)?.write_all(text.as_bytes())
}
