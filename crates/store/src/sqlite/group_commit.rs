//! Committing several writes in one transaction.

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::sqlite::publisher::Publisher;
use crate::sqlite::reserve::Reserve;
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
            publisher.publish(notification);
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
}

/// What a commit needs besides the database.
pub(crate) struct CommitContext<'a> {
    pub(crate) publisher: &'a Publisher,
    pub(crate) reserve: &'a Reserve,
    pub(crate) stats: StoreStats,
    /// Replies of writes that deleted data.
    pub(crate) delayed: Vec<DelayedReply>,
}

/// Commits all jobs in one transaction and completes them. If the transaction fails, each job gets its own transaction,
/// so that a write that is too large for the disk does not fail the others.
pub(crate) fn commit(connection: &mut Connection, mut jobs: Vec<Box<dyn Job>>, context: &mut CommitContext<'_>) {
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
        Err(StoreError::DiskFull(_)) if jobs.iter().all(|job| job.is_essential()) && context.reserve.release() => {
            commit(connection, jobs, context);
        }
        Err(error) => {
            context.stats.failures += 1;
            tracing::error!(%error, "cannot write to the database");
            context.complete(jobs, Some(&error));
        }
    }
}

impl CommitContext<'_> {
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
