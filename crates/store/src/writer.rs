//! The one thread that writes.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::group::{self, Asked, Job};
use crate::job::Write;
use crate::watchers::Watchers;
use crate::{OpenError, StoreError, StoreStats, checkpoint};

/// So many writes are committed together at most.
const TOGETHER: usize = 512;

/// The one thread that writes. Dropping it waits until what was asked for is done.
pub(crate) struct Writer {
    jobs: Option<mpsc::UnboundedSender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    totals: Arc<Mutex<StoreStats>>,
}

impl Writer {
    pub(crate) fn start(mut connection: Connection, file: &Path, watchers: Arc<Watchers>) -> Result<Self, OpenError> {
        let checkpoints = checkpoint::start(&mut connection, file)?;
        let (jobs, queue) = mpsc::unbounded_channel();
        let totals = Arc::new(Mutex::new(StoreStats::default()));
        let thread = thread::Builder::new().name("store-writer".to_owned()).spawn({
            let totals = Arc::clone(&totals);
            move || {
                write(connection, queue, &watchers, &totals);
                if checkpoints.join().is_err() {
                    tracing::error!("the thread that moves the write-ahead log panicked");
                }
            }
        });
        let thread = thread.map_err(|source| OpenError::Directory { path: file.to_owned(), source })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), totals })
    }

    /// Puts a write at the end of the queue.
    pub(crate) fn send<W: Write>(&self, write: W, answer: oneshot::Sender<Result<W::Output, StoreError>>) {
        // Without a writer the job is dropped with its answer's sender, which tells whoever waits.
        if let Some(jobs) = &self.jobs {
            drop(jobs.send(Box::new(Asked::new(write, answer))));
        }
    }

    pub(crate) fn stats(&self) -> StoreStats {
        *self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer panicked");
        }
    }
}

fn write(
    mut connection: Connection,
    mut queue: mpsc::UnboundedReceiver<Box<dyn Job>>,
    watchers: &Watchers,
    totals: &Mutex<StoreStats>,
) {
    let mut jobs = Vec::new();
    while queue.blocking_recv_many(&mut jobs, TOGETHER) > 0 {
        let mut so_far = *totals.lock().unwrap_or_else(PoisonError::into_inner);
        group::commit(&mut connection, std::mem::take(&mut jobs), watchers, &mut so_far);
        *totals.lock().unwrap_or_else(PoisonError::into_inner) = so_far;
    }
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the database was not closed cleanly; it will be put right when it is next opened");
    }
}
