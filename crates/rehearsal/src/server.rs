//! The server of a rehearsal: it finds the answer to each request, and keeps what was asked.

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::http;
use crate::kept::{Kept, KeptRequest};
use crate::script::Script;
use crate::stage::Stage;

/// How a server is set up.
#[derive(Debug)]
pub struct ServerOptions {
    /// The port on 127.0.0.1; 0 takes a free one.
    pub port: u16,
    /// How many bytes of requests are kept in memory; the oldest go first.
    pub keep: usize,
    /// A file that gets every request as a line of JSON.
    pub log: Option<File>,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            port: 0,
            keep: 64 << 20,
            log: None,
        }
    }
}

/// A running server; it ends when it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stage: Arc<Stage>,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts to answer, on loopback alone, in the runtime of the caller.
    ///
    /// # Errors
    /// The port cannot be had.
    pub async fn start(script: Script, options: ServerOptions) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
        let address = listener.local_addr()?;
        let stage = Arc::new(Stage::new(script, Kept::new(options.keep, options.log)));
        let task = tokio::spawn(http::serve(listener, Arc::clone(&stage)));
        Ok(Self {
            address,
            stage,
            task,
        })
    }

    /// `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked so far, as far as it is kept.
    #[must_use]
    pub fn requests(&self) -> Vec<KeptRequest> {
        self.stage.kept.all()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}
