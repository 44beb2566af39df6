//! Reading beside the writer.
//!
//! There are two ways to read. What is a row or two is looked up at once, on the thread that asks: that takes some ten
//! microseconds, where handing it to another thread and waiting to be woken takes ten times as long, and longer still on
//! a machine that is busy. What may be much is read on a thread that may wait.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::{StoreError, database};

/// So many reads at a time: a thousand readers that wake at once must not become a thousand threads.
const AT_ONCE: usize = 4;

/// Connections that read what is durable, opened when they are first needed.
#[derive(Debug)]
pub(crate) struct Pool {
    file: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl Pool {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self { file, idle: Arc::default(), permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Looks up a row or two, at once if a connection is idle.
    pub(crate) async fn look_up<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Some(connection) = take(&self.idle) else {
            // Opening one is not a matter of microseconds.
            return self.run(read).await;
        };
        let outcome = read(&connection);
        give_back(&self.idle, connection);
        outcome
    }

    /// Reads, on a thread that may wait for the disk.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let idle = Arc::clone(&self.idle);
        let file = self.file.clone();
        let reading = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let connection = match take(&idle) {
                Some(connection) => connection,
                None => database::open_for_reading(&file)?,
            };
            let outcome = read(&connection);
            give_back(&idle, connection);
            outcome
        });
        reading.await.map_err(|error| StoreError::Database(error.to_string()))?
    }
}

fn take(idle: &Mutex<Vec<Connection>>) -> Option<Connection> {
    idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
}

fn give_back(idle: &Mutex<Vec<Connection>>, connection: Connection) {
    idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
}
