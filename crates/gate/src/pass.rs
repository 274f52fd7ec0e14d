//! Passing bytes both ways, and counting them.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::tally::Tally;

/// What waits in memory, each way.
const BUFFER: usize = 16 << 10;

/// Passes on what comes, both ways, until both have ended or one is broken.
pub(super) async fn both_ways(mut inside: TcpStream, mut outside: TcpStream, tally: &Tally) {
    let (from_inside, to_inside) = inside.split();
    let (from_outside, to_outside) = outside.split();
    let out = one_way(from_inside, to_outside, &tally.sent);
    let back = one_way(from_outside, to_inside, &tally.received);
    if let Err(error) = tokio::try_join!(out, back) {
        tracing::debug!(%error, "a connection through a door broke off");
    }
}

async fn one_way(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    count: &AtomicU64,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..read]).await?;
        count.fetch_add(read as u64, Ordering::Relaxed);
    }
}
