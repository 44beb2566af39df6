//! A cursor into the events of many sessions.

use std::collections::BTreeMap;

use tokio::time::sleep;

use crate::global_cursor::{GlobalCursor, Position};
use crate::global_feed::{FeedRead, FeedSubscription, Run};
use crate::reader::UNAVAILABLE_DELAY;
use crate::store::StoredEvents;
use crate::{RawPayloads, ReadLimits, SessionFilter, SessionKey, Store, StoreError};

/// Limits of what is returned at once.
const READ_LIMITS: ReadLimits = ReadLimits { max_events: 512, max_bytes: 64 * 1024 };

/// Where a reader of many sessions starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GlobalStart {
    /// Before the first stored event.
    #[default]
    Beginning,
    /// After the last stored event.
    End,
    /// After a cursor.
    After(GlobalCursor),
}

/// Events of one or more sessions, in the order in which they were stored.
#[derive(Clone, Debug, Default)]
pub struct GlobalBatch {
    store_id: u32,
    runs: Vec<Run>,
}

impl GlobalBatch {
    /// The cursor after each event, and its JSON text.
    pub fn iter(&self) -> impl Iterator<Item = (GlobalCursor, &str)> {
        self.runs.iter().flat_map(move |run| {
            run.events.iter().map(move |(sequence, json)| {
                let position = Position { append: run.append, session: run.session, sequence };
                (GlobalCursor { store_id: self.store_id, position }, json)
            })
        })
    }

    /// Number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.iter().map(|run| run.events.len()).sum()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Size of the events in bytes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.runs.iter().map(|run| run.events.byte_len()).sum()
    }
}

/// A cursor into the events of many sessions. Each event is returned once, those of a session in the order of their
/// sequences. A session whose labels change joins or leaves the reader with its next events.
///
/// A reader that keeps up shares the last appends in memory with the others. One that is behind, and every reader of
/// native payloads, reads from the disk.
#[derive(Debug)]
pub struct GlobalReader {
    store: Store,
    store_id: u32,
    subscription: FeedSubscription,
    filter: SessionFilter,
    raw: RawPayloads,
    position: Position,
    /// Stored events that are being read, and the position after the last append that was durable before they were
    /// looked up.
    stored: Option<(StoredEvents, Position)>,
    /// Whether sessions pass the filter, as far as it is known; the number of changes of sessions when it was read.
    passing: BTreeMap<SessionKey, bool>,
    changes: u64,
}

impl GlobalReader {
    pub(crate) fn new(
        store: Store,
        store_id: u32,
        (subscription, end): (FeedSubscription, Position),
        start: GlobalStart,
        filter: SessionFilter,
        raw: RawPayloads,
    ) -> Self {
        let position = match start {
            GlobalStart::Beginning => Position::START,
            GlobalStart::End => end,
            GlobalStart::After(cursor) => cursor.position,
        };
        Self {
            store,
            store_id,
            subscription,
            filter,
            raw,
            position,
            stored: None,
            passing: BTreeMap::new(),
            changes: 0,
        }
    }

    /// The cursor after everything that was returned or filtered out so far.
    #[must_use]
    pub fn cursor(&self) -> GlobalCursor {
        GlobalCursor { store_id: self.store_id, position: self.position }
    }

    /// Waits for the next events.
    ///
    /// Cancel safe: the cursor moves only when events are returned or filtered out.
    ///
    /// While a shared database is unavailable, it waits too.
    ///
    /// # Errors
    ///
    /// If the database fails or is closed. The cursor does not move.
    pub async fn next(&mut self) -> Result<GlobalBatch, StoreError> {
        loop {
            match self.try_next().await {
                Err(StoreError::Unavailable(_)) => sleep(UNAVAILABLE_DELAY).await,
                result => return result,
            }
        }
    }

    async fn try_next(&mut self) -> Result<GlobalBatch, StoreError> {
        loop {
            let runs = match self.stored.take() {
                Some((stored, durable)) => self.read_stored(stored, durable).await?,
                None => match self.subscription.after(self.position, READ_LIMITS) {
                    FeedRead::Behind => {
                        let durable = self.subscription.end();
                        self.stored = Some((self.store.load_stored(&self.filter, self.position).await?, durable));
                        continue;
                    }
                    FeedRead::Runs(runs, _) if runs.is_empty() => {
                        self.subscription.changed().await?;
                        continue;
                    }
                    FeedRead::Runs(runs, changes) => self.filter_recent(runs, changes).await?,
                },
            };
            if !runs.is_empty() {
                return Ok(GlobalBatch { store_id: self.store_id, runs });
            }
        }
    }

    /// Reads the next stored events, and moves the cursor; at their end past the appends that were filtered out.
    async fn read_stored(&mut self, stored: StoredEvents, durable: Position) -> Result<Vec<Run>, StoreError> {
        let (stored, runs) = self.store.read_stored(stored, READ_LIMITS, self.raw).await?;
        let last = runs.last().and_then(|run| Some((run, run.events.last_sequence()?)));
        self.position = match last {
            Some((run, sequence)) => Position { append: run.append, session: run.session, sequence },
            None => self.position.max(stored.end(durable)),
        };
        self.stored = last.map(|_| (stored, durable));
        Ok(runs)
    }

    /// The appends whose sessions pass the filter, with payloads if they are wanted. Moves the cursor.
    async fn filter_recent(&mut self, mut runs: Vec<Run>, changes: u64) -> Result<Vec<Run>, StoreError> {
        let end = runs.last().map(|run| Position::end_of(run.append));
        if !self.filter.is_empty() {
            if self.changes != changes {
                self.passing.clear();
                self.changes = changes;
            }
            let unknown: Vec<SessionKey> =
                runs.iter().map(|run| run.session).filter(|session| !self.passing.contains_key(session)).collect();
            if !unknown.is_empty() {
                let passing = self.store.filter_sessions(&self.filter, unknown.clone()).await?;
                self.passing.extend(unknown.into_iter().map(|session| (session, passing.contains(&session))));
            }
            runs.retain(|run| self.passing.get(&run.session).copied().unwrap_or_default());
        }
        if self.raw == RawPayloads::Include && !runs.is_empty() {
            runs = self.store.read_payloads(runs).await?;
        }
        self.position = end.unwrap_or(self.position);
        Ok(runs)
    }
}
