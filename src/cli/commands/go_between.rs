//! The hidden `proctor mcp-go-between`: what an agent starts in place of an MCP server.

use std::process::ExitCode;

use crate::agents::ServerNotes;
use crate::cli::args::GoBetweenArgs;
use crate::cli::failure::{Failure, Outcome};
use crate::supervise::{Exit, go_between};

/// Starts the server and passes on what it says; its exit code is the server's.
pub(in crate::cli) fn run(args: &GoBetweenArgs) -> Outcome<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::at("start the runtime", error))?;
    let mut notes = ServerNotes::begin(&args.note, &args.server);
    let ended = runtime.block_on(go_between(&args.command, &mut |line| notes.look(line)));
    let code = ended.as_ref().map_or(127, Exit::shell_code);
    notes.end(code);
    // What the server held open is not waited for.
    runtime.shutdown_background();
    match ended {
        Ok(_) => Ok(ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1))),
        Err(error) => {
            let program = args.command.first();
            let program = program.map(|word| word.to_string_lossy().into_owned());
            Err(Failure::at(
                format_args!("start {}", program.unwrap_or_default()),
                error,
            ))
        }
    }
}
