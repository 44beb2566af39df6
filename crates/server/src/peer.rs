//! Keeps agents from using the API of the server that runs them, for example to answer their own permission requests.
//!
//! The check happens once per connection, when it is accepted. A connection from this machine is refused while an agent
//! runs if the socket of its other end is open in a process that descends from one of our supervisors. It is refused too
//! if that cannot be ruled out: it belongs to our own user and no process that we can examine has it open, or it belongs
//! to another user as whom an agent runs a program. A connection that was accepted while no agent ran
//! cannot belong to one that is started later. A connection to a Unix socket belongs to the process that opened it,
//! which the kernel names; one that is gone counts as an agent.

#[cfg(target_os = "linux")]
use std::net::SocketAddr;
#[cfg(target_os = "linux")]
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
#[cfg(target_os = "linux")]
use interlingua_runtime::{SocketOwner, SocketOwners, agents_run_as, find_process_owner, has_running_agents};
use tokio::net::{TcpStream, UnixStream};
#[cfg(target_os = "linux")]
use tokio::sync::oneshot;

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
    /// A process that cannot be examined and may belong to an agent.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "agents are recognised on Linux only"))]
    Unknown,
}

/// Checks the peers of connections. Cloning copies a pointer.
#[derive(Clone, Debug, Default)]
pub(crate) struct PeerCheck {
    #[cfg(target_os = "linux")]
    shared: Arc<Shared>,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Default)]
struct Shared {
    owners: SocketOwners,
    /// Held by the task that carries out checks.
    turn: tokio::sync::Mutex<()>,
    /// Checks that wait for their turn. They are carried out together, so that each process is examined once for all.
    waiting: Mutex<Vec<Check>>,
}

#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Check {
    peer: SocketAddr,
    local: SocketAddr,
    result: oneshot::Sender<Peer>,
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
        let (sender, mut result) = oneshot::channel();
        self.shared.waiting().push(Check { peer, local, result: sender });
        tokio::select! {
            biased;
            // Another task has carried out this check, too.
            checked = &mut result => checked.unwrap_or(Peer::Unknown),
            _turn = self.shared.turn.lock() => {
                let shared = Arc::clone(&self.shared);
                // If this task ends meanwhile, the results are still sent.
                if tokio::task::spawn_blocking(move || shared.check_waiting()).await.is_err() {
                    return Peer::Unknown;
                }
                result.await.unwrap_or(Peer::Unknown)
            }
        }
    }
}

#[cfg(target_os = "linux")]
impl PeerCheck {
    /// Finds out who opened a connection to a Unix socket. The kernel knows the process.
    #[expect(clippy::unused_self, reason = "the same on every system")]
    pub(crate) fn check_unix(&self, stream: &UnixStream) -> Peer {
        if !has_running_agents() {
            return Peer::Client;
        }
        let Ok(credentials) = stream.peer_cred() else {
            // The connection is gone.
            return Peer::Unknown;
        };
        let process = credentials.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0);
        match process.map(find_process_owner) {
            Some(SocketOwner::Agent) => Peer::Agent,
            // A process of another container.
            None if credentials.uid() == rustix::process::geteuid().as_raw() => Peer::Unknown,
            Some(SocketOwner::Other) | None => Peer::Client,
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl PeerCheck {
    /// Agents are recognised on Linux only.
    #[expect(clippy::unused_self, reason = "the same on every system")]
    pub(crate) fn check_unix(&self, _: &UnixStream) -> Peer {
        Peer::Client
    }

    /// Agents are recognised on Linux only.
    pub(crate) async fn check(&self, _: &TcpStream) -> Peer {
        Peer::Client
    }
}

#[cfg(target_os = "linux")]
impl Shared {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<Check>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out all checks that wait.
    fn check_waiting(&self) {
        let checks = std::mem::take(&mut *self.waiting());
        let own_user = rustix::process::geteuid();
        let mut searched = Vec::new();
        for check in checks {
            match find_connected(check.peer, check.local) {
                // The process has closed the socket already, or hides it from the lookup.
                Ok(Some(LocalSocket { inode: 0, .. })) => check.answer(Peer::Unknown),
                // Processes of other users can be examined by root only.
                Ok(Some(socket)) if socket.user == own_user.as_raw() || own_user.is_root() => {
                    searched.push((check, socket));
                }
                Ok(Some(socket)) if agents_run_as(socket.user) => check.answer(Peer::Unknown),
                Ok(Some(_)) => check.answer(Peer::Client),
                Ok(None) => check.answer_by_address(),
                Err(error) => {
                    tracing::warn!(%error, peer = %check.peer, "cannot find out which process opened a connection");
                    check.answer_by_address();
                }
            }
        }
        if searched.is_empty() {
            return;
        }
        let inodes: Vec<u64> = searched.iter().map(|(_, socket)| socket.inode).collect();
        let owners = self.owners.find(&inodes);
        for (check, socket) in searched {
            check.answer(match owners.get(&socket.inode) {
                Some(SocketOwner::Agent) => Peer::Agent,
                None if socket.user == own_user.as_raw() => Peer::Unknown,
                Some(SocketOwner::Other) | None => Peer::Client,
            });
        }
    }
}

#[cfg(target_os = "linux")]
impl Check {
    fn answer(self, peer: Peer) {
        // The connection may be gone.
        let _ = self.result.send(peer);
    }

    /// Answers a check whose socket was not found on this machine.
    fn answer_by_address(self) {
        let peer = if is_local(self.peer.ip()) { Peer::Unknown } else { Peer::Client };
        self.answer(peer);
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
             process that opened it cannot be examined or is gone; connect from another user, as whom no agent runs \
             programs, or from a process that is not protected"
        }
    };
    Some(Router::new().fallback(move || async move { Problem::new(ProblemKind::ForbiddenAgent, detail) }))
}
