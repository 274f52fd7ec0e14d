//! The egress proxy of `network: provider`: it lets a trial reach named hosts only.
//!
//! Its listening socket lies inside of the jail, the proxy itself outside. An agent reaches it like
//! any proxy (`HTTPS_PROXY` and the like): `CONNECT` for everything, and plain HTTP. Names are
//! looked up outside, so nothing inside needs a name server. A host on the machine's own loopback
//! is reached without a proxy: its port is open inside as it is outside. Connections, memory and
//! remembered refusals are bounded.
//!
//! It does not look into TLS: name and port decide when a connection begins. It knows no agent and
//! no jail. Start reading with [`EgressRules`], then `serve.rs`.

mod head;
mod pass;
mod resolve;
mod rules;
mod serve;
mod tally;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;

use tokio::task::JoinSet;

use proctor_model::DoorUse;
use proctor_model::host::HostRule;

use serve::{Door, Leads};

pub use rules::EgressRules;

/// Where the proxy stands inside, unless a host of the list needs that port.
const PORT: u16 = 3128;

/// The most ports of the machine's own that stand open inside; the proxy's comes on top.
const MOST_PORTS: usize = 32;

/// The door of one trial. It closes when it is dropped.
#[derive(Debug)]
pub struct Gate {
    door: Arc<Door>,
    /// Ports of the machine's own that stand open inside.
    own_ports: Vec<u16>,
    tasks: JoinSet<()>,
}

impl Gate {
    /// A door to these hosts, by this way.
    #[must_use]
    pub fn new(hosts: Vec<HostRule>, way_out: EgressRules) -> Self {
        let mut own_ports: Vec<u16> = hosts
            .iter()
            .filter_map(HostRule::port_of_loopback)
            .collect();
        own_ports.sort_unstable();
        own_ports.dedup();
        own_ports.truncate(MOST_PORTS);
        Self {
            door: Arc::new(Door::new(hosts, way_out)),
            own_ports,
            tasks: JoinSet::new(),
        }
    }

    /// Where the proxy stands inside.
    #[must_use]
    pub fn port(&self) -> u16 {
        let mut ports = PORT..=u16::MAX;
        ports
            .find(|port| !self.own_ports.contains(port))
            .unwrap_or(PORT)
    }

    /// The ports that a jail needs for it, in the order in which [`Gate::open`] wants their sockets.
    #[must_use]
    pub fn ports(&self) -> Vec<u16> {
        let proxy = self.port();
        [proxy].iter().chain(&self.own_ports).copied().collect()
    }

    /// Variables by which programs find the proxy, in both spellings.
    pub fn variables(&self) -> impl Iterator<Item = (String, String)> + use<> {
        let proxy = format!("http://127.0.0.1:{}", self.port());
        let own = "localhost,127.0.0.1,::1".to_owned();
        let named = [
            ("HTTP_PROXY", proxy.clone()),
            ("HTTPS_PROXY", proxy.clone()),
            ("ALL_PROXY", proxy),
            ("NO_PROXY", own),
        ];
        let both = named.into_iter().flat_map(|(name, value)| {
            let small = (name.to_ascii_lowercase(), value.clone());
            [(name.to_owned(), value), small]
        });
        // Node looks at them only where it is told to.
        both.chain([("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned())])
    }

    /// Begins to serve these sockets, in the runtime of the caller.
    ///
    /// # Errors
    /// A socket that is missing or cannot be served: an agent would not find what it may ask.
    pub fn open(&mut self, sockets: Vec<TcpListener>) -> io::Result<()> {
        let (came, wanted) = (sockets.len(), self.ports().len());
        if came != wanted {
            let why = format!("{came} of the {wanted} sockets of its door came out of the jail");
            return Err(io::Error::other(why));
        }
        let proxy = std::iter::once(Leads::Anywhere);
        let own = self.own_ports.iter().map(|port| Leads::Home(*port));
        for (socket, leads) in sockets.into_iter().zip(proxy.chain(own)) {
            socket.set_nonblocking(true)?;
            let socket = tokio::net::TcpListener::from_std(socket)?;
            let door = Arc::clone(&self.door);
            self.tasks.spawn(serve::serve(socket, leads, door));
        }
        Ok(())
    }

    /// Closes it, and tells what went through.
    #[must_use]
    pub fn close(self) -> DoorUse {
        drop(self.tasks);
        self.door.tally().told()
    }
}

#[cfg(test)]
mod tests;
