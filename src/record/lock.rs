//! One harness per run directory.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::record::RecordError;
use crate::record::error::Doing as _;
use crate::record::private;

/// The lock of a run directory; it is given back when this is dropped or the process ends, however it ends.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

#[derive(Debug, Serialize, Deserialize)]
struct Holder {
    pid: u32,
    host: String,
    started: String,
}

impl RunLock {
    pub(super) fn acquire(path: &Path) -> Result<Self, RecordError> {
        let mut file = private::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .doing("open", path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(&mut file)).doing("lock", path),
            Err(TryLockError::Error(error)) => return Err(unlockable(&error)).doing("lock", path),
        }
        name_holder(&mut file).doing("write", path)?;
        Ok(Self { _file: file })
    }
}

fn name_holder(file: &mut File) -> io::Result<()> {
    let holder = Holder {
        pid: std::process::id(),
        host: host(),
        started: jiff::Timestamp::now().to_string(),
    };
    let mut text = serde_json::to_vec(&holder)?;
    text.push(b'\n');
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&text)
}

fn held(file: &mut File) -> io::Error {
    let mut text = String::new();
    let read = file.take(4096).read_to_string(&mut text);
    let by = match read.map(|_| serde_json::from_str::<Holder>(&text)) {
        Ok(Ok(holder)) => format!(
            "process {} on {} since {}",
            holder.pid, holder.host, holder.started
        ),
        _ => "another process".to_owned(),
    };
    io::Error::new(
        io::ErrorKind::WouldBlock,
        format!("it is in use by {by}; wait for it or stop it, or start a run of its own"),
    )
}

fn unlockable(error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("the file system gives no locks ({error}); choose an output_root on a local disk"),
    )
}

/// Name of this machine.
fn host() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_harness_is_told_who_holds_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock");
        let lock = RunLock::acquire(&path).unwrap();
        let message = RunLock::acquire(&path).unwrap_err().to_string();
        for part in [format!("process {}", std::process::id()), host()] {
            assert!(message.contains(&part), "{message}");
        }
        drop(lock);
        RunLock::acquire(&path).unwrap();
    }

    #[test]
    fn a_lock_file_that_a_dead_harness_left_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock");
        std::fs::write(&path, "\0\0garbage").unwrap();
        RunLock::acquire(&path).unwrap();
    }
}
