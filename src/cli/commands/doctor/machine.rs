//! The machine: git, folders that can be written to and run from, room on the disk.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use crate::cli::commands::doctor::Patient;
use crate::cli::commands::doctor::check::{Check, State};
use crate::runner::project_of;
use proctor_config::ProjectSource;
use proctor_supervise::{Cancel, CapturedOutput, ChildEnding, ChildSpec, Exit, capture};
use proctor_workspace::{ResolveOptions, libgit2_version};

/// Below this, builds of agents fail in ways that look like failing agents.
const LITTLE_ROOM: u64 = 2 << 30;

/// Nothing that is tried here may take longer.
const LIMIT: Duration = Duration::from_secs(10);

/// Libgit2 is built in; the git program is only what agents may want.
pub(super) fn git() -> Check {
    Check::new("git", State::Ok)
        .found(format!("libgit2 {} is built in", libgit2_version()))
        .needed_for("workspaces")
}

/// What the suite works on: whether it can be resolved to a commit.
pub(super) fn project(patient: &Patient) -> Option<Check> {
    let suite = patient.suite.as_ref()?;
    let check = |state, found: String| {
        Check::new("project", state)
            .found(found)
            .needed_for("this suite")
    };
    let path = match &suite.project.source {
        ProjectSource::Template(folder) => {
            let found = format!("{}, a plain folder", folder.display());
            return Some(check(State::Ok, found));
        }
        ProjectSource::Repository(path) => path,
    };
    let options = ResolveOptions {
        fetch: false,
        scratch: patient.scratch.path(),
    };
    Some(match project_of(suite, options) {
        Ok(source) => {
            let left_out = match source.left_out.len() {
                0 => String::new(),
                some => format!(", {some} place(s) of the suite in it left out for agents"),
            };
            check(
                State::Ok,
                format!("{} at {}{left_out}", path.display(), source.commit),
            )
        }
        // What is to be fetched cannot be known yet.
        Err(error) if suite.settings.fetch_remote => check(State::Warn, error.to_string())
            .advice("correct project.repo_path or project.base_ref, unless the fetch brings it"),
        Err(error) => check(State::Missing, error.to_string())
            .advice("correct project.repo_path or project.base_ref"),
    })
}

/// The temporary folder and the folder of runs.
pub(super) async fn folders(patient: &Patient) -> Vec<Check> {
    let temporary = patient
        .scratch
        .path()
        .parent()
        .unwrap_or(Path::new("/tmp"))
        .to_owned();
    let runs = patient.suite.as_ref().map_or_else(
        || PathBuf::from("."),
        |suite| suite.settings.output_root.clone(),
    );
    let mut checks = vec![
        runs_from(patient, &temporary).await,
        room("temporary room", &temporary),
    ];
    let runs = existing_part(&runs);
    checks.push(writable(&runs));
    checks.push(room("room for runs", &runs));
    checks
}

async fn runs_from(patient: &Patient, temporary: &Path) -> Check {
    let check = |state, found: String| {
        Check::new("temporary folder", state)
            .found(found)
            .needed_for("workspaces and shims: programs run from there")
    };
    let script = patient.scratch.path().join("try");
    if let Err(error) = write_script(&script, "#!/bin/sh\nexit 0\n") {
        return check(State::Missing, format!("{}: {error}", temporary.display()))
            .advice("set TMPDIR to a folder of yours");
    }
    let (ending, _) = attempt(patient, vec![script.into()], Vec::new()).await;
    if went_well(&ending) {
        return check(State::Ok, temporary.display().to_string());
    }
    let why = ending
        .spawn_error
        .unwrap_or_else(|| "a script did not run".to_owned());
    check(State::Missing, format!("{}: {why}", temporary.display()))
        .advice("nothing can be run from there (noexec?); set TMPDIR to a folder of yours")
}

fn writable(folder: &Path) -> Check {
    let check = |state, found: String| {
        Check::new("folder of runs", state)
            .found(found)
            .needed_for("keeping results")
    };
    match tempfile::Builder::new()
        .prefix(".proctor-")
        .tempfile_in(folder)
    {
        Ok(_) => check(State::Ok, folder.display().to_string()),
        Err(error) => check(State::Missing, format!("{}: {error}", folder.display()))
            .advice("set suite.output_root to a folder of yours"),
    }
}

fn room(name: &str, folder: &Path) -> Check {
    let check = |state, found: String| {
        Check::new(name, state)
            .found(found)
            .needed_for("workspaces, builds and transcripts")
    };
    match rustix::fs::statvfs(folder) {
        Err(error) => check(State::Warn, format!("cannot be asked: {error}")),
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let found = format!("{:.1} GiB free at {}", gibibytes(free), folder.display());
            if free < LITTLE_ROOM {
                check(State::Warn, found)
                    .advice("a full disk ends trials as infra faults; make room, or set TMPDIR")
            } else {
                check(State::Ok, found)
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with one digit")]
fn gibibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

/// The nearest folder above that exists: the rest will be made.
fn existing_part(folder: &Path) -> PathBuf {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let existing = folder.ancestors().find(|part| part.is_dir());
    existing.unwrap_or(Path::new("/")).to_owned()
}

/// Writes an executable script.
pub(super) fn write_script(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, text)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Runs a command in the scratch folder with the operator's PATH and a home of its own, unless `env` says otherwise.
pub(super) async fn attempt(
    patient: &Patient,
    argv: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
) -> (ChildEnding, CapturedOutput) {
    let home = patient.scratch.path();
    let mut all = vec![
        (OsString::from("PATH"), patient.path.clone()),
        (OsString::from("HOME"), home.as_os_str().to_owned()),
    ];
    all.retain(|(name, _)| env.iter().all(|(other, _)| other != name));
    all.extend(env);
    let spec = ChildSpec::helper(argv, home, all, LIMIT);
    capture(&spec, 64 * 1024, &Cancel::new()).await
}

/// Whether it exited with 0.
pub(super) fn went_well(ending: &ChildEnding) -> bool {
    ending.exit == Some(Exit::Code(0))
}
