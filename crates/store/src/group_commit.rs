//! Committing several writes in one transaction.

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::notifier::Notifier;
use crate::write::StoreWrite;
use crate::{StoreError, StoreStats};

/// A write in the writer's queue, whatever its type.
pub(crate) trait Job: Send {
    /// Executes the write. An error means that the database failed and the transaction must be rolled back. A refusal
    /// of this write alone is kept for its result.
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError>;

    /// Sends the result to the caller: that of the write, or `failure` if the transaction failed. Notifies readers
    /// first.
    fn complete(self: Box<Self>, failure: Option<&StoreError>, notifier: &Notifier);

    /// Number of events that the write appended.
    fn appended_events(&self) -> usize;
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

    fn complete(self: Box<Self>, failure: Option<&StoreError>, notifier: &Notifier) {
        let result = match failure {
            Some(error) => Err(error.clone()),
            None => self.result,
        };
        if let (Ok(_), Some(notification)) = (&result, self.write.notification()) {
            notifier.notify(notification);
        }
        // The caller may have stopped waiting; the write is durable all the same.
        drop(self.sender.send(result));
    }

    fn appended_events(&self) -> usize {
        if self.result.is_ok() { self.write.appended_events() } else { 0 }
    }
}

/// Commits all jobs in one transaction and completes them. If the transaction fails, each job gets its own transaction,
/// so that a write that is too large for the disk does not fail the others.
pub(crate) fn commit(
    connection: &mut Connection,
    mut jobs: Vec<Box<dyn Job>>,
    notifier: &Notifier,
    stats: &mut StoreStats,
) {
    match run_transaction(connection, &mut jobs) {
        Ok(()) => {
            stats.commits += 1;
            stats.events += jobs.iter().map(|job| job.appended_events() as u64).sum::<u64>();
            for job in jobs {
                job.complete(None, notifier);
            }
        }
        Err(_) if jobs.len() > 1 => {
            for job in jobs {
                commit(connection, vec![job], notifier, stats);
            }
        }
        Err(error) => {
            stats.failures += 1;
            tracing::error!(%error, "cannot write to the database");
            for job in jobs {
                job.complete(Some(&error), notifier);
            }
        }
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
