//! Ways out of a network of loopback alone: sockets that listen inside of it and belong to the harness outside.
//!
//! A socket stays in the network that it was made in, whoever holds it. So the launcher makes them, hands them over, and nobody
//! has to stand between an agent and the harness.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use super::wire::LISTENERS;
use super::{handing, sys};

/// Makes sockets that listen at these ports of the network that this process has, and gives them to the harness.
pub(super) fn hand_over(ports: &[u16]) -> io::Result<()> {
    let way = sys::inherited(LISTENERS);
    let sockets: io::Result<Vec<TcpListener>> = ports.iter().map(|port| listen(*port)).collect();
    give(&way, &sockets?)
}

/// Every address of a network of loopback is the machine itself: both kinds, where there are both.
fn listen(port: u16) -> io::Result<TcpListener> {
    TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
        .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
        .map_err(|error| io::Error::new(error.kind(), format!("listen at port {port}: {error}")))
}

fn give(way: &OwnedFd, sockets: &[TcpListener]) -> io::Result<()> {
    let sockets: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
    handing::give(way, &vec![0; sockets.len()], &sockets)
}

/// The sockets that a launcher has handed over; none where it had none.
pub(super) fn take(way: &UnixStream) -> io::Result<Vec<TcpListener>> {
    let taken = handing::take(way)?.into_iter();
    Ok(taken.map(|(_, socket)| TcpListener::from(socket)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_that_were_handed_over_listen_where_they_were_made() {
        let (outside, inside) = UnixStream::pair().expect("a pair");
        let socket = listen(0).expect("a port");
        let address = socket.local_addr().expect("an address");
        give(&inside.into(), &[socket]).expect("hand over");
        let taken = take(&outside).expect("take");
        assert_eq!(taken.len(), 1);
        assert_eq!(taken[0].local_addr().expect("an address"), address);
        assert!(take(&outside).expect("the other end is closed").is_empty());
    }
}
