//! A child between whose output and its readers this process stands: all is passed on as it comes, and each line is looked at.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal as Sent, kill_process};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::ending::Exit;
use super::lines::LineSplitter;
use super::spec::OutputStream;

/// Lines are looked at up to this many bytes: a list of all tools of a large server has 400 kB.
const LONGEST_LINE: usize = 8 << 20;

/// What is left in the pipe of a dead child is there at once; only somebody else who holds it lets it stay open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a child has of its own; all else is this process's.
#[derive(Debug, Default)]
pub struct ServerPlace {
    /// The folder that it begins in.
    pub folder: Option<PathBuf>,
    /// Variables.
    pub variables: BTreeMap<String, String>,
}

/// Starts `command` in this process's place: with its standard input, in these surroundings, and with its output
/// through here. Signals that ask to end are handed on. Gives how it ended.
///
/// # Errors
/// It could not be started.
pub async fn go_between(
    command: &[OsString],
    around: &ServerPlace,
    look: &mut impl FnMut(OutputStream, &[u8]),
) -> io::Result<Exit> {
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no command"))?;
    let mut wishes = Wishes::listen()?;
    #[expect(
        clippy::disallowed_methods,
        reason = "this room's own start gives a session, limits and a supervisor, and here is none of them"
    )]
    let mut command = Command::new(program);
    command.args(arguments).envs(&around.variables);
    if let Some(folder) = &around.folder {
        command.current_dir(folder);
    }
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let pid = child.id();
    let mut stdout = Passing::new(child.stdout.take(), OutputStream::Stdout);
    let mut stderr = Passing::new(child.stderr.take(), OutputStream::Stderr);
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            bytes = stdout.read(), if stdout.is_open() => stdout.pass(&bytes, look),
            bytes = stderr.read(), if stderr.is_open() => stderr.pass(&bytes, look),
            sent = wishes.next() => hand_on(pid, sent),
        }
    };
    let rest = async {
        while stdout.is_open() || stderr.is_open() {
            tokio::select! {
                bytes = stdout.read(), if stdout.is_open() => stdout.pass(&bytes, look),
                bytes = stderr.read(), if stderr.is_open() => stderr.pass(&bytes, look),
            }
        }
    };
    // Whoever still holds a pipe is not waited for.
    drop(tokio::time::timeout(LAST_WORDS, rest).await);
    stdout.lines.finish(|line| look(OutputStream::Stdout, line));
    stderr.lines.finish(|line| look(OutputStream::Stderr, line));
    let signal = status.signal().map(Exit::Signal);
    Ok(signal.unwrap_or_else(|| Exit::Code(status.code().unwrap_or(1))))
}

fn hand_on(pid: Option<u32>, sent: Sent) {
    let pid = pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
    if let Some(pid) = pid {
        // One that is gone has ended.
        let _ = kill_process(pid, sent);
    }
}

/// What comes out of the child and goes on.
struct Passing<R> {
    from: Option<R>,
    lines: LineSplitter,
    stream: OutputStream,
}

impl<R: AsyncRead + Unpin> Passing<R> {
    fn new(from: Option<R>, stream: OutputStream) -> Self {
        Self {
            from,
            lines: LineSplitter::new(LONGEST_LINE),
            stream,
        }
    }

    fn is_open(&self) -> bool {
        self.from.is_some()
    }

    /// What there is; nothing at its end.
    async fn read(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; 64 << 10];
        let count = match &mut self.from {
            Some(from) => from.read(&mut bytes).await.unwrap_or(0),
            None => 0,
        };
        bytes.truncate(count);
        bytes
    }

    /// Passes it on; where the reader is gone the child sees a closed pipe, too.
    fn pass(&mut self, bytes: &[u8], look: &mut impl FnMut(OutputStream, &[u8])) {
        if bytes.is_empty() || self.write(bytes).is_err() {
            self.from = None;
            return;
        }
        self.lines.push(bytes, |line| look(self.stream, line));
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self.stream {
            OutputStream::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(bytes)?;
                out.flush()
            }
            OutputStream::Stderr => io::stderr().lock().write_all(bytes),
        }
    }
}

/// Signals by which a process is asked to end.
struct Wishes([Signal; 3]);

impl Wishes {
    fn listen() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    async fn next(&mut self) -> Sent {
        let [interrupt, terminate, hang_up] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => Sent::INT,
            _ = terminate.recv() => Sent::TERM,
            _ = hang_up.recv() => Sent::HUP,
        }
    }
}
