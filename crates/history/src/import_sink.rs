//! Receives the events of a session that is imported: compares them with those that are stored, and appends the others.

use std::io;
use std::time::Duration;

use interlingua_schema::{EventData, EventRef, EventSink, TurnStatus, UniversalEvent};
use interlingua_store::{
    Append, Batch, NewSession, PendingWrite, RawPayloads, ReadLimits, SessionKey, Store, StoreError,
};
use tokio::runtime::Handle;

use crate::HistorySink;

/// How much is read of the stored events at once.
const READ_LIMITS: ReadLimits = ReadLimits { max_events: 512, max_bytes: 1 << 20 };
/// Number of events after which they are appended.
const EVENTS_PER_APPEND: usize = 256;
/// Number of batches of records after which their events are appended, whatever their number.
const BATCHES_PER_APPEND: u32 = 4;
/// A session whose history has not changed for this long is not being written, if its last turn looks complete.
const QUIET_AFTER: Duration = Duration::from_secs(10);

/// Appends the events that the store does not have.
pub(crate) struct ImportSink<'a> {
    store: &'a Store,
    runtime: &'a Handle,
    /// The stored session; `None` if there is none yet.
    key: Option<SessionKey>,
    new_session: NewSession,
    stored: StoredEvents,
    /// Events that are not appended yet.
    events: Vec<UniversalEvent>,
    batches: u32,
    in_flight: Option<PendingWrite<()>>,
    /// Events that close what the records leave open. `None` before all records are read, or if they need not be told
    /// from the others.
    closing: Option<Vec<UniversalEvent>>,
    /// Closing events are appended only when the agent seems to be done.
    may_grow: bool,
    /// Number of events that were received and appended.
    received: u64,
    appended: u64,
    differs: bool,
    error: Option<StoreError>,
}

/// What became of the events.
#[derive(Debug)]
pub(crate) struct ImportedEvents {
    /// Number of events that were appended.
    pub(crate) appended: u64,
    /// The stored events are not the first ones of the history.
    pub(crate) differs: bool,
    /// Closing events were left out.
    pub(crate) is_open: bool,
}

impl<'a> ImportSink<'a> {
    pub(crate) fn new(
        store: &'a Store,
        runtime: &'a Handle,
        stored: Option<(SessionKey, u64)>,
        new_session: NewSession,
        may_grow: bool,
    ) -> Self {
        Self {
            store,
            runtime,
            key: stored.map(|(key, _)| key),
            new_session,
            stored: StoredEvents { count: stored.map_or(0, |(_, count)| count), ..StoredEvents::default() },
            events: Vec::new(),
            batches: 0,
            in_flight: None,
            closing: None,
            may_grow,
            received: 0,
            appended: 0,
            differs: false,
            error: None,
        }
    }

    /// Appends the rest. `age`: how long the history has not changed.
    pub(crate) fn finish(mut self, age: Duration) -> Result<ImportedEvents, StoreError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.differs |= self.received < self.stored.count;
        let closing = self.closing.take().unwrap_or_default();
        let is_done = !self.may_grow || (age >= QUIET_AFTER && !closing.iter().any(is_cut_off));
        let is_open = !closing.is_empty() && !is_done;
        if !self.differs {
            if is_done {
                self.events.extend(closing);
            }
            self.append()?;
            self.wait()?;
        }
        Ok(ImportedEvents { appended: self.appended, differs: self.differs, is_open })
    }

    fn append(&mut self) -> Result<(), StoreError> {
        self.batches = 0;
        if self.events.is_empty() {
            return Ok(());
        }
        let key = if let Some(key) = self.key {
            key
        } else {
            let session = self.runtime.block_on(self.store.create(self.new_session.clone()))?;
            self.key = Some(session.key);
            session.key
        };
        self.wait()?;
        self.appended += self.events.len() as u64;
        // The next events are made while these are written.
        self.in_flight = Some(self.store.append(key, Append::events(self.events.drain(..))));
        Ok(())
    }

    /// Waits for the last append.
    fn wait(&mut self) -> Result<(), StoreError> {
        self.in_flight.take().map_or(Ok(()), |append| self.runtime.block_on(append))
    }

    fn check(&mut self, result: Result<(), StoreError>) -> io::Result<()> {
        result.map_err(|error| {
            let message = error.to_string();
            self.error = Some(error);
            io::Error::other(message)
        })
    }
}

/// Whether an event ends a turn that was cut off. The agent may still be working on it.
fn is_cut_off(event: &UniversalEvent) -> bool {
    matches!(&event.data, EventData::TurnEnded(turn) if turn.status == TurnStatus::Failed)
}

impl EventSink for ImportSink<'_> {
    fn write_event(&mut self, event: EventRef<'_>) {
        self.received += 1;
        if self.differs || self.error.is_some() {
            return;
        }
        let event = event.into_event();
        if event.sequence > self.stored.count {
            return match &mut self.closing {
                Some(closing) if self.may_grow => closing.push(event),
                _ => self.events.push(event),
            };
        }
        match self.stored.is_same(&event, self.key, self.store, self.runtime) {
            Ok(is_same) => self.differs = !is_same,
            Err(error) => self.error = Some(error),
        }
    }
}

impl HistorySink for ImportSink<'_> {
    fn flush(&mut self) -> io::Result<()> {
        if let Some(error) = &self.error {
            return Err(io::Error::other(error.to_string()));
        }
        if self.differs {
            return Err(io::Error::other("the stored events are not those of the history"));
        }
        self.batches += 1;
        if self.events.len() < EVENTS_PER_APPEND && self.batches < BATCHES_PER_APPEND {
            return Ok(());
        }
        let appended = self.append();
        self.check(appended)
    }

    fn end_records(&mut self) {
        self.closing.get_or_insert_default();
    }
}

/// The stored events of a session, read in order.
#[derive(Debug, Default)]
struct StoredEvents {
    /// Number of stored events.
    count: u64,
    batch: Batch,
    /// Text of the event that is compared.
    json: Vec<u8>,
}

impl StoredEvents {
    /// Whether the stored event with the same sequence is the same.
    fn is_same(
        &mut self,
        event: &UniversalEvent,
        session: Option<SessionKey>,
        store: &Store,
        runtime: &Handle,
    ) -> Result<bool, StoreError> {
        let Some(session) = session else { return Ok(false) };
        if self.batch.text(event.sequence).is_none() {
            let read = store.read(session, event.sequence.saturating_sub(1), READ_LIMITS, RawPayloads::Omit);
            self.batch = runtime.block_on(read)?;
        }
        self.json.clear();
        // A vector can always be written to.
        let is_written = event.write_json(&mut self.json).is_ok();
        Ok(is_written && self.batch.text(event.sequence).is_some_and(|stored| stored.as_ref() == self.json))
    }
}
