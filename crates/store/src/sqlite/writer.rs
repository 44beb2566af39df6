//! The writer thread: the only one that writes to the database.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::sqlite::database::OpenDatabase;
use crate::sqlite::group_commit::{self, CommitContext, Job, WriteJob};
use crate::sqlite::log_marker;
use crate::sqlite::publisher::Publisher;
use crate::sqlite::purge::Purge;
use crate::sqlite::search::Indexer;
use crate::sqlite::wal_checkpoint::Checkpoints;
use crate::sqlite::write::StoreWrite;
use crate::uploads::Uploads;
use crate::{OpenError, StoreError, StoreStats};

/// Maximum number of writes in one transaction.
const MAX_GROUP_WRITES: usize = 512;

type Jobs = Receiver<Box<dyn Job>>;

/// Handle of the writer thread. Dropping or closing it waits until all queued writes are done.
pub(crate) struct Writer {
    jobs: Mutex<Option<Sender<Box<dyn Job>>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    stats: Arc<Mutex<StoreStats>>,
}

impl Writer {
    pub(crate) fn start(
        database: OpenDatabase,
        uploads: Uploads,
        publisher: Publisher,
        indexer: Indexer,
    ) -> Result<Self, OpenError> {
        let OpenDatabase { mut connection, file, reserve, had_log } = database;
        let checkpoints = Checkpoints::start(&mut connection, &file)?;
        let open_error = |source| OpenError::Database { path: file.clone(), source };
        let purge = Purge::resume(&connection, uploads, had_log).map_err(open_error)?;
        let (jobs, queue) = mpsc::channel();
        let stats = Arc::new(Mutex::new(StoreStats::default()));
        let thread = thread::Builder::new().name("store-writer".to_owned()).spawn({
            let (stats, file) = (Arc::clone(&stats), file.clone());
            move || {
                let context = CommitContext::new(&publisher, &reserve, &file);
                let mut writer = WriterThread { connection, queue, purge, context };
                writer.run(&stats);
                writer.close(indexer, checkpoints);
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

/// What the thread owns.
struct WriterThread<'a> {
    connection: Connection,
    queue: Jobs,
    purge: Purge,
    context: CommitContext<'a>,
}

impl WriterThread<'_> {
    /// Commits jobs until the queue is closed. Between two commits, it takes the next step to remove deleted data.
    fn run(&mut self, stats: &Mutex<StoreStats>) {
        self.context.reserve.fill();
        while let Some(jobs) = self.next_jobs() {
            if !jobs.is_empty() {
                group_commit::commit(&mut self.connection, jobs, &mut self.context);
                *lock(stats) = self.context.stats;
                if self.context.has_deleted() {
                    self.purge.start();
                } else if std::mem::take(&mut self.context.has_freed_space) {
                    self.purge.start_to_shrink(&self.connection);
                }
            }
            if self.purge.is_due() {
                self.run_purge_step();
            }
        }
    }

    /// Waits for the next jobs; `None` when the queue is closed. Waits only until the next step of the purge is due.
    fn next_jobs(&self) -> Option<Vec<Box<dyn Job>>> {
        let first = match self.purge.delay() {
            None => self.queue.recv().ok()?,
            Some(delay) => match self.queue.recv_timeout(delay) {
                Ok(job) => job,
                Err(RecvTimeoutError::Timeout) => return Some(Vec::new()),
                Err(RecvTimeoutError::Disconnected) => return None,
            },
        };
        let mut jobs = vec![first];
        jobs.extend(self.queue.try_iter().take(MAX_GROUP_WRITES - 1));
        Some(jobs)
    }

    /// Takes the next step of the purge. Callers get their replies when it is done, and also when it fails: then it is
    /// tried again later.
    fn run_purge_step(&mut self) {
        match self.purge.step(&mut self.connection) {
            Err(StoreError::DiskFull(_))
                if self.purge.has_deleted_data() && self.context.make_room(&self.connection, true) =>
            {
                return self.purge.retry_now();
            }
            Err(error) if self.purge.is_done() => tracing::debug!(%error, "cannot shorten the database file"),
            Err(error) => tracing::warn!(%error, "cannot remove deleted data from the files yet; trying again later"),
            Ok(()) if !self.purge.is_done() => return,
            Ok(()) => self.context.reserve.fill(),
        }
        self.context.send_delayed();
    }

    /// Finishes the purge, ends the other threads, and closes the database.
    fn close(mut self, indexer: Indexer, checkpoints: Checkpoints) {
        self.purge.retry_now();
        while self.purge.is_due() {
            self.run_purge_step();
        }
        self.context.send_delayed();
        // They read the database.
        indexer.stop();
        checkpoints.stop();
        match log_marker::end_log(&self.connection, log_marker::CLOSE_TIMEOUT) {
            Ok(true) => {}
            Ok(false) => {
                tracing::warn!("the write-ahead log was not emptied, because the database is still being read");
            }
            Err(error) => tracing::warn!(%error, "cannot empty the write-ahead log; it is needed to open the database"),
        }
        if let Err((_, error)) = self.connection.close() {
            tracing::warn!(%error, "the database was not closed cleanly; it will be recovered when it is opened next");
        }
    }
}
