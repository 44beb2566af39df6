//! The writer thread: the only one that writes to the database.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::sqlite::database::OpenDatabase;
use crate::sqlite::group_commit::{self, CommitContext, Job, WriteJob};
use crate::sqlite::publisher::Publisher;
use crate::sqlite::purge::Purge;
use crate::sqlite::search::Indexer;
use crate::sqlite::write::StoreWrite;
use crate::sqlite::{log_marker, wal_checkpoint};
use crate::{OpenError, StoreError, StoreStats};

/// Maximum number of writes in one transaction.
const MAX_GROUP_WRITES: usize = 512;

type Jobs = mpsc::UnboundedReceiver<Box<dyn Job>>;

/// Handle of the writer thread. Dropping or closing it waits until all queued writes are done.
pub(crate) struct Writer {
    jobs: Mutex<Option<mpsc::UnboundedSender<Box<dyn Job>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    stats: Arc<Mutex<StoreStats>>,
}

impl Writer {
    pub(crate) fn start(database: OpenDatabase, publisher: Publisher, indexer: Indexer) -> Result<Self, OpenError> {
        let OpenDatabase { mut connection, file, reserve } = database;
        let checkpoint_thread = wal_checkpoint::start(&mut connection, &file, reserve.is_released())?;
        let purge = Purge::resume(&connection).map_err(|source| OpenError::Database { path: file.clone(), source })?;
        let (jobs, queue) = mpsc::unbounded_channel();
        let stats = Arc::new(Mutex::new(StoreStats::default()));
        let thread = thread::Builder::new().name("store-writer".to_owned()).spawn({
            let stats = Arc::clone(&stats);
            move || {
                let context = CommitContext {
                    publisher: &publisher,
                    reserve: &reserve,
                    stats: StoreStats::default(),
                    delayed: Vec::new(),
                };
                run_writer(connection, queue, purge, context, indexer, &stats);
                if checkpoint_thread.join().is_err() {
                    tracing::error!("the checkpoint thread of the store panicked");
                }
            }
        });
        let thread = thread.map_err(|source| OpenError::Directory { path: file, source })?;
        Ok(Self { jobs: Mutex::new(Some(jobs)), thread: Mutex::new(Some(thread)), stats })
    }

    /// Adds a write to the end of the queue.
    pub(crate) fn send<W: StoreWrite>(&self, write: W, sender: oneshot::Sender<Result<W::Output, StoreError>>) {
        // If the writer is gone, the job is dropped together with its sender, and the caller gets `Closed`.
        if let Some(jobs) = &*lock(&self.jobs) {
            drop(jobs.send(Box::new(WriteJob::new(write, sender))));
        }
    }

    pub(crate) fn stats(&self) -> StoreStats {
        *lock(&self.stats)
    }

    /// Waits until all queued writes are done and the database is closed. Later writes are refused.
    pub(crate) fn close(&self) {
        drop(lock(&self.jobs).take());
        let thread = lock(&self.thread).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the writer thread of the store panicked");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Commits jobs until the queue is closed. Between two commits, it takes the next step to remove deleted data.
fn run_writer(
    mut connection: Connection,
    mut queue: Jobs,
    mut purge: Purge,
    mut context: CommitContext<'_>,
    indexer: Indexer,
    stats: &Mutex<StoreStats>,
) {
    context.reserve.fill();
    while let Some(jobs) = next_jobs(&mut queue, &purge) {
        if !jobs.is_empty() {
            group_commit::commit(&mut connection, jobs, &mut context);
            *lock(stats) = context.stats;
            if context.has_deleted() {
                purge.start();
            }
        }
        if purge.delay().is_some_and(|delay| delay.is_zero()) {
            run_purge_step(&mut connection, &mut purge, &mut context);
        }
    }
    while purge.delay().is_some_and(|delay| delay.is_zero()) {
        run_purge_step(&mut connection, &mut purge, &mut context);
    }
    context.send_delayed();
    // It reads the database.
    indexer.stop();
    match log_marker::end_log(&connection, log_marker::CLOSE_TIMEOUT) {
        Ok(true) => {}
        Ok(false) => tracing::warn!("the write-ahead log was not emptied, because the database is still being read"),
        Err(error) => tracing::warn!(%error, "cannot empty the write-ahead log; it is needed to open the database"),
    }
    if let Err((_, error)) = connection.close() {
        tracing::warn!(%error, "the database was not closed cleanly; it will be recovered when it is opened next");
    }
}

/// Waits for the next jobs; `None` when the queue is closed. Does not wait while there is deleted data to remove.
fn next_jobs(queue: &mut Jobs, purge: &Purge) -> Option<Vec<Box<dyn Job>>> {
    let mut jobs = Vec::new();
    if !purge.delay().is_some_and(|delay| delay.is_zero()) {
        return (queue.blocking_recv_many(&mut jobs, MAX_GROUP_WRITES) > 0).then_some(jobs);
    }
    while jobs.len() < MAX_GROUP_WRITES {
        match queue.try_recv() {
            Ok(job) => jobs.push(job),
            Err(mpsc::error::TryRecvError::Disconnected) if jobs.is_empty() => return None,
            Err(_) => break,
        }
    }
    Some(jobs)
}

fn run_purge_step(connection: &mut Connection, purge: &mut Purge, context: &mut CommitContext<'_>) {
    let result = purge.step(connection);
    match result {
        Err(StoreError::DiskFull(_)) if context.reserve.release() => return purge.retry_now(),
        Err(error) => tracing::warn!(%error, "cannot remove deleted data from the database yet; trying again later"),
        Ok(()) if !purge.is_done() => return,
        Ok(()) => context.reserve.fill(),
    }
    context.send_delayed();
}
