//! Read-only connections, which work while the writer writes.
//!
//! There are two ways to read. A row or two is read on the calling thread: that takes about ten microseconds, while
//! handing the work to another thread and waiting for it takes ten times as long, and longer on a busy machine. Larger
//! reads run on a blocking thread.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::StoreError;
use crate::sqlite::{database, reserve};

/// Maximum number of reads on blocking threads: a thousand readers that wake up together must not start a thousand
/// threads.
const MAX_CONCURRENT_READS: usize = 4;

/// Read-only connections that see durable data. They are opened on first use.
#[derive(Debug)]
pub(crate) struct ReadPool {
    file: PathBuf,
    /// `None` when the pool is closed.
    idle: Arc<IdleConnections>,
    permits: Arc<Semaphore>,
}

type IdleConnections = Mutex<Option<Vec<Connection>>>;

impl ReadPool {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self {
            file,
            idle: Arc::new(Mutex::new(Some(Vec::new()))),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT_READS)),
        }
    }

    /// The file of the database.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Free space on the disk of the database.
    pub(crate) fn free_bytes(&self) -> Result<u64, StoreError> {
        reserve::free_bytes(&self.file).map_err(|error| StoreError::Database(error.to_string()))
    }

    /// Closes the connections. Those that are reading are closed when they have finished.
    pub(crate) fn close(&self) {
        self.permits.close();
        drop(self.idle.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Reads a row or two, on the calling thread if a connection is idle.
    pub(crate) async fn read_row<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Some(connection) = pop_idle(&self.idle) else {
            // Opening a connection takes longer than microseconds.
            return self.read(read).await;
        };
        let result = read(&connection);
        push_idle(&self.idle, connection);
        result
    }

    /// Reads on a blocking thread, which may wait for the disk.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let idle = Arc::clone(&self.idle);
        let file = self.file.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let connection = match pop_idle(&idle) {
                Some(connection) => connection,
                None => database::open_for_reading(&file)?,
            };
            let result = read(&connection);
            push_idle(&idle, connection);
            result
        });
        task.await.map_err(|error| StoreError::Database(error.to_string()))?
    }
}

fn pop_idle(idle: &IdleConnections) -> Option<Connection> {
    idle.lock().unwrap_or_else(PoisonError::into_inner).as_mut()?.pop()
}

fn push_idle(idle: &IdleConnections, connection: Connection) {
    if let Some(idle) = &mut *idle.lock().unwrap_or_else(PoisonError::into_inner) {
        idle.push(connection);
    }
}
