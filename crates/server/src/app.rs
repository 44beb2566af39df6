//! State that is shared by all handlers.

use std::sync::Arc;

use interlingua_runtime::Runtime;
use interlingua_schema::SessionId;
use interlingua_store::{Session, Store};
use tokio::sync::{Semaphore, watch};

use crate::ServerConfig;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::request_body::LARGE_BODIES_KIB;

/// State that is shared by all handlers. Cloning it copies a pointer.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

struct Shared {
    config: ServerConfig,
    runtime: Runtime,
    store: Store,
    metrics: Arc<Metrics>,
    closing: watch::Receiver<bool>,
    large_bodies: Semaphore,
}

impl App {
    pub(crate) fn new(config: ServerConfig, runtime: Runtime, store: Store, closing: watch::Receiver<bool>) -> Self {
        Self(Arc::new(Shared {
            config,
            runtime,
            store,
            metrics: Arc::default(),
            closing,
            large_bodies: Semaphore::new(LARGE_BODIES_KIB),
        }))
    }

    pub(crate) fn config(&self) -> &ServerConfig {
        &self.0.config
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.0.runtime
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.store
    }

    pub(crate) fn metrics(&self) -> &Arc<Metrics> {
        &self.0.metrics
    }

    /// Permits for the memory that large request bodies take, one per KiB.
    pub(crate) fn large_bodies(&self) -> &Semaphore {
        &self.0.large_bodies
    }

    /// Becomes true when the server shuts down.
    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.0.closing.clone()
    }

    /// Loads a session; a problem document if it does not exist.
    pub(crate) async fn session(&self, id: &SessionId) -> Result<Session, Problem> {
        self.store().session(id).await?.ok_or_else(|| Problem::session_not_found(id))
    }
}
