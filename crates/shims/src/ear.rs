//! How the shims of one trial are heard: a socket at a desk of this process (Linux), or not at all.

#[cfg(target_os = "linux")]
pub(super) use linux::Ear;
#[cfg(not(target_os = "linux"))]
pub(super) use other::Ear;

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::{File, Metadata};
    use std::io;
    use std::os::linux::fs::MetadataExt;
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex};

    use super::super::call_listener::{CallListener, Identity};
    use super::super::hub;
    use super::super::log::{self, ShimLog};
    use proctor_record::Redactor;

    /// A desk that is open as long as this lives.
    #[derive(Debug)]
    pub(in super::super) struct Ear {
        number: u32,
        desk: Arc<Mutex<CallListener>>,
        socket: PathBuf,
        is: Identity,
    }

    impl Ear {
        /// Hears these programs at a socket, and keeps what they say in a log.
        pub(in super::super) fn open(
            socket: &Path,
            programs: &[Metadata],
            log: (&Path, File),
        ) -> io::Result<Self> {
            match std::fs::remove_file(socket) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let shims = programs.iter().map(identity).collect();
            let desk = CallListener::at(socket, shims, log)?;
            let is = identity(&socket.symlink_metadata()?);
            let (number, desk) = hub::add(desk)?;
            Ok(Self {
                number,
                desk,
                socket: socket.to_owned(),
                is,
            })
        }

        /// Keeps these secrets out of the log from now on.
        pub(in super::super) fn hide(&self, redactor: &Redactor) {
            hub::lock(&self.desk).redactor = redactor.clone();
        }

        /// Whether the socket is the one that was made.
        pub(in super::super) fn is_in_place(&self) -> bool {
            let found = self.socket.symlink_metadata();
            found.is_ok_and(|found| identity(&found) == self.is)
        }

        /// What the shims have told so far.
        pub(in super::super) fn heard(&self, agent_started_mono_ns: u64) -> io::Result<ShimLog> {
            let mut desk = hub::lock(&self.desk);
            let odd = desk.heard();
            let changed = !desk.mend_log()?;
            let heard = match desk.kept()? {
                Some(kept) => log::parse(kept, agent_started_mono_ns)?,
                None => ShimLog::default(),
            };
            Ok(ShimLog {
                by_socket: true,
                lost: odd.lost,
                forged: odd.forged,
                strangers: odd.strangers.into_iter().collect(),
                unproven: odd.unproven,
                changed,
                ..heard
            })
        }
    }

    impl Drop for Ear {
        fn drop(&mut self) {
            hub::remove(self.number);
        }
    }

    fn identity(file: &Metadata) -> Identity {
        (file.st_dev(), file.st_ino())
    }
}

/// Nothing elsewhere tells whose line it is.
#[cfg(not(target_os = "linux"))]
mod other {
    use std::fs::{File, Metadata};
    use std::io;
    use std::path::Path;

    use super::super::log::ShimLog;
    use proctor_record::Redactor;

    #[derive(Debug)]
    pub(in super::super) enum Ear {}

    impl Ear {
        pub(in super::super) fn open(
            _socket: &Path,
            _programs: &[Metadata],
            _log: (&Path, File),
        ) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in super::super) fn hide(&self, _redactor: &Redactor) {
            match *self {}
        }

        pub(in super::super) fn is_in_place(&self) -> bool {
            match *self {}
        }

        pub(in super::super) fn heard(&self, _agent_started_mono_ns: u64) -> io::Result<ShimLog> {
            match *self {}
        }
    }
}
