//! The connections for reading and for writes that are not appends. Their number is bounded.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::StoreError;
use crate::postgres::connection::{Connector, DbClient};

/// How long a request waits for a free connection.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the pool refuses requests at once after it could not connect, so that they do not pile up behind attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Connections that are made when they are needed and kept.
pub(crate) struct Pool {
    connector: Arc<Connector>,
    idle: Mutex<Vec<Arc<DbClient>>>,
    permits: Arc<Semaphore>,
    /// When connecting failed last, and why.
    failure: Mutex<Option<(Instant, StoreError)>>,
}

/// A connection of the pool. It returns to the pool when it is dropped, unless it is closed or in a transaction.
pub(crate) struct PooledClient {
    client: Arc<DbClient>,
    pool: Arc<Pool>,
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    pub(crate) fn new(connector: Arc<Connector>, size: usize) -> Self {
        Self { connector, idle: Mutex::default(), permits: Arc::new(Semaphore::new(size)), failure: Mutex::default() }
    }

    /// A free connection.
    pub(crate) async fn client(self: &Arc<Self>) -> Result<PooledClient, StoreError> {
        let waiting = timeout(WAIT_TIMEOUT, Arc::clone(&self.permits).acquire_owned());
        let permit = waiting.await.map_err(|_| {
            StoreError::Unavailable("all connections to the database are in use; raise --store-connections".to_owned())
        })?;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        let idle = lock(&self.idle).pop().filter(|client| !client.is_closed());
        let client = match idle {
            Some(client) => client,
            None => Arc::new(self.connect().await?),
        };
        Ok(PooledClient { client, pool: Arc::clone(self), _permit: permit })
    }

    async fn connect(&self) -> Result<DbClient, StoreError> {
        if let Some((at, error)) = &*lock(&self.failure)
            && at.elapsed() < RETRY_INTERVAL
        {
            return Err(error.clone());
        }
        match self.connector.connect().await {
            Ok(client) => {
                lock(&self.failure).take();
                Ok(client)
            }
            Err(error) => {
                // Also after an error that stays, such as a password that was changed: what is stored is intact.
                let error = match StoreError::from(error) {
                    StoreError::Database(reason) => StoreError::Unavailable(reason),
                    error => error,
                };
                *lock(&self.failure) = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }

    fn discard_idle(&self) {
        lock(&self.idle).clear();
    }

    /// Refuses requests from now on, and closes the connections.
    pub(crate) fn close(&self) {
        self.permits.close();
        self.discard_idle();
    }
}

impl Deref for PooledClient {
    type Target = DbClient;

    fn deref(&self) -> &DbClient {
        &self.client
    }
}

impl Drop for PooledClient {
    fn drop(&mut self) {
        if self.client.is_idle() && !self.pool.permits.is_closed() {
            lock(&self.pool.idle).push(Arc::clone(&self.client));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
