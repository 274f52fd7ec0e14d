//! `proctor verify`: whether a run is the one that was written.

use std::process::ExitCode;

use serde_json::json;

use crate::cli::args::VerifyArgs;
use crate::cli::failure::{Failure, Kind, Outcome};
use crate::cli::out::{Colour, Out};
use crate::record::{RunDir, RunMetadata, Verified, verify};
use crate::report::sanitize_line;

/// Checks the chain of rows and the digests of all kept files.
pub(in crate::cli) fn run(args: &VerifyArgs) -> Outcome<ExitCode> {
    let run_dir = RunDir::open(&args.run).map_err(|error| Failure::at("open the run", error))?;
    let metadata =
        RunMetadata::read(&run_dir).map_err(|error| Failure::at("read the run", error))?;
    let is_there = metadata.is_some();
    // A run that is not finished has no last row yet.
    let finished = metadata.filter(|metadata| metadata.finished.is_some());
    let has_ended = finished.is_some();
    let head = finished.and_then(|metadata| metadata.journal_head);
    let mut verified = verify(&run_dir, head.as_deref())
        .map_err(|error| Failure::new(Kind::Infrastructure, error))?;
    let mut unknown_end = None;
    if head.is_none() {
        let why = match (is_there, has_ended) {
            (false, _) => "no end is known: run_metadata.json is missing or is not proctor's",
            (true, true) => "no end is known: run_metadata.json names no last row of an ended run",
            (true, false) => "no end is known: the run has not ended, or was cut off",
        };
        // Older versions noted none, and neither did a run that goes on.
        let chained = verified.rows > verified.unchained;
        if chained && (has_ended || !is_there) {
            let problem = format!("{why}; rows may have been removed at the end");
            verified.problems.push(problem);
        } else {
            unknown_end = Some(why);
        }
    }
    let mut out = Out::new(Colour::AUTO);
    if args.json {
        out.json(&document(&verified))?;
    } else {
        out.text(told(&verified))?;
        if let Some(why) = unknown_end {
            out.text(format!("{why}\n"))?;
        }
    }
    let holds = verified.problems.is_empty();
    Ok(if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn document(verified: &Verified) -> serde_json::Value {
    json!({
        "schema": 1,
        "holds": verified.problems.is_empty(),
        "rows": verified.rows,
        "unchained_rows": verified.unchained,
        "files": verified.files,
        "problems": verified.problems,
    })
}

fn told(verified: &Verified) -> String {
    let Verified {
        rows,
        unchained,
        files,
        problems,
    } = verified;
    let mut lines: Vec<String> = problems
        .iter()
        .map(|problem| sanitize_line(problem))
        .collect();
    lines.push(match problems.len() {
        0 => format!("{rows} rows and {files} files are as they were written"),
        count => format!("{count} problems in {rows} rows and {files} files"),
    });
    if *unchained > 0 {
        lines.push(format!(
            "{unchained} rows are of an older version and name no digests"
        ));
    }
    lines.join("\n") + "\n"
}
