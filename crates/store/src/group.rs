//! Writes that are committed together.

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::job::Write;
use crate::watchers::Watchers;
use crate::{StoreError, StoreStats};

/// A write whose asker waits for an answer.
pub(crate) trait Job: Send {
    /// Makes the change. An error is about the transaction: the database failed. A refusal is kept for the answer.
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError>;

    /// Answers: what came of it, or why the transaction failed. Readers hear of it first.
    fn answer(self: Box<Self>, failure: Option<&StoreError>, watchers: &Watchers);

    /// How many events are durable once it is.
    fn events(&self) -> usize;
}

pub(crate) struct Asked<W: Write> {
    write: W,
    outcome: Result<W::Output, StoreError>,
    answer: oneshot::Sender<Result<W::Output, StoreError>>,
}

impl<W: Write> Asked<W> {
    pub(crate) fn new(write: W, answer: oneshot::Sender<Result<W::Output, StoreError>>) -> Self {
        Self { write, outcome: Err(StoreError::Closed), answer }
    }
}

impl<W: Write> Job for Asked<W> {
    fn run(&mut self, connection: &Connection) -> Result<(), StoreError> {
        self.outcome = self.write.run(connection);
        match &self.outcome {
            Err(error @ (StoreError::DiskFull(_) | StoreError::Database(_))) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    fn answer(self: Box<Self>, failure: Option<&StoreError>, watchers: &Watchers) {
        let outcome = match failure {
            Some(error) => Err(error.clone()),
            None => self.outcome,
        };
        if let (Ok(_), Some((session, tail, recent))) = (&outcome, self.write.news()) {
            watchers.tell(session, tail, recent);
        }
        // Whoever asked may have stopped waiting; the write is made all the same.
        drop(self.answer.send(outcome));
    }

    fn events(&self) -> usize {
        if self.outcome.is_ok() { self.write.events() } else { 0 }
    }
}

/// Commits all of these in one transaction and answers them. If that fails, each gets a transaction of its own, so
/// that one which is too large for the disk does not take the others with it.
pub(crate) fn commit(
    connection: &mut Connection,
    mut jobs: Vec<Box<dyn Job>>,
    watchers: &Watchers,
    totals: &mut StoreStats,
) {
    match attempt(connection, &mut jobs) {
        Ok(()) => {
            totals.commits += 1;
            totals.events += jobs.iter().map(|job| job.events() as u64).sum::<u64>();
            for job in jobs {
                job.answer(None, watchers);
            }
        }
        Err(_) if jobs.len() > 1 => {
            for job in jobs {
                commit(connection, vec![job], watchers, totals);
            }
        }
        Err(error) => {
            totals.failures += 1;
            tracing::error!(%error, "the store refuses to write");
            for job in jobs {
                job.answer(Some(&error), watchers);
            }
        }
    }
}

fn attempt(connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
    // Dropped without a commit, a transaction is rolled back.
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    for job in jobs {
        job.run(&transaction)?;
    }
    Ok(transaction.commit()?)
}
