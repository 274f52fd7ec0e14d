//! `proctor model-server`: agents work against a script, alone or while a command runs.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use tokio::sync::mpsc::unbounded_channel;

use crate::cli::args::ModelServerArgs;
use crate::cli::failure::{Failure, Kind, Outcome};
use crate::cli::interrupt;
use crate::cli::out::{Colour, Out};
use proctor_rehearsal::{NameServer, Question, Script, Server, ServerOptions};
use proctor_supervise::{self, Cancel, ChildSpec, Heard, Listener, OutputStream, strayed};

/// The port at which programs look up names.
const NAMES: u16 = 53;

/// Answers until it is asked to stop, or until the command ends.
pub(in crate::cli) fn run(args: &ModelServerArgs) -> Outcome<ExitCode> {
    let script = script(&args.script)?;
    let log = args.requests.as_ref().map(File::create).transpose();
    let log = log.map_err(|error| Failure::at("create the file of requests", error))?;
    let resolver = args.alone.then(leave_network).transpose()?;
    let options = ServerOptions {
        port: args.port,
        // With a command nobody looks at what is kept in memory.
        keep: 0,
        log,
    };
    let code = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| Failure::at("start the runtime", error))?
        .block_on(serve(args, script, options));
    drop(resolver);
    code
}

fn script(path: &Path) -> Outcome<Script> {
    let text = fs::read_to_string(path)
        .map_err(|error| Failure::at(format_args!("read {}", path.display()), error))?;
    Script::parse(&text)
        .map_err(|error| Failure::new(Kind::Config, format!("{}: {error}", path.display())))
}

/// Leaves the network; gives the file that leads programs to the name server.
pub(super) fn leave_network() -> Outcome<tempfile::NamedTempFile> {
    let failed = |error: &dyn std::fmt::Display| Failure::at("leave the network", error);
    let mut resolver = tempfile::NamedTempFile::new().map_err(|error| failed(&error))?;
    resolver
        .write_all(b"nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        .map_err(|error| failed(&error))?;
    // Whoever a jail makes of the user must be able to read it.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(resolver.path(), mode).map_err(|error| failed(&error))?;
    proctor_supervise::leave_network(resolver.path()).map_err(|error| {
        failed(&error).hint("it needs user namespaces, or root; without --alone the network stays")
    })?;
    Ok(resolver)
}

async fn serve(
    args: &ModelServerArgs,
    script: Script,
    options: ServerOptions,
) -> Outcome<ExitCode> {
    let server = Server::start(script, options)
        .await
        .map_err(|error| Failure::at(format_args!("listen on 127.0.0.1:{}", args.port), error))?;
    let names = if args.alone {
        let started = NameServer::start(NAMES).await;
        Some(started.map_err(|error| Failure::at("listen for names", error))?)
    } else {
        None
    };
    let cancel = Cancel::new();
    let (progress, _nobody) = unbounded_channel();
    interrupt::listen(cancel.clone(), &progress)?;
    if args.command.is_empty() {
        Out::new(Colour::AUTO).line(format_args!("{}", server.url()))?;
        cancel.reached(1).await;
        return Ok(ExitCode::SUCCESS);
    }
    let before = strayed();
    let code = accompanied(&args.command, &server.url(), &cancel).await?;
    if let Some(names) = names {
        told(args, &names.questions(), strayed().saturating_sub(before))?;
    }
    Ok(code)
}

/// Runs the command to its end.
async fn accompanied(command: &[OsString], url: &str, cancel: &Cancel) -> Outcome<ExitCode> {
    let mut env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    env.push(("PROCTOR_MODEL_URL".into(), url.into()));
    let folder =
        std::env::current_dir().map_err(|error| Failure::at("find the current folder", error))?;
    let mut spec = ChildSpec::helper(command.to_vec(), &folder, env, Duration::ZERO);
    spec.limits.hard = None;
    let ending = proctor_supervise::run(&spec, &mut PassOn, cancel).await;
    if let Some(error) = ending.spawn_error {
        let program = command
            .first()
            .map(|word| word.to_string_lossy().into_owned());
        return Err(Failure::at(
            format_args!("start {}", program.unwrap_or_default()),
            error,
        ));
    }
    let code = ending.exit.map_or(1, |exit| exit.shell_code());
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Says which names were asked for, and how often addresses of the world.
fn told(args: &ModelServerArgs, questions: &[Question], strayed: u64) -> Outcome {
    if let Some(path) = &args.names {
        let text = serde_json::json!({"names": questions, "addresses": strayed}).to_string();
        fs::write(path, text)
            .map_err(|error| Failure::at(format_args!("write {}", path.display()), error))?;
    }
    let all: Vec<String> = questions
        .iter()
        .map(|question| format!("{} ({})", question.name, question.times))
        .collect();
    let addresses = (strayed > 0).then(|| format!("addresses of the world ({strayed})"));
    let all: Vec<String> = all.into_iter().chain(addresses).collect();
    let all = if all.is_empty() {
        "none".to_owned()
    } else {
        all.join(", ")
    };
    crate::cli::console::say(
        Colour::AUTO,
        format_args!("names asked for: {}", proctor_report::sanitize_line(&all)),
    );
    Ok(())
}

/// Hands on what a command says.
struct PassOn;

impl Listener for PassOn {
    fn stdout_line(&mut self, _line: &[u8], _at: Duration) -> Heard {
        Heard::More
    }

    fn bytes(&mut self, stream: OutputStream, bytes: &[u8]) {
        // Whoever listened may be gone.
        drop(match stream {
            OutputStream::Stdout => std::io::stdout().write_all(bytes),
            OutputStream::Stderr => std::io::stderr().write_all(bytes),
        });
    }
}
