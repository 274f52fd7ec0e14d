//! What the shims of one trial say: who connects is looked at before it may speak, and what it says is stamped.
//!
//! A shim connects when its call begins and stays until the call has ended. The kernel tells whose process that is, here
//! its program is compared with the shims that were laid out, and one byte lets it speak. It sends one line, and the kernel
//! tells again who wrote it. What anybody else sends counts for nothing and is told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, IoSliceMut, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::linux::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_passcred, socket_peercred};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg, send};

use super::hub::{self, Key};
use super::log::{self, LONGEST_LINE};
use super::witness::Witness;
use proctor_record::Redactor;
use proctor_supervise::monotonic_ns;

/// The socket of a desk among its visitors.
const DOOR: u32 = 0;

/// So many calls are heard at once; further ones wait for their turn, and are lost if that takes too long.
const MOST_VISITORS: usize = 100;

/// The longest path that a socket's address holds.
const LONGEST_SOCKET: usize = 107;

/// Nothing is kept beyond this.
const LONGEST_LOG: u64 = 64 << 20;

/// So many names of strangers are kept.
const MOST_NAMES: usize = 5;

/// The file of a program: device and number.
pub(super) type Identity = (u64, u64);

/// What came beside calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Oddities {
    /// Calls that began, or must have begun, without a line about their end; and lines beyond the cap.
    pub(super) lost: u64,
    /// Connections and lines of programs that are no shims.
    pub(super) forged: u64,
    /// Some of these programs.
    pub(super) strangers: BTreeSet<String>,
    /// Lines of processes whose program could not be seen.
    pub(super) unproven: u64,
}

/// Where the shims of one trial are heard.
#[derive(Debug)]
pub(super) struct CallListener {
    number: u32,
    door: UnixListener,
    door_is_watched: bool,
    shims: Vec<Identity>,
    visitors: BTreeMap<u32, Visitor>,
    last_visitor: u32,
    /// The log for people, which an agent may be able to reach.
    log: File,
    log_path: PathBuf,
    /// The same in a file without a name.
    kept: Option<File>,
    length: u64,
    odd: Oddities,
    /// Keeps secrets out of the log.
    pub(super) redactor: Redactor,
}

#[derive(Debug)]
struct Visitor {
    stream: UnixStream,
    /// Its process, as this one sees it; 0 where it does not.
    peer: i32,
    /// Its program was seen, and is a shim.
    proven: bool,
    /// What tells of a proven shim's call if it cannot.
    witness: Option<Witness>,
    line: Vec<u8>,
}

/// What becomes of a visitor.
enum Next {
    Waits,
    Leaves,
}

impl CallListener {
    /// Listens at `place` for these shims.
    pub(super) fn at(place: &Path, shims: Vec<Identity>, log: (&Path, File)) -> io::Result<Self> {
        let door = bind(place)?;
        door.set_nonblocking(true)?;
        Ok(Self {
            number: 0,
            door,
            door_is_watched: false,
            shims,
            visitors: BTreeMap::new(),
            last_visitor: DOOR,
            log: log.1,
            log_path: log.0.to_owned(),
            kept: None,
            length: 0,
            odd: Oddities::default(),
            redactor: Redactor::default(),
        })
    }

    /// Is heard under this number from now on.
    pub(super) fn opens(&mut self, number: u32) -> io::Result<()> {
        self.number = number;
        self.watch_door()
    }

    /// Hears who connects, or what a visitor says.
    pub(super) fn attend(&mut self, visitor: u32) {
        if visitor == DOOR {
            self.let_in();
        } else {
            self.listen_to(visitor);
        }
    }

    /// Hears all that has come so far, and tells what was odd. Calls that have not ended count as lost.
    pub(super) fn heard(&mut self) -> Oddities {
        loop {
            let last = self.last_visitor;
            self.let_in();
            let visitors: Vec<u32> = self.visitors.keys().copied().collect();
            for visitor in visitors {
                self.listen_to(visitor);
            }
            if self.last_visitor == last {
                break;
            }
        }
        let mut odd = self.odd.clone();
        odd.lost += self.visitors.len() as u64;
        odd
    }

    /// What was kept, from its beginning.
    pub(super) fn kept(&mut self) -> io::Result<Option<File>> {
        let Some(kept) = &mut self.kept else {
            return Ok(None);
        };
        kept.rewind()?;
        kept.try_clone().map(Some)
    }

    /// Whether the log for people is what was written into it; puts it right if it is not.
    pub(super) fn mend_log(&mut self) -> io::Result<bool> {
        if self.log_is_whole()? {
            return Ok(true);
        }
        match self.log_path.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(&self.log_path)?,
            Ok(_) => fs::remove_file(&self.log_path)?,
            Err(_) => {}
        }
        let mut log = super::overlay::new_log(&self.log_path)?;
        if let Some(mut kept) = self.kept()? {
            io::copy(&mut kept, &mut log)?;
        }
        self.log = log;
        Ok(false)
    }

    fn log_is_whole(&mut self) -> io::Result<bool> {
        let ours = self.log.metadata()?;
        let is_ours = self.log_path.symlink_metadata().is_ok_and(|found| {
            (found.st_dev(), found.st_ino()) == (ours.st_dev(), ours.st_ino())
                && found.len() == self.length
        });
        match self.kept()?.filter(|_| is_ours) {
            Some(kept) => log::is_same(&kept, &File::open(&self.log_path)?),
            None => Ok(is_ours),
        }
    }

    fn watch_door(&mut self) -> io::Result<()> {
        let key = Key {
            desk: self.number,
            visitor: DOOR,
        };
        hub::watch(&self.door, key)?;
        self.door_is_watched = true;
        Ok(())
    }

    /// Lets in who waits, while there is room.
    fn let_in(&mut self) {
        while self.visitors.len() < MOST_VISITORS {
            match self.door.accept() {
                Ok((stream, _)) => self.look_at(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tracing::debug!("a call of a shim was not heard: {error}");
                    thread::sleep(Duration::from_millis(1));
                    break;
                }
            }
        }
        // Who waits at a closed door would be told again and again.
        if self.door_is_watched && !self.visitors.is_empty() {
            hub::unwatch(&self.door);
            self.door_is_watched = false;
        }
    }

    /// Looks at who has come: a shim may speak.
    fn look_at(&mut self, stream: UnixStream) {
        let peer = peer_of(&stream);
        let program = program_of(peer);
        let proven = program.as_ref().is_ok_and(|is| self.shims.contains(is));
        if (program.is_ok() && !proven) || has_spoken(&stream) {
            return self.is_forged(peer);
        }
        if set_socket_passcred(&stream, true).is_err() || stream.set_nonblocking(true).is_err() {
            self.odd.lost += 1;
            return;
        }
        self.last_visitor = self.last_visitor.wrapping_add(1).max(1);
        let key = Key {
            desk: self.number,
            visitor: self.last_visitor,
        };
        if hub::watch(&stream, key).is_err() || send(&stream, b".", SendFlags::NOSIGNAL).is_err() {
            // It has died, or there is no room: no line will come.
            self.odd.lost += 1;
            return;
        }
        // Whoever watches the log sees that something began.
        self.log.set_modified(SystemTime::now()).ok();
        let visitor = Visitor {
            stream,
            peer,
            proven,
            witness: proven.then(|| Witness::of(peer)).flatten(),
            line: Vec::new(),
        };
        self.visitors.insert(key.visitor, visitor);
    }

    fn is_forged(&mut self, peer: i32) {
        self.odd.forged += 1;
        if self.odd.strangers.len() < MOST_NAMES {
            self.odd.strangers.insert(name_of(peer));
        }
    }

    fn listen_to(&mut self, number: u32) {
        let Some(mut visitor) = self.visitors.remove(&number) else {
            return;
        };
        match self.read(&mut visitor) {
            Next::Waits => {
                self.visitors.insert(number, visitor);
            }
            Next::Leaves => {
                drop(visitor);
                if !self.door_is_watched {
                    self.watch_door().ok();
                }
            }
        }
    }

    fn read(&mut self, visitor: &mut Visitor) -> Next {
        let mut buffer = [0; 8 << 10];
        loop {
            let (count, writer) = match receive(&visitor.stream, &mut buffer) {
                Ok(received) => received,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Next::Waits,
                Err(_) => (0, None),
            };
            if count == 0 {
                self.tell_for(visitor);
                return Next::Leaves;
            }
            if writer != Some(visitor.peer) {
                self.is_forged(writer.unwrap_or_default());
                return Next::Leaves;
            }
            visitor.line.extend_from_slice(&buffer[..count]);
            if visitor.line.ends_with(b"\n") {
                self.take(visitor);
                return Next::Leaves;
            }
            if visitor.line.len() as u64 > LONGEST_LINE {
                self.is_forged(visitor.peer);
                return Next::Leaves;
            }
        }
    }

    /// Tells the call of a shim that was killed, from what was seen of it.
    fn tell_for(&mut self, visitor: &mut Visitor) {
        let Some(witness) = &visitor.witness else {
            self.odd.lost += 1;
            return;
        };
        visitor.line = witness.line();
        self.take(visitor);
    }

    /// Takes a line in, stamped with whose it is and when it came.
    fn take(&mut self, visitor: &mut Visitor) {
        if !log::is_call(&visitor.line) {
            return self.is_forged(visitor.peer);
        }
        visitor.line.truncate(visitor.line.len() - b"}\n".len());
        let (peer, now) = (visitor.peer, monotonic_ns());
        let stamp = format!(",\"peer_pid\":{peer},\"arrived_mono_ns\":{now}}}\n");
        visitor.line.extend_from_slice(stamp.as_bytes());
        match self.keep(&visitor.line) {
            Ok(()) => self.odd.unproven += u64::from(!visitor.proven),
            Err(error) => {
                tracing::debug!("a call of a shim was not kept: {error}");
                self.odd.lost += 1;
            }
        }
    }

    fn keep(&mut self, line: &[u8]) -> io::Result<()> {
        let line = self.redactor.redact_json_line(line);
        if self.length + line.len() as u64 > LONGEST_LOG {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let kept = if let Some(kept) = &mut self.kept {
            kept
        } else {
            let folder = self.log_path.parent().unwrap_or(Path::new("."));
            self.kept.insert(tempfile::tempfile_in(folder)?)
        };
        kept.seek(io::SeekFrom::Start(self.length))?;
        kept.write_all(&line)?;
        self.length += line.len() as u64;
        self.log.write_all(&line)
    }
}

/// A socket at a path of any length.
fn bind(place: &Path) -> io::Result<UnixListener> {
    let (Some(folder), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    if place.as_os_str().len() <= LONGEST_SOCKET {
        return UnixListener::bind(place);
    }
    let folder = File::open(folder)?;
    let folder = format!("/proc/self/fd/{}", folder.as_raw_fd());
    UnixListener::bind(Path::new(&folder).join(name))
}

fn peer_of(stream: &UnixStream) -> i32 {
    socket_peercred(stream).map_or(0, |credentials| credentials.pid.as_raw_pid())
}

/// The file of the program that a process runs.
fn program_of(process: i32) -> io::Result<Identity> {
    let found = fs::metadata(format!("/proc/{process}/exe"))?;
    Ok((found.st_dev(), found.st_ino()))
}

/// The name of a program, for a person.
fn name_of(process: i32) -> String {
    let program = fs::read_link(format!("/proc/{process}/exe"));
    let name = program
        .ok()
        .and_then(|program| Some(program.file_name()?.to_string_lossy().into_owned()));
    let name = name.unwrap_or_else(|| "?".to_owned());
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._+-".contains(letter);
    name.chars()
        .map(|letter| if plain(letter) { letter } else { '?' })
        .take(40)
        .collect()
}

/// Whether somebody speaks before it was let to: no shim does.
fn has_spoken(stream: &UnixStream) -> bool {
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    rustix::net::recv(stream, &mut [0; 1], flags).is_ok_and(|(count, _)| count > 0)
}

/// Reads bytes, and who wrote them.
fn receive(stream: &UnixStream, buffer: &mut [u8]) -> Result<(usize, Option<i32>), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut extra = RecvAncillaryBuffer::new(&mut space);
    let mut places = [IoSliceMut::new(buffer)];
    let received = recvmsg(stream, &mut places, &mut extra, RecvFlags::DONTWAIT)?;
    let writer = extra.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(writer) => Some(writer.pid.as_raw_pid()),
        _ => None,
    });
    Ok((received.bytes, writer))
}
