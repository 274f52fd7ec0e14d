//! The lock file of a device: held by the system, and in words by the trial that had it last.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

use crate::supervise::left_of_trial;

/// What stands before the trial in a lock, after the process that took it.
const TRIAL: &str = ", trial ";

/// More of a lock is not read.
const LONGEST: u64 = 1000;

/// Why a device cannot be had now.
pub(super) enum Taken {
    /// Another trial has it.
    Lent,
    /// Its trial is over, and still somebody works there: who.
    Haunted(String),
}

/// Takes a lock, unless processes of the trial that had it last are still alive: they may be at its device.
///
/// # Errors
/// The file cannot be opened, read or written.
pub(super) fn take(path: &Path, trial: &str) -> io::Result<Result<File, Taken>> {
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Err(Taken::Lent)),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let mut last = String::new();
    (&file).take(LONGEST).read_to_string(&mut last)?;
    let last = last.split_once(TRIAL).map(|(_, last)| last.trim());
    if let Some(who) = last.filter(|last| *last != trial).and_then(still_there) {
        return Ok(Err(Taken::Haunted(who)));
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "process {}{TRIAL}{trial}", std::process::id())?;
    Ok(Ok(file))
}

/// A process of a trial that is over.
fn still_there(trial: &str) -> Option<String> {
    let left = left_of_trial(trial).into_iter().next()?;
    let words: String = left.argv.chars().take(60).collect();
    Some(format!(
        "process {} ({}) of a run that was killed; end it by hand, or give project.simulators another device",
        left.pid,
        words.escape_debug()
    ))
}
