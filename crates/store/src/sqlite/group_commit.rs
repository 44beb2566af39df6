//! Committing several writes in one transaction.

use std::path::Path;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::sqlite::publisher::Publisher;
use crate::sqlite::reserve::Reserve;
use crate::sqlite::wal_checkpoint;
use crate::sqlite::write::StoreWrite;
use crate::{StoreError, StoreStats};

/// Sends the result of a write that waits for the removal of its deleted data.
pub(crate) type DelayedReply = Box<dyn FnOnce() + Send>;

/// A write in the writer's queue, whatever its type.
pub(crate) trait Job: Send {
    /// Executes the write. An error means that the database failed and the transaction must be rolled back. A refusal
    /// of this write alone is kept for its result.
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError>;

    /// Notifies readers, then sends the result to the caller: that of the write, or `failure` if the transaction failed.
    /// Returns the reply if the caller has to wait until deleted data is removed.
    fn complete(self: Box<Self>, failure: Option<&StoreError>, publisher: &Publisher) -> Option<DelayedReply>;

    /// Number of events that the write appended.
    fn appended_events(&self) -> usize;

    /// Whether the write may use reserved space.
    fn is_essential(&self) -> bool;

    /// Whether the write deletes data, and may use the space that is reserved for that.
    fn deletes_data(&self) -> bool;

    /// Whether the write succeeded and removed text from the queue.
    fn frees_space(&self) -> bool;
}

/// A write together with the caller that waits for its result.
pub(crate) struct WriteJob<W: StoreWrite> {
    write: W,
    result: Result<W::Output, StoreError>,
    sender: oneshot::Sender<Result<W::Output, StoreError>>,
}

impl<W: StoreWrite> WriteJob<W> {
    pub(crate) fn new(write: W, sender: oneshot::Sender<Result<W::Output, StoreError>>) -> Self {
        Self { write, result: Err(StoreError::Closed), sender }
    }
}

impl<W: StoreWrite> Job for WriteJob<W> {
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError> {
        self.result = self.write.run(connection);
        match &self.result {
            Err(error @ (StoreError::DiskFull(_) | StoreError::Database(_))) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn complete(self: Box<Self>, failure: Option<&StoreError>, publisher: &Publisher) -> Option<DelayedReply> {
        let result = match failure {
            Some(error) => Err(error.clone()),
            None => self.result,
        };
        if let (Ok(_), Some(notification)) = (&result, self.write.notification()) {
            publisher.publish(notification, self.write.append_number());
        }
        let (sender, is_delayed) = (self.sender, result.is_ok() && self.write.deletes_data());
        // The caller may have stopped waiting; the write is durable all the same.
        let reply = move || drop(sender.send(result));
        if is_delayed {
            return Some(Box::new(reply));
        }
        reply();
        None
    }

    fn appended_events(&self) -> usize {
        if self.result.is_ok() { self.write.appended_events() } else { 0 }
    }

    fn is_essential(&self) -> bool {
        self.write.is_essential()
    }

    fn deletes_data(&self) -> bool {
        self.write.deletes_data()
    }

    fn frees_space(&self) -> bool {
        self.result.is_ok() && self.write.frees_space()
    }
}

/// What a commit needs besides the database.
pub(crate) struct CommitContext<'a> {
    pub(crate) publisher: &'a Publisher,
    pub(crate) reserve: &'a Reserve,
    /// The database file.
    file: &'a Path,
    pub(crate) stats: StoreStats,
    /// Replies of writes that deleted data.
    delayed: Vec<DelayedReply>,
    /// Whether text was removed from the queue.
    pub(crate) has_freed_space: bool,
    /// Number of commits when the log was last restarted to make room.
    restarted_after: Option<u64>,
}

/// Commits all jobs in one transaction and completes them. If the transaction fails, each job gets its own transaction,
/// so that a write that is too large for the disk does not fail the others.
pub(crate) fn commit(connection: &mut Connection, mut jobs: Vec<Box<dyn Job>>, context: &mut CommitContext<'_>) {
    if context.reserve.is_in_use() {
        jobs = context.refuse_unessential(jobs);
    }
    if jobs.is_empty() {
        return;
    }
    match run_transaction(connection, &mut jobs) {
        Ok(()) => {
            context.stats.commits += 1;
            context.stats.events += jobs.iter().map(|job| job.appended_events() as u64).sum::<u64>();
            context.complete(jobs, None);
        }
        Err(_) if jobs.len() > 1 => {
            for job in jobs {
                commit(connection, vec![job], context);
            }
        }
        Err(StoreError::DiskFull(_))
            if jobs.iter().all(|job| job.is_essential())
                && context.make_room(connection, jobs.iter().all(|job| job.deletes_data())) =>
        {
            commit(connection, jobs, context);
        }
        Err(error) => {
            context.stats.failures += 1;
            tracing::error!(%error, "cannot write to the database");
            context.complete(jobs, Some(&error));
        }
    }
}

impl<'a> CommitContext<'a> {
    pub(crate) fn new(publisher: &'a Publisher, reserve: &'a Reserve, file: &'a Path) -> Self {
        let (stats, delayed) = (StoreStats::default(), Vec::new());
        Self { publisher, reserve, file, stats, delayed, has_freed_space: false, restarted_after: None }
    }

    /// Makes room for an essential write on a full disk. False if nothing could be done since the last commit.
    ///
    /// Space in the log comes first: its beginning can be written again once its content is in the database file. That
    /// lasts longer than space that the log grows into.
    pub(crate) fn make_room(&mut self, connection: &Connection, is_deletion: bool) -> bool {
        let is_new = self.restarted_after.replace(self.stats.commits) != Some(self.stats.commits);
        if is_new && self.restart_log(connection) {
            return true;
        }
        let is_released = self.reserve.release(is_deletion);
        if is_released {
            // Before the log takes the space: the database file has to grow for that by less than the log has.
            self.restart_log(connection);
        }
        is_released
    }

    fn restart_log(&self, connection: &Connection) -> bool {
        wal_checkpoint::restart_log(connection, self.file).unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot restart the write-ahead log on a full disk");
            false
        })
    }

    /// Refuses the writes that may not use reserved space, and returns the others.
    fn refuse_unessential(&mut self, jobs: Vec<Box<dyn Job>>) -> Vec<Box<dyn Job>> {
        let (essential, refused): (Vec<_>, Vec<_>) = jobs.into_iter().partition(|job| job.is_essential());
        if !refused.is_empty() {
            let reason = "the space that is left is reserved for ending and deleting sessions".to_owned();
            self.stats.failures += refused.len() as u64;
            self.complete(refused, Some(&StoreError::DiskFull(reason)));
        }
        essential
    }

    /// Whether deleted data has to be removed before callers get their replies.
    pub(crate) fn has_deleted(&self) -> bool {
        !self.delayed.is_empty()
    }

    /// Replies to the callers that wait for the removal of deleted data, once it is removed from the search index too.
    pub(crate) fn send_delayed(&mut self) {
        if self.has_deleted() {
            self.publisher.indexer().reply_after_removal(std::mem::take(&mut self.delayed));
        }
    }

    fn complete(&mut self, jobs: Vec<Box<dyn Job>>, failure: Option<&StoreError>) {
        self.has_freed_space |= failure.is_none() && jobs.iter().any(|job| job.frees_space());
        let delayed = jobs.into_iter().filter_map(|job| job.complete(failure, self.publisher));
        self.delayed.extend(delayed);
    }
}

fn run_transaction(connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    // A transaction that is dropped without a commit is rolled back.
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for job in jobs {
        job.run(&transaction)?;
    }
    Ok(transaction.commit()?)
}
