//! Who tidies up when the harness dies: a helper of our own binary that waits at a socket for its end.
//!
//! Whatever ends the harness, SIGKILL included, closes the socket, which no agent can open through `/proc` as it could a pipe.
//! The helper stands outside of every trial, in a session of its own: it removes what trials were lent (logins, keys of servers)
//! in an instant, long before a next start could.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufRead, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat, unlinkat};
use rustix::process::{WaitOptions, waitpid};

use super::own_program::{is_own_program, leave, own_program};
use super::privacy::hide_from_others;
use super::registry::{self, Place};
use super::session::Launch;

/// The word on the command line that makes this program a keeper.
const SWITCH: &str = "keeper";

/// What the harness says behind the folder's path, and when it has tidied up by itself.
const END: u8 = 0;
const DONE: u8 = b'.';

/// An agent that outlived the harness may write its login anew: the folder is looked at so often, so long apart.
const LOOKS: u32 = 20;
const APART: Duration = Duration::from_millis(100);

/// Folders above a file with a secret, at most.
const DEPTH: u32 = 6;

/// A folder, and nothing that a link leads to.
const FOLDER: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// How often a keeper that was dismissed is asked for its status, a millisecond apart.
const REAP_TRIES: u32 = 100;

/// Removes a folder if this process dies before it says that there is no need to. Dropped, it says so.
#[derive(Debug)]
pub struct Janitor {
    line: UnixStream,
    place: Place,
}

impl Janitor {
    /// Sets a janitor on a folder, which need not be there yet; none in a process that cannot be one (a test's).
    ///
    /// # Errors
    /// It could not be started.
    pub fn of(folder: &Path) -> io::Result<Option<Self>> {
        if !is_own_program() {
            return Ok(None);
        }
        let (end, mut line) = UnixStream::pair()?;
        let nowhere = File::options().write(true).open("/dev/null")?;
        let program = own_program()?;
        let words: [OsString; 2] = ["proctor".into(), SWITCH.into()];
        let (place, _) = registry::start(&Launch {
            program: &program,
            arguments: &words,
            environment: &[],
            folder: Path::new("/"),
            streams: [end.as_fd(), nowhere.as_fd(), nowhere.as_fd()],
            further: &[],
        })?;
        place.starts_nobody();
        // Not as a word: whoever calls this program so by hand names nothing that would be removed.
        line.write_all(folder.as_os_str().as_bytes())?;
        line.write_all(&[END])?;
        Ok(Some(Self { line, place }))
    }
}

impl Drop for Janitor {
    fn drop(&mut self) {
        // One that was killed needs no word.
        self.line.write_all(&[DONE]).ok();
        let keeper = registry::pid_of(self.place.pid);
        for _ in 0..REAP_TRIES {
            match waitpid(keeper, WaitOptions::NOHANG) {
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

/// Keeps a folder and ends this process, if the command line says so.
pub(super) fn enter() {
    if std::env::args_os().nth(1).as_deref() == Some(OsStr::new(SWITCH)) {
        hide_from_others();
        if let Some(folder) = orphaned(io::stdin().lock()) {
            tidy(&folder);
        }
        leave(0);
    }
}

/// The folder that is to be removed, once nobody else can: the line was closed without a last word.
fn orphaned(line: impl BufRead) -> Option<PathBuf> {
    let mut said = Vec::new();
    for byte in line.bytes() {
        // A line that breaks is closed, too.
        let Ok(byte) = byte else { break };
        if byte == DONE && said.last() == Some(&END) {
            return None;
        }
        said.push(byte);
    }
    // A path that was cut is none.
    let path = said.strip_suffix(&[END])?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

fn tidy(folder: &Path) {
    for _ in 0..LOOKS {
        // What only its owner may read goes first: the rest may be large.
        if let Ok(opened) = rustix::fs::open(folder, FOLDER, Mode::empty()) {
            remove_private(&opened, DEPTH);
        }
        // The next start of anything removes what cannot be removed here.
        fs::remove_dir_all(folder).ok();
        thread::sleep(APART);
    }
}

/// Removes the files below a folder that nobody else may read. No link is followed, whoever changes the folder meanwhile.
fn remove_private(folder: &OwnedFd, depth: u32) {
    for entry in Dir::read_from(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Ok(about) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let is_folder = FileType::from_raw_mode(about.st_mode) == FileType::Directory;
        let is_private = Mode::from_raw_mode(about.st_mode)
            .intersection(Mode::RWXG | Mode::RWXO)
            .is_empty();
        if !is_folder && is_private {
            // What is gone is gone.
            unlinkat(folder, name, AtFlags::empty()).ok();
        }
        let inside = is_folder && depth > 0 && !matches!(name.to_bytes(), b"." | b"..");
        if inside && let Ok(inner) = openat(folder, name, FOLDER, Mode::empty()) {
            remove_private(&inner, depth - 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn only_a_line_that_breaks_off_behind_a_whole_path_orphans_a_folder() {
        let cases: [(&[u8], Option<&str>); 6] = [
            (b"/tmp/a.b\0", Some("/tmp/a.b")),
            (b"/tmp/a.b\0.", None),
            (b"/tmp/a.", None),
            (b"\0.", None),
            (b"", None),
            (b".", None),
        ];
        for (said, folder) in cases {
            let found = orphaned(said);
            assert_eq!(found.as_deref(), folder.map(Path::new), "{said:?}");
        }
    }

    #[test]
    fn what_only_its_owner_may_read_is_removed_and_no_link_is_followed() {
        let outside = tempfile::tempdir().expect("a folder");
        let folder = tempfile::tempdir().expect("a folder");
        let file = |at: PathBuf, mode| {
            fs::write(&at, "x").expect("write a file");
            fs::set_permissions(&at, Permissions::from_mode(mode)).expect("set its mode");
            at
        };
        let theirs = file(outside.path().join("key"), 0o600);
        let deep = folder.path().join("a/home/.claude");
        fs::create_dir_all(&deep).expect("make folders");
        let login = file(deep.join(".credentials.json"), 0o600);
        let open = file(deep.join("notes"), 0o644);
        let link = folder.path().join("a/out");
        std::os::unix::fs::symlink(outside.path(), &link).expect("make a link");
        let opened = rustix::fs::open(folder.path(), FOLDER, Mode::empty()).expect("open it");
        remove_private(&opened, DEPTH);
        let there = [&theirs, &login, &open].map(|path| path.exists());
        assert_eq!(there, [true, false, true]);
    }
}
