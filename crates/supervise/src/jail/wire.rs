//! What the harness tells a helper that keeps a trial, as bytes in a file without a name: never on a command line.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::super::ending::Exit;
use super::{Jail, JailNetwork, Mount};

/// All that the helper needs to make a jail and start a program in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Order {
    /// The program; without one the jail is only tried.
    pub(super) program: Option<PathBuf>,
    pub(super) arguments: Vec<OsString>,
    /// `NAME=value` each.
    pub(super) environment: Vec<OsString>,
    pub(super) folder: PathBuf,
    pub(super) jail: Jail,
}

impl Order {
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut out = Writer(Vec::new());
        let program = self.program.as_deref().unwrap_or(Path::new(""));
        out.text(program.as_os_str());
        out.texts(&self.arguments);
        out.texts(&self.environment);
        out.text(self.folder.as_os_str());
        out.number(self.jail.processes.unwrap_or(u64::MAX));
        out.number(self.jail.in_memory.unwrap_or(u64::MAX));
        match &self.jail.network {
            JailNetwork::Host => out.number(0),
            JailNetwork::Loopback(ports) => {
                out.number(1);
                out.number(ports.len() as u64);
                for port in ports {
                    out.number(u64::from(*port));
                }
            }
        }
        out.number(self.jail.mounts.len() as u64);
        for mount in &self.jail.mounts {
            out.mount(mount);
        }
        out.0
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let program = from.path()?;
        let (arguments, environment) = (from.texts()?, from.texts()?);
        let folder = from.path()?;
        let processes = Some(from.number()?).filter(|most| *most != u64::MAX);
        let in_memory = Some(from.number()?).filter(|most| *most != u64::MAX);
        let network = from.network()?;
        let count = from.number()?;
        let mounts: Option<Vec<Mount>> = (0..count).map(|_| from.mount()).collect();
        Some(Self {
            program: (!program.as_os_str().is_empty()).then_some(program),
            arguments,
            environment,
            folder,
            jail: Jail {
                mounts: mounts?,
                processes,
                in_memory,
                network,
            },
        })
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn text(&mut self, text: &OsStr) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text.as_bytes());
    }

    fn texts(&mut self, texts: &[OsString]) {
        self.number(texts.len() as u64);
        for text in texts {
            self.text(text);
        }
    }

    fn mount(&mut self, mount: &Mount) {
        let (kind, at, from, write) = match mount {
            Mount::Empty { at, write } => (0, at, None, *write),
            Mount::Lent { from, at, write } => (1, at, Some(from), *write),
            Mount::Link { at, to } => (2, at, Some(to), false),
        };
        self.number(kind);
        self.text(at.as_os_str());
        if let Some(from) = from {
            self.text(from.as_os_str());
        }
        self.number(u64::from(write));
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn text(&mut self) -> Option<OsString> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(OsString::from_vec(text.to_vec()))
    }

    fn path(&mut self) -> Option<PathBuf> {
        self.text().map(PathBuf::from)
    }

    fn texts(&mut self) -> Option<Vec<OsString>> {
        let count = self.number()?;
        (0..count).map(|_| self.text()).collect()
    }

    fn network(&mut self) -> Option<JailNetwork> {
        if self.number()? == 0 {
            return Some(JailNetwork::Host);
        }
        let count = self.number()?;
        let ports = (0..count).map(|_| u16::try_from(self.number()?).ok());
        ports.collect::<Option<_>>().map(JailNetwork::Loopback)
    }

    fn mount(&mut self) -> Option<Mount> {
        let (kind, at) = (self.number()?, self.path()?);
        Some(match kind {
            0 => Mount::Empty {
                at,
                write: self.number()? == 1,
            },
            1 => Mount::Lent {
                from: self.path()?,
                at,
                write: self.number()? == 1,
            },
            2 => {
                let to = self.path()?;
                (self.number()? == 0).then_some(Mount::Link { at, to })?
            }
            _ => return None,
        })
    }
}

/// A path for the kernel.
pub(super) fn c_path(path: &Path) -> std::io::Result<CString> {
    c_text(path.as_os_str())
}

/// A text for the kernel.
pub(super) fn c_text(text: &OsStr) -> std::io::Result<CString> {
    CString::new(text.as_bytes())
        .map_err(|_| std::io::Error::new(std::io::ErrorKind::InvalidInput, "a text holds a NUL"))
}

/// What the helper says, in messages of this many bytes.
pub(super) const MESSAGE: usize = 512;

/// Where the text of a message begins, or the id of a process, and the length of that.
const TEXT: usize = 16;
const PID: usize = 4;

/// Where the system's error stands beside a text.
const ERROR: usize = 4;

/// A word of the helper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Said {
    /// The program runs, since this time of `CLOCK_MONOTONIC` in nanoseconds; its id, or zero where it has another one outside.
    Started(u64, u32),
    /// The jail could not be made: at which step, the system's error or zero, and why.
    NotMade(Step, i32, String),
    /// The program could not be started: the system's error.
    NotStarted(i32),
    /// The program has left like this; whether nobody else is in the jail.
    Left(Exit, bool),
    /// So many processes and threads are in the jail at once: more than were told before.
    Most(u64),
}

/// What a jail is made of, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Order,
    Namespaces,
    Users,
    View,
    Proc,
    Inner,
    Fork,
    Network,
}

impl Step {
    const ALL: [Self; 8] = [
        Self::Order,
        Self::Namespaces,
        Self::Users,
        Self::View,
        Self::Proc,
        Self::Inner,
        Self::Fork,
        Self::Network,
    ];

    /// What failed, for a person.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Order => "read the order",
            Self::Namespaces => "make user, mount, process and IPC namespaces",
            Self::Users => "map the user into the namespace",
            Self::View => "assemble the view of the file system",
            Self::Proc => "mount a fresh /proc",
            Self::Inner => "lock the view",
            Self::Fork => "start a process",
            Self::Network => "make a network of its own",
        }
    }
}

impl Said {
    pub(super) fn bytes(&self) -> [u8; MESSAGE] {
        let (kind, small, large) = match *self {
            Self::Started(at, _) => (1, 0, at),
            Self::NotMade(step, _, ref why) => {
                (2, step as u8, why.len().min(MESSAGE - TEXT) as u64)
            }
            Self::NotStarted(error) => (3, 0, from_i32(error)),
            Self::Left(Exit::Code(code), alone) => (4, u8::from(alone), from_i32(code)),
            Self::Left(Exit::Signal(signal), alone) => (5, u8::from(alone), from_i32(signal)),
            Self::Most(count) => (6, 0, count),
        };
        let mut out = [0; MESSAGE];
        out[0] = kind;
        out[1] = small;
        out[8..TEXT].copy_from_slice(&large.to_le_bytes());
        match self {
            Self::NotMade(_, error, why) => {
                out[ERROR..ERROR + 4].copy_from_slice(&error.to_le_bytes());
                let length = why.len().min(MESSAGE - TEXT);
                out[TEXT..TEXT + length].copy_from_slice(&why.as_bytes()[..length]);
            }
            Self::Started(_, pid) => out[TEXT..TEXT + PID].copy_from_slice(&pid.to_le_bytes()),
            _ => {}
        }
        out
    }

    pub(super) fn read(bytes: &[u8; MESSAGE]) -> Option<Self> {
        let large = u64::from_le_bytes(bytes[8..TEXT].try_into().ok()?);
        let number = i32::try_from(large).ok();
        Some(match bytes[0] {
            1 => {
                let pid = bytes[TEXT..TEXT + PID].try_into().ok()?;
                Self::Started(large, u32::from_le_bytes(pid))
            }
            2 => {
                let text = bytes[TEXT..].get(..usize::try_from(large).ok()?)?;
                let why = String::from_utf8_lossy(text).into_owned();
                let error = i32::from_le_bytes(bytes[ERROR..ERROR + 4].try_into().ok()?);
                Self::NotMade(*Step::ALL.get(usize::from(bytes[1]))?, error, why)
            }
            3 => Self::NotStarted(number?),
            4 => Self::Left(Exit::Code(number?), bytes[1] == 1),
            5 => Self::Left(Exit::Signal(number?), bytes[1] == 1),
            6 => Self::Most(large),
            _ => return None,
        })
    }
}

fn from_i32(number: i32) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_reads_back_as_it_was_written_and_a_cut_one_does_not() {
        let order = Order {
            program: Some("/bin/sh".into()),
            arguments: vec!["sh".into(), "-c".into(), OsString::from_vec(vec![255, 10])],
            environment: vec!["A=b".into()],
            folder: "/work".into(),
            jail: Jail {
                mounts: vec![
                    Mount::Empty {
                        at: "/hidden".into(),
                        write: false,
                    },
                    Mount::Lent {
                        from: "/a".into(),
                        at: "/b".into(),
                        write: true,
                    },
                    Mount::Link {
                        at: "/l".into(),
                        to: "/t".into(),
                    },
                ],
                processes: Some(7),
                in_memory: Some(8),
                network: JailNetwork::Loopback(vec![80, 65535]),
            },
        };
        let bytes = order.bytes();
        assert_eq!(Order::read(&bytes), Some(order));
        for cut in 0..bytes.len() {
            assert_eq!(Order::read(&bytes[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn messages_read_back() {
        for said in [
            Said::Started(u64::MAX - 1, 0),
            Said::Started(1, u32::MAX - 1),
            Said::NotMade(Step::Proc, 11, "not permitted".to_owned()),
            Said::NotStarted(2),
            Said::Left(Exit::Signal(9), true),
            Said::Left(Exit::Code(255), false),
            Said::Most(4096),
        ] {
            assert_eq!(Said::read(&said.bytes()), Some(said));
        }
        assert_eq!(Said::read(&[0; MESSAGE]), None);
    }
}
