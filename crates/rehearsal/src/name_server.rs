//! A name server that knows no name and counts who asked for which.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// "There is no such name", in the fourth byte of a reply.
const NO_SUCH_NAME: u8 = 3;

/// A name that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Question {
    /// The name, without its last dot.
    pub name: String,
    /// How often; an address of each kind (A, AAAA) is a question of its own.
    pub times: u32,
}

/// A running name server on 127.0.0.1; it ends when it is dropped.
#[derive(Debug)]
pub struct NameServer {
    address: SocketAddr,
    asked: Arc<Mutex<BTreeMap<String, u32>>>,
    task: JoinHandle<()>,
}

impl NameServer {
    /// Starts to answer at this port (53 is where programs look; 0 takes a free one).
    ///
    /// # Errors
    /// The port cannot be had.
    pub async fn start(port: u16) -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = socket.local_addr()?;
        let asked = Arc::default();
        let task = tokio::spawn(serve(socket, Arc::clone(&asked)));
        Ok(Self {
            address,
            asked,
            task,
        })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What was asked so far, by name; `localhost` aside.
    #[must_use]
    pub fn questions(&self) -> Vec<Question> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked
            .iter()
            .map(|(name, times)| Question {
                name: name.clone(),
                times: *times,
            })
            .collect()
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(socket: UdpSocket, asked: Arc<Mutex<BTreeMap<String, u32>>>) {
    let mut packet = [0; 1500];
    loop {
        let Ok((length, client)) = socket.recv_from(&mut packet).await else {
            tokio::task::yield_now().await;
            continue;
        };
        let Some((name, reply)) = refused(&packet[..length]) else {
            continue;
        };
        // This machine is not the world.
        if name != "localhost" && !name.ends_with(".localhost") {
            let mut asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
            *asked.entry(name).or_default() += 1;
        }
        if let Err(error) = socket.send_to(&reply, client).await {
            tracing::debug!(%error, "a name could not be refused");
        }
    }
}

/// The name of a question, and the reply that there is no such name.
fn refused(packet: &[u8]) -> Option<(String, Vec<u8>)> {
    let mut labels = Vec::new();
    let mut at = 12;
    loop {
        let length = usize::from(*packet.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        let label = packet.get(at..at + length).filter(|_| length < 64)?;
        labels.push(String::from_utf8_lossy(label).to_lowercase());
        at += length;
    }
    let question = packet.get(12..at + 4)?;
    // An answer, recursion as wished and available; one question, nothing else.
    let mut reply = vec![
        packet[0],
        packet[1],
        0x80 | (packet[2] & 0x01),
        0x80 | NO_SUCH_NAME,
    ];
    reply.extend([0, 1, 0, 0, 0, 0, 0, 0]);
    reply.extend(question);
    Some((labels.join("."), reply))
}
