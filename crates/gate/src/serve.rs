//! Who comes to a door, and where they are let through to.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::head::{self, Asked};
use super::rules::EgressRules;
use super::tally::Tally;
use super::{pass, resolve};
use proctor_model::host::{HostRule, joined};

/// Connections of one door at once; further ones wait until one ends.
const MOST_CONNECTIONS: usize = 128;

/// How long a client may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where a socket leads.
#[derive(Debug, Clone, Copy)]
pub(super) enum Leads {
    /// To whoever the client names, if that is in the list.
    Anywhere,
    /// To this port of the machine's own loopback.
    Home(u16),
}

/// What all connections of a door share.
#[derive(Debug)]
pub(super) struct Door {
    hosts: Vec<HostRule>,
    way_out: EgressRules,
    tally: Tally,
    room: Semaphore,
}

impl Door {
    pub(super) fn new(hosts: Vec<HostRule>, way_out: EgressRules) -> Self {
        Self {
            hosts,
            way_out,
            tally: Tally::default(),
            room: Semaphore::new(MOST_CONNECTIONS),
        }
    }

    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Whether a host may be asked; and if so, whether it is named itself.
    fn allows(&self, host: &str, port: u16) -> Option<bool> {
        let rules = self.hosts.iter().filter(|rule| rule.allows(host, port));
        rules.map(HostRule::is_exact).max()
    }
}

/// Serves whoever comes, until it is dropped.
pub(super) async fn serve(socket: TcpListener, leads: Leads, door: Arc<Door>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok(room) = door.room.acquire().await else {
            return;
        };
        let client = match socket.accept().await {
            Ok((client, _)) => client,
            Err(error) => {
                tracing::debug!(%error, "no connection could be taken");
                drop(room);
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        room.forget();
        while connections.try_join_next().is_some() {}
        let taken = Taken(Arc::clone(&door));
        connections.spawn(async move {
            client.set_nodelay(true).ok();
            let ended = match leads {
                Leads::Anywhere => to_named(client, &taken.0).await,
                Leads::Home(port) => home(client, port, &taken.0).await,
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection through a door ended early");
            }
        });
    }
}

/// A place among the connections; given back when it is dropped.
struct Taken(Arc<Door>);

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.room.add_permits(1);
    }
}

async fn home(client: TcpStream, port: u16, door: &Door) -> io::Result<()> {
    let outside = resolve::connect("localhost", port, true).await?;
    pass::both_ways(client, outside, &door.tally).await;
    Ok(())
}

async fn to_named(mut client: TcpStream, door: &Door) -> io::Result<()> {
    let said = timeout(PATIENCE, head::read(&mut client)).await;
    let Some((head, early)) = said.unwrap_or(Ok(None))? else {
        return answer(&mut client, "400 Bad Request", "no request to a proxy").await;
    };
    let Some(asked) = head::asked(&head) else {
        door.tally.refuse("no request to a proxy");
        return answer(&mut client, "400 Bad Request", "no request to a proxy").await;
    };
    let shown = joined(&asked.host, asked.port);
    let Some(is_named) = door.allows(&asked.host, asked.port) else {
        door.tally.refuse(&shown);
        let words = format!("{shown} is not among the hosts that this trial may ask");
        return answer(&mut client, "403 Forbidden", &words).await;
    };
    match door
        .way_out
        .connect(&asked.host, asked.port, is_named)
        .await
    {
        Ok(outside) => let_through(client, outside, &asked, &early, door).await,
        Err(error) => {
            tracing::debug!(host = shown, %error, "a host that may be asked cannot be reached");
            let words = format!("{shown} cannot be reached: {error}");
            answer(&mut client, "502 Bad Gateway", &words).await
        }
    }
}

async fn let_through(
    mut client: TcpStream,
    mut outside: TcpStream,
    asked: &Asked,
    early: &[u8],
    door: &Door,
) -> io::Result<()> {
    if asked.is_tunnel {
        let opened = b"HTTP/1.1 200 Connection established\r\n\r\n";
        client.write_all(opened).await?;
    }
    outside.write_all(&asked.first).await?;
    outside.write_all(early).await?;
    let first = asked.first.len() + early.len();
    let sent = &door.tally.sent;
    sent.fetch_add(first as u64, std::sync::atomic::Ordering::Relaxed);
    pass::both_ways(client, outside, &door.tally).await;
    Ok(())
}

/// Answers in the harness's own name, and ends the connection.
async fn answer(client: &mut TcpStream, status: &str, words: &str) -> io::Result<()> {
    let body = format!("proctor: {words}\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    client.write_all(answer.as_bytes()).await?;
    client.shutdown().await
}
