//! Keeps agents from using the API of the server that runs them, for example to answer their own permission requests.
//!
//! The check happens once per connection, when it is accepted. A connection from this machine is refused while an agent
//! runs if the socket of its other end is open in a process that descends from one of our supervisors, or if it belongs
//! to our own user and no process that we can examine has it open. A connection that was accepted while no agent ran
//! cannot belong to one that is started later.

#[cfg(target_os = "linux")]
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
#[cfg(target_os = "linux")]
use interlingua_runtime::{AgentSockets, has_running_agents};
use tokio::net::TcpStream;
#[cfg(target_os = "linux")]
use tokio::sync::Mutex;
#[cfg(target_os = "linux")]
use tokio::time::Instant;

use crate::problem::{Problem, ProblemKind};
#[cfg(target_os = "linux")]
use crate::socket_lookup::{LocalSocket, find_connected, is_local};

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// No agent of this server.
    Client,
    /// A process of an agent.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "agents are recognised on Linux only"))]
    Agent,
    /// A process of our own user that cannot be examined, while an agent runs.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "agents are recognised on Linux only"))]
    Unknown,
}

/// When a scan of the agents' sockets started, and its result.
#[cfg(target_os = "linux")]
type Scan = (Instant, Arc<AgentSockets>);

/// Checks the peers of connections. Cloning copies a pointer.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerCheck {
    #[cfg(target_os = "linux")]
    last_scan: Arc<Mutex<Option<Scan>>>,
    #[cfg(not(target_os = "linux"))]
    _none: Arc<()>,
}

#[cfg(target_os = "linux")]
impl PeerCheck {
    /// Finds out who is at the other end of a connection.
    pub(crate) async fn check(&self, stream: &TcpStream) -> Peer {
        if !has_running_agents() {
            return Peer::Client;
        }
        let (Ok(peer), Ok(local)) = (stream.peer_addr(), stream.local_addr()) else {
            // The connection is gone.
            return Peer::Unknown;
        };
        let accepted = Instant::now();
        let mut last_scan = self.last_scan.lock().await;
        // Connections that waited for a scan to end share the next one.
        let shared = last_scan.clone().filter(|(started, _)| *started > accepted);
        let result = tokio::task::spawn_blocking(move || {
            let scan = || (Instant::now(), Arc::new(AgentSockets::scan()));
            let (started, agents) = shared.unwrap_or_else(scan);
            (identify(peer, local, &agents), started, agents)
        });
        let Ok((identified, started, agents)) = result.await else { return Peer::Unknown };
        *last_scan = Some((started, agents));
        identified
    }
}

#[cfg(not(target_os = "linux"))]
impl PeerCheck {
    /// Agents are recognised on Linux only.
    pub(crate) async fn check(&self, _: &TcpStream) -> Peer {
        Peer::Client
    }
}

#[cfg(target_os = "linux")]
fn identify(peer: SocketAddr, local: SocketAddr, agents: &AgentSockets) -> Peer {
    if agents.has_no_agents() {
        return Peer::Client;
    }
    match find_connected(peer, local) {
        // The process has closed the socket already, or hides it from the lookup.
        Ok(Some(LocalSocket { inode: 0, .. })) => Peer::Unknown,
        Ok(Some(socket)) if agents.contains(socket.inode) => Peer::Agent,
        Ok(Some(socket)) => {
            let may_be_hidden = agents.has_unreadable_process() && socket.user == rustix::process::geteuid().as_raw();
            if may_be_hidden && !agents.is_open_elsewhere(socket.inode) { Peer::Unknown } else { Peer::Client }
        }
        Ok(None) if is_local(peer.ip()) => Peer::Unknown,
        Ok(None) => Peer::Client,
        Err(error) => {
            tracing::warn!(%error, %peer, "cannot find out which process opened a connection");
            if is_local(peer.ip()) { Peer::Unknown } else { Peer::Client }
        }
    }
}

/// Router that refuses every request of such a peer; `None` for a client.
pub(crate) fn refusal_router(peer: Peer) -> Option<Router> {
    let detail = match peer {
        Peer::Client => return None,
        Peer::Agent => {
            "this connection was opened by an agent of this server, or by a program that an agent started; \
                        agents may not use the API of the server that runs them"
        }
        Peer::Unknown => {
            "an agent is running, and it cannot be ruled out that this connection belongs to it, because the \
                          process that opened it cannot be examined or is gone; connect from another user or from a \
                          process that is not protected"
        }
    };
    Some(Router::new().fallback(move || async move { Problem::new(ProblemKind::ForbiddenAgent, detail) }))
}
