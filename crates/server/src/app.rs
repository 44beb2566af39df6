//! State that is shared by all handlers.

use std::sync::Arc;

use interlingua_runtime::Runtime;
use interlingua_schema::SessionId;
use interlingua_store::{Session, Store};
use tokio::sync::watch;

use crate::body_room::BodyMemory;
use crate::config::{ServerConfig, SharedConfig};
use crate::history_jobs::HistoryJobs;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::ready::CachedProbe;

/// State that is shared by all handlers. Cloning it copies a pointer.
#[derive(Clone)]
pub(crate) struct App(Arc<Shared>);

struct Shared {
    config: SharedConfig,
    runtime: Runtime,
    store: Store,
    metrics: Arc<Metrics>,
    closing: watch::Receiver<bool>,
    body_memory: BodyMemory,
    store_probe: CachedProbe,
    history: HistoryJobs,
}

impl App {
    pub(crate) fn new(config: SharedConfig, runtime: Runtime, store: Store, closing: watch::Receiver<bool>) -> Self {
        let history = HistoryJobs::new(store.clone(), &runtime, config.load().history_folders.clone(), closing.clone());
        Self(Arc::new(Shared {
            config,
            runtime,
            store,
            metrics: Arc::default(),
            closing,
            body_memory: BodyMemory::default(),
            store_probe: CachedProbe::default(),
            history,
        }))
    }

    /// The current configuration.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.0.config.load()
    }

    /// Learns when the configuration is replaced.
    pub(crate) fn subscribe_config(&self) -> watch::Receiver<Arc<ServerConfig>> {
        self.0.config.subscribe()
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

    /// The memory for large request bodies.
    pub(crate) fn body_memory(&self) -> &BodyMemory {
        &self.0.body_memory
    }

    /// The state of the store, for `/v1/ready`.
    pub(crate) fn store_probe(&self) -> &CachedProbe {
        &self.0.store_probe
    }

    /// Lists and imports of the sessions on disk.
    pub(crate) fn history(&self) -> &HistoryJobs {
        &self.0.history
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
