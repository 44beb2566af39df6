//! Leases: which process may append to a session.
//!
//! In a data directory there is one process, and a lease is a formality. In a database that servers share, a session
//! with something to do is owned by one server. A lease has an *epoch*, which every new owner raises. An append under an
//! older epoch is refused, so a server that was paused or cut off can write nothing once another one has taken over.

use tokio::sync::watch;

use crate::SessionKey;

/// The right to append to a session.
#[derive(Clone, Debug)]
pub struct Lease {
    session: SessionKey,
    place: AgentPlace,
    /// `None` in a store of one process.
    shared: Option<SharedLease>,
}

/// A lease of a store that servers share.
#[derive(Clone, Debug)]
struct SharedLease {
    epoch: i64,
    lost: watch::Receiver<bool>,
}

/// Where the agent of a session can run, as seen from this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentPlace {
    /// Here.
    Here,
    /// On another server, which has the session's files or its secret values. What was left open is closed here all the
    /// same.
    Elsewhere,
    /// Nowhere: the server that has the session's files has not been seen for long. Turns fail, with this reason.
    Nowhere(String),
}

/// The answer to a request for a lease.
#[derive(Clone, Debug)]
pub enum Acquired {
    /// This process owns the session now.
    Lease(Lease),
    /// Another server owns the session.
    HeldBy(LeaseHolder),
}

/// A server that owns a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseHolder {
    /// Name of the server.
    pub server: String,
    pub(crate) id: i64,
}

impl Lease {
    /// A lease of a store of one process.
    pub(crate) fn exclusive(session: SessionKey) -> Self {
        Self { session, place: AgentPlace::Here, shared: None }
    }

    /// A lease of a store that servers share. `lost` becomes true when another server has taken over.
    pub(crate) fn shared(session: SessionKey, epoch: i64, place: AgentPlace, lost: watch::Receiver<bool>) -> Self {
        Self { session, place, shared: Some(SharedLease { epoch, lost }) }
    }

    /// The session.
    #[must_use]
    pub fn session(&self) -> SessionKey {
        self.session
    }

    /// Where the session's agent can run.
    #[must_use]
    pub fn place(&self) -> &AgentPlace {
        &self.place
    }

    /// The epoch of a shared lease.
    pub(crate) fn epoch(&self) -> Option<i64> {
        self.shared.as_ref().map(|shared| shared.epoch)
    }

    /// Waits until the lease is lost, as far as this process knows. Appends are refused then. A lease of a store of one
    /// process is never lost.
    pub async fn lost(&mut self) {
        match &mut self.shared {
            // The sender is dropped when the lease is released, or the store is closed.
            Some(shared) => {
                let is_lost = shared.lost.wait_for(|lost| *lost).await.is_ok();
                if !is_lost {
                    std::future::pending::<()>().await;
                }
            }
            None => std::future::pending().await,
        }
    }
}
