//! `proctor export` and `proctor import`: trials as ATIF or OpenTelemetry, and ATIF as events.

use std::fs;

use crate::cli::args::{ExportArgs, ExportFormat, ImportArgs};
use crate::cli::commands::verify::edited_around;
use crate::cli::failure::{Failure, Kind, Outcome};
use crate::cli::out::{Colour, Out};
use proctor_record::{EventLog, EventLogHeader, Redactor, write_atomically};
use proctor_report::{escape_json, sanitize_line};
use proctor_trajectory::{OtelOptions, Told, atif, otel, read_atif, trials_below};

/// Prints or writes trials.
pub(in crate::cli) fn run(args: &ExportArgs) -> Outcome {
    let trials = trials_below(&args.dir).map_err(|problem| Failure::new(Kind::Usage, problem))?;
    if trials.is_empty() {
        let problem = format!("{}: no trial has an events.jsonl", args.dir.display());
        return Err(Failure::new(Kind::Usage, problem));
    }
    if let Some(folder) = &args.output {
        fs::create_dir_all(folder)
            .map_err(|error| Failure::at(format!("create {}", folder.display()), error))?;
    }
    let mut out = Out::new(Colour::AUTO);
    for (name, trial) in trials {
        let told = Told::read(&trial).map_err(|error| Failure::at("read the trial", error))?;
        let (text, ending) = match args.format {
            ExportFormat::Atif => (serde_json::to_string(&atif(&told)), "atif.json"),
            ExportFormat::Otel => {
                let options = OtelOptions {
                    content: args.content,
                };
                (serde_json::to_string(&otel(&told, options)), "otlp.json")
            }
        };
        let text = text.map_err(|error| Failure::at("write the trial", error))?;
        let text = escape_json(&text);
        match &args.output {
            Some(folder) => {
                let path = folder.join(format!("{name}.{ending}"));
                write_atomically(&path, format!("{text}\n").as_bytes())
                    .map_err(|error| Failure::at("write the trial", error))?;
                out.line(sanitize_line(&path.display().to_string()))?;
            }
            None => out.line(text)?,
        }
    }
    edited_around(&args.dir).map_or(Ok(()), Err)
}

/// Writes the events of a trajectory.
pub(in crate::cli) fn import(args: &ImportArgs) -> Outcome {
    let what = args.file.display().to_string();
    let bytes = fs::read(&args.file).map_err(|error| Failure::at(format!("read {what}"), error))?;
    let imported = read_atif(&bytes).map_err(|problem| {
        let text = sanitize_line(&format!("{what}: {problem}"));
        Failure::new(Kind::Usage, text)
    })?;
    let header = EventLogHeader {
        agent_kind: imported.agent,
        started: imported.started,
        ..EventLogHeader::default()
    };
    let written =
        EventLog::create(&args.output, &header, Redactor::default()).and_then(|mut log| {
            imported
                .events
                .iter()
                .try_for_each(|event| log.write(event))?;
            log.finish()
        });
    let left = written.map_err(|error| Failure::at("write the events", error))?;
    let mut out = Out::new(Colour::AUTO);
    let path = sanitize_line(&args.output.display().to_string());
    out.line(format!(
        "{} events in {path}",
        imported.events.len() as u64 - left
    ))
}
