//! Telling callers, readers and other servers what has become durable.

use std::sync::{Arc, Mutex, PoisonError};

use crate::notifier::{Notification, Notifier, Tail};
use crate::postgres::append::{AppendJob, Verdict};
use crate::postgres::lease::HeldLeases;
use crate::postgres::outbox::{Outbox, Signal};
use crate::{StoreError, StoreStats};

/// Passes on what the lanes have committed. Cloning it copies pointers.
#[derive(Clone)]
pub(crate) struct Publisher {
    notifier: Arc<Notifier>,
    outbox: Outbox,
    leases: Arc<HeldLeases>,
    stats: Arc<Mutex<StoreStats>>,
}

impl Publisher {
    pub(crate) fn new(notifier: Arc<Notifier>, outbox: Outbox, leases: Arc<HeldLeases>) -> Self {
        Self { notifier, outbox, leases, stats: Arc::default() }
    }

    pub(crate) fn stats(&self) -> StoreStats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the readers of a session here and on other servers what a write has changed.
    pub(crate) fn publish(&self, notification: Notification) {
        let session = notification.session;
        match notification.tail {
            Tail::Open { last } | Tail::Ended { last } => self.outbox.send(Signal::Appended { session, last }),
            Tail::Deleted => {
                self.notifier.global().remove(session);
                self.outbox.send(Signal::Deleted { session });
            }
            Tail::Unknown => {
                self.notifier.global().mark_changed();
                self.outbox.send(Signal::Changed { session });
            }
        }
        self.notifier.notify(notification);
    }

    /// Replies to the callers of a transaction's appends, after telling the readers.
    pub(crate) fn finish_appends(&self, jobs: Vec<AppendJob>, verdicts: Vec<Verdict>) {
        let is_written = |(job, verdict): (&AppendJob, &Verdict)| (*verdict == Verdict::Written).then(|| job.events());
        let events: u64 = jobs.iter().zip(&verdicts).filter_map(is_written).sum();
        {
            let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
            stats.commits += 1;
            stats.events += events;
        }
        for (job, verdict) in jobs.into_iter().zip(verdicts) {
            let result = match verdict {
                Verdict::Written | Verdict::Stored => {
                    if let Some(tail) = job.tail() {
                        let lines = Some(Arc::clone(&job.append.lines));
                        self.publish(Notification { session: job.session, tail, lines });
                    }
                    Ok(())
                }
                Verdict::Refused(error) => {
                    if let (StoreError::LeaseLost, Some(lease)) = (&error, &job.lease) {
                        self.leases.lose(job.session, lease.epoch);
                    }
                    Err(error)
                }
            };
            job.reply(result);
        }
    }

    /// Replies to the callers of appends that the database has refused.
    pub(crate) fn fail_appends(&self, jobs: Vec<AppendJob>, error: &StoreError) {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner).failures += 1;
        for job in jobs {
            job.reply(Err(error.clone()));
        }
    }
}
