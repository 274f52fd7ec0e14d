//! Starting a child, or saying why it cannot be started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::process::Child;

use super::brand::{self, Brand};
use super::clock;
use super::registry::{self, Place};
use super::session;
use super::spec::{ChildSpec, StdinPlan};
use super::trial::Trial;

/// Name of the variable that holds a trial's marker.
const MARKER: &str = "PROCTOR_TRIAL";

/// Waits before the second, third and fourth try when a program is still open for writing somewhere.
const BUSY_WAITS: [Duration; 3] = [
    Duration::from_millis(5),
    Duration::from_millis(50),
    Duration::from_millis(250),
];

/// A child that runs.
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) place: Place,
    pub(super) trial: Trial,
    /// `CLOCK_MONOTONIC` right before the spawn.
    pub(super) at: Duration,
}

/// Finds a program as a shell would: on `path`, or relative to `cwd` if its name has a slash.
#[must_use]
pub fn find_program(name: &OsStr, path: &OsStr, cwd: &Path) -> Option<PathBuf> {
    which::which_in(name, Some(path), cwd).ok()
}

/// Starts a child; the error is a message that names the program.
pub(super) async fn start(spec: &ChildSpec) -> Result<Started, String> {
    session::keep_descriptors_private();
    let program = program(spec)?;
    check_folder(spec)?;
    let brand = brand::next();
    let mut waits = BUSY_WAITS.iter();
    loop {
        let at = clock::monotonic();
        match registry::start(command(spec, &program, brand.clone())) {
            Ok((child, place)) => {
                let trial = Trial {
                    pid: place.pid,
                    start: place.start,
                    brand,
                    marker: spec
                        .marker
                        .as_ref()
                        .map(|marker| format!("{MARKER}={marker}")),
                };
                return Ok(Started {
                    child,
                    place,
                    trial,
                    at,
                });
            }
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                let Some(wait) = waits.next() else {
                    return Err(in_words(spec, &error.to_string()));
                };
                tokio::time::sleep(*wait).await;
            }
            Err(error) => return Err(in_words(spec, &explained(spec, &error))),
        }
    }
}

fn check_folder(spec: &ChildSpec) -> Result<(), String> {
    let folder = spec.cwd.display();
    match std::fs::metadata(&spec.cwd) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(in_words(
            spec,
            &format!("{folder}, where it should work, is not a folder"),
        )),
        Err(error) => Err(in_words(
            spec,
            &format!("{folder}, where it should work: {error}"),
        )),
    }
}

fn program(spec: &ChildSpec) -> Result<PathBuf, String> {
    let Some(name) = spec.argv.first().filter(|name| !name.is_empty()) else {
        return Err("cannot start a child: its command is empty".to_owned());
    };
    if name.as_encoded_bytes().contains(&b'/') {
        return Ok(spec.cwd.join(name));
    }
    let path = spec.env.iter().rev().find(|(key, _)| key == "PATH");
    let path = path.map_or_else(
        || OsString::from("/usr/bin:/bin"),
        |(_, value)| value.clone(),
    );
    find_program(name, &path, &spec.cwd).ok_or_else(|| {
        in_words(
            spec,
            &format!("no such program on its PATH ({})", path.display()),
        )
    })
}

#[expect(clippy::disallowed_methods, reason = "this is the door")]
fn command(spec: &ChildSpec, program: &Path, brand: Option<Brand>) -> Command {
    let mut command = Command::new(program);
    if let Some((name, arguments)) = spec.argv.split_first() {
        command.arg0(name).args(arguments);
    }
    command
        .current_dir(&spec.cwd)
        .env_clear()
        .envs(spec.env.iter().map(|(name, value)| (name, value)))
        .stdin(match &spec.stdin {
            StdinPlan::Null => Stdio::null(),
            StdinPlan::Bytes(_) => Stdio::piped(),
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if let Some(marker) = &spec.marker {
        command.env(MARKER, marker);
    }
    session::own_session(&mut command, brand);
    command
}

fn in_words(spec: &ChildSpec, why: &str) -> String {
    let name = spec
        .argv
        .first()
        .map_or("", |name| name.to_str().unwrap_or("?"));
    format!("cannot start {name:?}: {why}")
}

fn explained(spec: &ChildSpec, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ArgumentListTooLong => {
            let bytes: usize = spec.argv.iter().map(|word| word.len() + 1).sum();
            format!(
                "its arguments ({bytes} bytes) are longer than the system allows: pass long text on standard input"
            )
        }
        _ => error.to_string(),
    }
}
