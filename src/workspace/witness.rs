//! Whether files were touched, by what the file system itself notes of them: nobody sets the time of a change of an inode back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Workspace;

/// So many files are looked at.
const MOST: usize = 50_000;

/// How files stood, and the folders on the way to them.
#[derive(Debug)]
pub struct Witness {
    root: PathBuf,
    seen: BTreeMap<PathBuf, Option<Seen>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    device: u64,
    inode: u64,
    is_folder: bool,
    mode: u32,
    size: u64,
    /// Of the inode: seconds and nanoseconds.
    changed: (i64, i64),
    /// Of the content.
    modified: (i64, i64),
}

impl Workspace {
    /// Notes how `files` stand, by their paths from the root. Waits for the clock of the file system where one was written a moment ago:
    /// two changes within one of its ticks look like one.
    #[must_use]
    pub fn witness<'a>(&self, files: impl Iterator<Item = &'a PathBuf>) -> Witness {
        let paths: BTreeSet<&Path> = files.take(MOST).flat_map(|path| path.ancestors()).collect();
        let paths = paths
            .into_iter()
            .filter(|path| !path.as_os_str().is_empty());
        let seen: BTreeMap<PathBuf, Option<Seen>> = paths
            .map(|path| (path.to_owned(), look(&self.root.join(path))))
            .collect();
        let newest = seen.values().flatten().map(|seen| seen.changed).max();
        if let Some(newest) = newest {
            wait_for_a_tick_after(newest);
        }
        Witness {
            root: self.root.clone(),
            seen,
        }
    }
}

fn wait_for_a_tick_after((seconds, nanoseconds): (i64, i64)) {
    let at = Duration::new(
        u64::try_from(seconds).unwrap_or_default(),
        u32::try_from(nanoseconds).unwrap_or_default(),
    );
    let age = SystemTime::now().duration_since(UNIX_EPOCH + at);
    let tick = tick();
    thread::sleep(tick.saturating_sub(age.unwrap_or_default()).min(tick));
}

/// How long the clock that files get their times from stands still, and a little more.
fn tick() -> Duration {
    const MORE: Duration = Duration::from_millis(1);
    #[cfg(target_os = "linux")]
    let tick = {
        let tick = rustix::time::clock_getres(rustix::time::ClockId::RealtimeCoarse);
        Duration::from_nanos(u64::try_from(tick.tv_nsec).unwrap_or_default())
    };
    #[cfg(not(target_os = "linux"))]
    let tick = Duration::from_millis(1);
    tick + MORE
}

impl Witness {
    /// What was written, replaced, renamed, removed, or given another mode, time or name since the last look, even if all of that
    /// was taken back; reading changes nothing. A folder in which files come and go is not touched by that.
    pub fn touched(&mut self) -> Vec<PathBuf> {
        let mut touched = Vec::new();
        for (path, before) in &mut self.seen {
            let now = look(&self.root.join(path));
            let is_same = match (&before, &now) {
                (Some(before), Some(now)) => before.is_as(now),
                (None, None) => true,
                _ => false,
            };
            if !is_same {
                touched.push(path.clone());
            }
            *before = now;
        }
        touched
    }
}

impl Seen {
    fn is_as(&self, now: &Self) -> bool {
        if !self.is_folder {
            return self == now;
        }
        let is_same = (self.device, self.inode, self.mode) == (now.device, now.inode, now.mode);
        // What comes and goes in a folder changes both times at once, a rename of itself only that of the inode.
        is_same && (self.modified != now.modified || self.changed == now.changed)
    }
}

fn look(path: &Path) -> Option<Seen> {
    let found = fs::symlink_metadata(path).ok()?;
    Some(Seen {
        device: found.dev(),
        inode: found.ino(),
        is_folder: found.is_dir(),
        mode: found.mode(),
        size: found.size(),
        changed: (found.ctime(), found.ctime_nsec()),
        modified: (found.mtime(), found.mtime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn note(root: &Path, paths: &[&str]) -> Witness {
        thread::sleep(tick());
        let seen = paths
            .iter()
            .map(|path| (PathBuf::from(path), look(&root.join(path))));
        Witness {
            root: root.to_owned(),
            seen: seen.collect(),
        }
    }

    #[test]
    fn whoever_writes_a_file_and_puts_it_back_is_seen_and_whoever_reads_it_is_not() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path();
        let (folder, file) = (root.join("t"), root.join("t/a"));
        fs::create_dir(&folder).expect("make a folder");
        fs::write(&file, "right").expect("write");
        let time = fs::metadata(&file)
            .and_then(|it| it.modified())
            .expect("a time");
        let mut witness = note(root, &["t", "t/a", "t/gone"]);
        let mut told = |act: &dyn Fn()| {
            act();
            let touched = witness.touched();
            let touched: Vec<_> = touched.iter().map(|path| path.to_string_lossy()).collect();
            touched.join(" ")
        };
        assert_eq!(told(&|| drop(fs::read(&file).expect("read"))), "");
        let cache = || {
            fs::create_dir(folder.join("__pycache__")).expect("make a folder");
            fs::write(folder.join("__pycache__/a.pyc"), "x").expect("write");
            fs::write(folder.join("snapshot"), "x").expect("write");
            fs::remove_file(folder.join("snapshot")).expect("remove");
        };
        assert_eq!(told(&cache), "");
        let back = || {
            fs::write(&file, "wrong").expect("write");
            fs::write(&file, "right").expect("write");
            let file = File::options().write(true).open(&file).expect("open");
            file.set_times(FileTimes::new().set_modified(time))
                .expect("set the time");
        };
        assert_eq!(told(&back), "t/a");
        let mode = || fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("a mode");
        mode();
        assert_eq!(told(&mode), "t/a");
        let aside = || {
            fs::rename(&folder, root.join("b")).expect("rename");
            thread::sleep(tick());
            fs::rename(root.join("b"), &folder).expect("rename");
        };
        assert_eq!(told(&aside), "t");
        assert_eq!(told(&|| fs::remove_file(&file).expect("remove")), "t/a");
        assert_eq!(
            told(&|| fs::write(folder.join("gone"), "x").expect("write")),
            "t/gone"
        );
        assert_eq!(told(&|| ()), "");
    }
}
