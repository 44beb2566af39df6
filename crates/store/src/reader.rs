//! A cursor into a session's log.

use crate::watchers::{Subscription, Tail};
use crate::{Batch, RawPayloads, ReadLimits, SessionKey, Store, StoreError};

/// How much a reader takes at once of what is at hand: it is taken often, and shared.
const AT_HAND: ReadLimits = ReadLimits { max_events: 256, max_bytes: 64 * 1024 };
/// How much a reader takes at once from the disk: what a slow client makes its server hold. More than is written at a
/// time, so that whoever is behind comes closer.
const FROM_DISK: ReadLimits = ReadLimits { max_events: 512, max_bytes: 64 * 1024 };

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

    /// The next events, as soon as there are any; `None` when there will be none: the session has ended and all of it
    /// is read, or the session was deleted.
    ///
    /// Nothing is lost by dropping the future: the cursor moves when the events are handed over.
    ///
    /// # Errors
    ///
    /// If the database fails. The cursor stays where it is.
    pub async fn next(&mut self) -> Result<Option<Batch>, StoreError> {
        loop {
            // What the session says of itself may be far ahead of what is at hand.
            let (tail, at_hand) = self.subscription.look(self.after, AT_HAND);
            match tail {
                Tail::Open { last } if last <= self.after => {
                    self.subscription.changed().await?;
                    continue;
                }
                Tail::Ended { last } if last <= self.after => return Ok(None),
                Tail::Deleted => return Ok(None),
                Tail::Open { .. } | Tail::Ended { .. } | Tail::Unknown => {}
            }
            let batch = match at_hand {
                // Payloads are not at hand.
                Some(batch) if self.raw == RawPayloads::Omit => batch,
                _ => self.store.read(self.session, self.after, FROM_DISK, self.raw).await?,
            };
            if let Some(last) = batch.last_sequence() {
                self.after = last;
                return Ok(Some(batch));
            }
            // Nothing there, and nobody has written since this reader began: look at the session itself, once.
            let tail = self.store.tail(self.session).await?;
            self.subscription.learn(tail);
        }
    }

    /// The next events, if they need neither be waited for nor read from the disk. `None` says nothing about whether
    /// there are any.
    pub fn next_buffered(&mut self) -> Option<Batch> {
        if self.raw == RawPayloads::Include {
            return None;
        }
        let (_, at_hand) = self.subscription.look(self.after, AT_HAND);
        self.after = at_hand.as_ref()?.last_sequence()?;
        at_hand
    }

    /// The sequence of the last event that was handed over.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.after
    }
}
