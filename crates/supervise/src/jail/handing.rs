//! Descriptors handed from one process to another over a socket, on which nobody else can lay hands on the way.
//!
//! A process that has just become this program cannot be hidden from others of its user yet: they can open through `/proc` what it
//! was started with, but no socket. So a helper is started with a socket alone, and takes the rest once it has hidden itself.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::sys;

/// The most descriptors that are handed over at once.
const MOST: usize = 64;

/// The number of the socket that a helper is started with.
pub(super) const WAY: i32 = 3;

/// Numbers above those at which a helper expects its descriptors.
const ABOVE: i32 = 16;

/// Hands descriptors over, each with a byte about it.
pub(super) fn give(way: &impl AsFd, about: &[u8], handed: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut enclosed = SendAncillaryBuffer::new(&mut space);
    if !enclosed.push(SendAncillaryMessage::ScmRights(handed)) {
        return Err(io::Error::other("more descriptors than go at once"));
    }
    sendmsg(
        way,
        &[IoSlice::new(about)],
        &mut enclosed,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// What was handed over so far, with the byte about each; nothing where nothing was.
pub(super) fn take(way: &impl AsFd) -> io::Result<Vec<(u8, OwnedFd)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut enclosed = RecvAncillaryBuffer::new(&mut space);
    let mut about = [0; MOST];
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    recvmsg(
        way,
        &mut [IoSliceMut::new(&mut about)],
        &mut enclosed,
        flags,
    )?;
    let mut taken = Vec::new();
    for message in enclosed.drain() {
        if let RecvAncillaryMessage::ScmRights(handed) = message {
            taken.extend(handed);
        }
    }
    Ok(about.into_iter().zip(taken).collect())
}

/// A socket on which a helper that is started with it finds its streams and all else, each with the number that it is to have.
pub(super) fn way_in(
    streams: [BorrowedFd<'_>; 3],
    further: &[(BorrowedFd<'_>, i32)],
) -> io::Result<OwnedFd> {
    let (outside, inside) = UnixStream::pair()?;
    let streams = streams.into_iter().zip(0..);
    let numbered = streams.chain(further.iter().copied());
    let (handed, numbers): (Vec<_>, Vec<_>) = numbered
        .map(|(end, number)| (end, u8::try_from(number).unwrap_or_default()))
        .unzip();
    give(&outside, &numbers, &handed)?;
    Ok(rustix::io::fcntl_dupfd_cloexec(&inside, ABOVE)?)
}

/// Hides this helper, and gives what it was handed the numbers that were named for it.
pub(super) fn arrive() -> io::Result<()> {
    sys::hide_memory()?;
    let way = sys::inherited(WAY);
    let taken = take(&way)?;
    drop(way);
    // None of them stands where another belongs.
    let above =
        |(number, end): (u8, OwnedFd)| Ok((number, rustix::io::fcntl_dupfd_cloexec(&end, ABOVE)?));
    let aside: Vec<_> = taken.into_iter().map(above).collect::<io::Result<_>>()?;
    for (number, end) in &aside {
        sys::copy_to(end.as_fd(), i32::from(*number))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::AsFd as _;
    use std::path::{Path, PathBuf};

    use rustix::process::{Signal, WaitOptions, kill_process, waitpid};

    use super::super::super::registry::{self, pid_of};
    use super::super::super::session::{Launch, keep_descriptors_private};
    use super::super::{helper, line, trial_order};
    use super::*;

    #[test]
    fn what_is_handed_over_comes_with_what_was_said_about_each() {
        let (outside, inside) = UnixStream::pair().expect("a pair");
        let file = File::open("/dev/null").expect("open a file");
        give(&inside, b"ab", &[file.as_fd(), outside.as_fd()]).expect("hand over");
        let taken = take(&outside).expect("take");
        let about: Vec<u8> = taken.iter().map(|(about, _)| *about).collect();
        assert_eq!(about, b"ab");
        drop((inside, taken));
        assert!(take(&outside).expect("the other end is closed").is_empty());
    }

    /// Another program in the place of a helper never gets so far as to hide itself.
    #[test]
    fn nothing_that_a_helper_is_started_with_leads_others_to_its_harness() {
        let (stdin, _feeds) = io::pipe().expect("a pipe");
        let (_hears, stdout) = io::pipe().expect("a pipe");
        let streams = [stdin.as_fd(), stdout.as_fd(), stdout.as_fd()];
        // What this process itself was started with is nobody's.
        keep_descriptors_private();
        // No runtime is here for a whole line: the pieces of one alone.
        let (_asks, _says, ends) = line::plain(&trial_order()).expect("a line");
        let nowhere = super::super::nowhere().expect("open /dev/null");
        let way = way_in(streams, &ends.numbered()).expect("a way in");
        let further = [(way.as_fd(), WAY)];
        let words = ["sleep".into(), "60".into()];
        let (place, _) = registry::start(&Launch {
            program: Path::new("/bin/sleep"),
            arguments: &words,
            ..helper(&[], &nowhere, &further)
        })
        .expect("start a program");
        let folder = PathBuf::from(format!("/proc/{}/fd", place.pid));
        let found: Vec<PathBuf> = fs::read_dir(&folder)
            .expect("list its descriptors")
            .map(|entry| entry.expect("a descriptor").path())
            .collect();
        let shown: Vec<(PathBuf, bool)> = found
            .iter()
            .map(|path| {
                let target = fs::read_link(path).expect("read where it leads");
                let opens = File::options().read(true).write(true).open(path).is_ok();
                (target, opens)
            })
            .collect();
        let pid = pid_of(place.pid);
        kill_process(pid.expect("an id"), Signal::KILL).expect("kill it");
        waitpid(pid, WaitOptions::empty()).expect("reap it");
        assert_eq!(shown.len(), 4, "{shown:?}");
        for (target, opens) in shown {
            let is_socket = target.to_string_lossy().starts_with("socket:[");
            assert!(is_socket || target == Path::new("/dev/null"), "{target:?}");
            assert_eq!(opens, !is_socket, "{target:?}");
        }
    }
}
