//! A cursor into a session's log.

use std::time::Duration;

use tokio::time::sleep;

use crate::notifier::{Subscription, Tail};
use crate::{Batch, RawPayloads, ReadLimits, SessionKey, Store, StoreError};

/// Limits of a batch that is taken from memory. Such batches are frequent, and their text is shared.
const BUFFERED_READ_LIMITS: ReadLimits = ReadLimits { max_events: 256, max_bytes: 64 * 1024 };
/// Limits of a batch that is read from the disk, which is also the memory that a slow client costs its server. A batch
/// is larger than a typical append, so that a reader that is behind catches up.
const DISK_READ_LIMITS: ReadLimits = ReadLimits { max_events: 512, max_bytes: 64 * 1024 };

/// Delay before a reader tries again when the database was unavailable.
pub(crate) const UNAVAILABLE_DELAY: Duration = Duration::from_millis(250);

/// A cursor into a session's log.
#[derive(Debug)]
pub struct EventReader {
    store: Store,
    subscription: Subscription,
    session: SessionKey,
    after: u64,
    raw: RawPayloads,
}

impl EventReader {
    pub(crate) fn new(
        store: Store,
        subscription: Subscription,
        session: SessionKey,
        after: u64,
        raw: RawPayloads,
    ) -> Self {
        Self { store, subscription, session, after, raw }
    }

    /// Waits for the next events. Returns `None` when there will be no more: the session has ended and all its events
    /// were returned, or it was deleted.
    ///
    /// Cancel safe: the cursor moves only when events are returned.
    ///
    /// While a shared database is unavailable, it waits too.
    ///
    /// # Errors
    ///
    /// If the database fails. The cursor does not move.
    pub async fn next(&mut self) -> Result<Option<Batch>, StoreError> {
        loop {
            match self.try_next().await {
                Err(StoreError::Unavailable(_)) => sleep(UNAVAILABLE_DELAY).await,
                result => return result,
            }
        }
    }

    async fn try_next(&mut self) -> Result<Option<Batch>, StoreError> {
        loop {
            // The tail may be far ahead of the events in memory.
            let (tail, buffered) = self.subscription.latest(self.after, BUFFERED_READ_LIMITS);
            match tail {
                Tail::Open { last } if last <= self.after => {
                    self.subscription.changed().await?;
                    continue;
                }
                Tail::Ended { last } if last <= self.after => return Ok(None),
                Tail::Deleted => return Ok(None),
                Tail::Open { .. } | Tail::Ended { .. } | Tail::Unknown => {}
            }
            let batch = match buffered {
                // Payloads are not in memory.
                Some(batch) if self.raw == RawPayloads::Omit => batch,
                _ => self.store.read(self.session, self.after, DISK_READ_LIMITS, self.raw).await?,
            };
            if let Some(last) = batch.last_sequence() {
                self.after = last;
                return Ok(Some(batch));
            }
            // No events are stored, and no append has published the tail since this reader started: load it once.
            let tail = self.store.load_tail(self.session).await?;
            self.subscription.publish_tail(tail);
        }
    }

    /// Returns the next events if they are in memory, without waiting and without reading from the disk. `None` does
    /// not mean that there are no more events.
    pub fn next_buffered(&mut self) -> Option<Batch> {
        if self.raw == RawPayloads::Include {
            return None;
        }
        let (_, buffered) = self.subscription.latest(self.after, BUFFERED_READ_LIMITS);
        self.after = buffered.as_ref()?.last_sequence()?;
        buffered
    }

    /// Sequence of the last event that was returned, or that the cursor was started after.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.after
    }
}
