//! Options for using a Postgres database as the store.

use std::path::PathBuf;
use std::time::Duration;

use crate::postgres::url::StoreUrl;

/// Number of connections of a process if nothing is said.
const DEFAULT_CONNECTIONS: usize = 10;
/// Connections that have one purpose: signals in both directions, and the heartbeat.
const SPECIAL_CONNECTIONS: usize = 3;
/// Fewest connections with which everything works.
pub(crate) const MIN_CONNECTIONS: usize = 6;
/// How long the leases of a server last after its last heartbeat.
const DEFAULT_LEASE: Duration = Duration::from_secs(10);
/// How long sessions wait for the server that has their files.
const DEFAULT_ABSENCE_LIMIT: Duration = Duration::from_secs(60);

/// Options for using a Postgres database as the store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PostgresOptions {
    pub(crate) url: StoreUrl,
    /// Directory of this process: uploaded files, and the id of the server.
    pub(crate) data_dir: PathBuf,
    pub(crate) max_session_bytes: Option<u64>,
    pub(crate) max_store_bytes: Option<u64>,
    pub(crate) connections: usize,
    pub(crate) server: Option<ServerIdentity>,
    pub(crate) lease: Duration,
    pub(crate) absence_limit: Duration,
    pub(crate) is_fenced: bool,
    pub(crate) is_deaf: bool,
}

/// What a server is for the others that share its store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerIdentity {
    /// Name of the server. Sessions whose files are on its host name it as their placement.
    pub name: String,
    /// Identity of the home of agents that it shares with other servers, if it does.
    pub home: Option<String>,
}

impl ServerIdentity {
    /// A server with a home of its own.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), home: None }
    }

    interlingua_schema::setters! {
        pub home: Option<String>,
    }
}

impl PostgresOptions {
    /// Uses the database at this address. `data_dir` is a directory of this process.
    #[must_use]
    pub fn new(url: StoreUrl, data_dir: impl Into<PathBuf>) -> Self {
        Self {
            url,
            data_dir: data_dir.into(),
            max_session_bytes: None,
            max_store_bytes: None,
            connections: DEFAULT_CONNECTIONS,
            server: None,
            lease: DEFAULT_LEASE,
            absence_limit: DEFAULT_ABSENCE_LIMIT,
            is_fenced: true,
            is_deaf: false,
        }
    }

    /// Sets the maximum number of stored bytes of a session.
    #[must_use]
    pub fn max_session_bytes(mut self, bytes: Option<u64>) -> Self {
        self.max_session_bytes = bytes;
        self
    }

    /// Sets the maximum size of the store's tables.
    #[must_use]
    pub fn max_store_bytes(mut self, bytes: Option<u64>) -> Self {
        self.max_store_bytes = bytes;
        self
    }

    /// Sets the maximum number of connections, 6 at least.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(MIN_CONNECTIONS);
        self
    }

    /// Makes the process a server that owns sessions. Without it, sessions can be read, and changed while they have no
    /// owner.
    #[must_use]
    pub fn server(mut self, server: ServerIdentity) -> Self {
        self.server = Some(server);
        self
    }

    /// Sets how long the leases of a server last after its last heartbeat.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self
    }

    /// Sets how long sessions wait for the server that has their files, before their turns fail.
    #[must_use]
    pub fn absence_limit(mut self, limit: Duration) -> Self {
        self.absence_limit = limit;
        self
    }

    /// Accepts appends whatever their lease and sequence: for a test that shows what fencing prevents.
    #[doc(hidden)]
    #[must_use]
    pub fn without_fencing(mut self) -> Self {
        self.is_fenced = false;
        self
    }

    /// Drops all signals of other servers: for a test that shows that they cost time only.
    #[doc(hidden)]
    #[must_use]
    pub fn without_signals(mut self) -> Self {
        self.is_deaf = true;
        self
    }

    /// Number of connections for appends, and for everything else.
    pub(crate) fn lanes_and_pool(&self) -> (usize, usize) {
        let shared = self.connections.max(MIN_CONNECTIONS) - SPECIAL_CONNECTIONS;
        let lanes = (shared / 3).max(1);
        (lanes, shared - lanes)
    }
}
