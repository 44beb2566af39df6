//! The writer thread: the only one that writes to the database.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::group_commit::{self, Job, WriteJob};
use crate::notifier::Notifier;
use crate::write::StoreWrite;
use crate::{OpenError, StoreError, StoreStats, wal_checkpoint};

/// Maximum number of writes in one transaction.
const MAX_GROUP_WRITES: usize = 512;

/// Handle of the writer thread. Dropping it waits until all queued writes are done.
pub(crate) struct Writer {
    jobs: Option<mpsc::UnboundedSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    stats: Arc<Mutex<StoreStats>>,
}

impl Writer {
    pub(crate) fn start(mut connection: Connection, file: &Path, notifier: Arc<Notifier>) -> Result<Self, OpenError> {
        let checkpoint_thread = wal_checkpoint::start(&mut connection, file)?;
        let (jobs, queue) = mpsc::unbounded_channel();
        let stats = Arc::new(Mutex::new(StoreStats::default()));
        let thread = thread::Builder::new().name("store-writer".to_owned()).spawn({
            let stats = Arc::clone(&stats);
            move || {
                run_writer(connection, queue, &notifier, &stats);
                if checkpoint_thread.join().is_err() {
                    tracing::error!("the checkpoint thread of the store panicked");
                }
            }
        });
        let thread = thread.map_err(|source| OpenError::Directory { path: file.to_owned(), source })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), stats })
    }

    /// Adds a write to the end of the queue.
    pub(crate) fn send<W: StoreWrite>(&self, write: W, sender: oneshot::Sender<Result<W::Output, StoreError>>) {
        // If the writer is gone, the job is dropped together with its sender, and the caller gets `Closed`.
        if let Some(jobs) = &self.jobs {
            drop(jobs.send(Box::new(WriteJob::new(write, sender))));
        }
    }

    pub(crate) fn stats(&self) -> StoreStats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer thread of the store panicked");
        }
    }
}

fn run_writer(
    mut connection: Connection,
    mut queue: mpsc::UnboundedReceiver<Box<dyn Job>>,
    notifier: &Notifier,
    stats: &Mutex<StoreStats>,
) {
    let mut jobs = Vec::new();
    while queue.blocking_recv_many(&mut jobs, MAX_GROUP_WRITES) > 0 {
        let mut updated = *stats.lock().unwrap_or_else(PoisonError::into_inner);
        group_commit::commit(&mut connection, std::mem::take(&mut jobs), notifier, &mut updated);
        *stats.lock().unwrap_or_else(PoisonError::into_inner) = updated;
    }
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the database was not closed cleanly; it will be recovered when it is opened next");
    }
}
