//! Room that a run sets aside on its disk, so that its last rows can be written when somebody has filled it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::error::Doing as _;
use crate::{RecordError, RunDir, private};
use proctor_failpoints::reach;

/// A file of the run's directory that is there only to be removed; dropping it removes it.
#[derive(Debug)]
pub struct DiskReserve {
    path: PathBuf,
}

impl DiskReserve {
    /// Sets `bytes` aside; what a killed run had set aside is replaced.
    ///
    /// # Errors
    /// When there is no such room, or the system refuses.
    pub fn create(run: &RunDir, bytes: u64) -> Result<Self, RecordError> {
        let path = run.disk_reserve();
        // From here on the file is removed however this ends.
        let reserve = Self { path };
        let file = private::create_file(&reserve.path)?;
        reach("ballast.fill")
            .and_then(|()| fill(&file, bytes))
            .doing("set room aside in", &reserve.path)?;
        Ok(reserve)
    }
}

impl Drop for DiskReserve {
    fn drop(&mut self) {
        // Nothing can be done about a file that cannot be removed; the next start replaces it.
        fs::remove_file(&self.path).ok();
    }
}

/// Takes the room at once where the file system can do that, else by writing.
fn fill(file: &File, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
        done => return done.map_err(io::Error::from),
    }
    let block = vec![0x5a; 1 << 20];
    let mut left = bytes;
    let mut file = file;
    while left > 0 {
        let part = usize::try_from(left).map_or(block.len(), |left| left.min(block.len()));
        file.write_all(&block[..part])?;
        left -= part as u64;
    }
    Ok(())
}

/// The bytes that this process may still write to the file system of `path`: without the system's reserve, except for
/// root.
///
/// # Errors
/// When the system does not tell.
pub fn free_space(path: &Path) -> io::Result<u64> {
    let told = rustix::fs::statvfs(path)?;
    let blocks = if rustix::process::geteuid().is_root() {
        told.f_bfree
    } else {
        told.f_bavail
    };
    Ok(blocks.saturating_mul(told.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_reserve_takes_its_room_and_gives_it_back() {
        use std::os::unix::fs::MetadataExt as _;
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::create(folder.path(), "s").unwrap();
        for _ in 0..2 {
            let reserve = DiskReserve::create(&run, 3 << 20).unwrap();
            let taken = run.disk_reserve().metadata().unwrap().blocks() * 512;
            assert!(taken >= 3 << 20, "{taken}");
            drop(reserve);
            assert!(!run.disk_reserve().exists());
        }
        assert!(free_space(run.root()).unwrap() > 0);
    }

    #[test]
    fn a_reserve_that_does_not_fit_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::create(folder.path(), "s").unwrap();
        let error = DiskReserve::create(&run, 1 << 60).unwrap_err();
        assert!(error.to_string().contains("set room aside"), "{error}");
        assert!(!run.disk_reserve().exists());
    }
}
