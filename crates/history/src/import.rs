//! Importing histories into the store, as sessions that can be read, searched and continued.
//!
//! An import is idempotent: the same history always gives the same events, so the events that are stored already are left
//! out. Only complete turns are stored, because what comes later may change the order within a turn that is running. A
//! turn that was cut off is stored when its history has not changed for [`SETTLED_AFTER`].

use std::collections::HashMap;
use std::io;
use std::time::{Duration, SystemTime};

use interlingua_convert::{CountingIds, IdSource};
use interlingua_schema::{EventData, EventRef, EventSink, ItemId, SessionId, Timestamp, TurnStatus, UniversalEvent};
use interlingua_store::{Append, NewSession, RawPayloads, ReadLimits, SessionFilter, SessionKey, Store, StoreError};
use tokio::runtime::Handle;

use crate::{ConvertOptions, HistoryError, HistoryReader, HistoryReport, HistorySession, HistorySink};

/// A history that has not changed for this long is not being written: even a question waits for an answer no longer.
const SETTLED_AFTER: Duration = Duration::from_secs(24 * 3600);
/// A turn whose history has not changed for this long is complete, if it looks complete.
const QUIET_AFTER: Duration = Duration::from_secs(10);
/// Number of sessions that are read from the store at once.
const PAGE: usize = 500;
/// Maximum number of characters of a title.
const MAX_TITLE_CHARS: usize = 80;

/// What an import did with a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportOutcome {
    /// The session is new in the store, with this number of events.
    Imported(u64),
    /// This number of events was added.
    Extended(u64),
    /// The store has all of it.
    Unchanged,
    /// The session has no complete turn.
    Empty,
    /// The session was continued in the store, under this id. Its history is not read any more.
    Continued(SessionId),
    /// The agent changed what it had written, for example by a rewind. The store keeps what it has.
    Rewritten,
}

/// An import that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The store refuses the events.
    #[error("cannot store the imported events: {0}")]
    Store(#[from] StoreError),
}

/// Imports histories into a store.
pub struct Importer {
    store: Store,
    runtime: Handle,
    reader: HistoryReader,
    /// The stored session of each native session, by agent and native id.
    stored: HashMap<(String, String), SessionId>,
}

impl Importer {
    /// An importer into this store. Must not be used on a thread that runs asynchronous tasks, because it blocks.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(store: Store, runtime: Handle) -> Result<Self, StoreError> {
        let mut stored = HashMap::new();
        let mut from = None;
        loop {
            let page = runtime.block_on(store.sessions(&SessionFilter::default(), PAGE, from))?;
            for session in page.sessions {
                if let Some(native) = session.native_session_id {
                    stored.insert((session.agent, native.as_str().to_owned()), session.id);
                }
            }
            from = page.next;
            if from.is_none() {
                return Ok(Self { store, runtime, reader: HistoryReader::new(), stored });
            }
        }
    }

    /// The stored session with the same native session, if there is one.
    #[must_use]
    pub fn stored_session(&self, session: &HistorySession) -> Option<&SessionId> {
        self.stored.get(&(session.agent().id().to_owned(), session.native_session_id.clone()))
    }

    /// Forgets what is known of folders and databases, before they are read again.
    pub fn refresh(&mut self) {
        self.reader = HistoryReader::new();
    }

    /// Imports what is new of a session.
    ///
    /// # Errors
    /// If the history cannot be read, or the store refuses the events.
    pub fn import(
        &mut self,
        session: &HistorySession,
        report: &mut HistoryReport,
    ) -> Result<ImportOutcome, ImportError> {
        let ids = HistoryIds::new(&session.native_session_id);
        let id = ids.session.clone();
        if let Some(stored) = self.stored_session(session).filter(|stored| **stored != id) {
            return Ok(ImportOutcome::Continued(stored.clone()));
        }
        let existing = self.runtime.block_on(self.store.session(&id))?;
        let mut last = None;
        if let Some(existing) = existing.as_ref().filter(|existing| existing.event_count > 0) {
            let event = self.read_event(existing.key, existing.event_count)?;
            if event.as_ref().is_none_or(|event| !event.event_id.as_str().starts_with(&ids.prefix)) {
                return Ok(ImportOutcome::Continued(id));
            }
            last = event;
        }
        let stored_count = existing.as_ref().map_or(0, |existing| existing.event_count);
        let mut sink = ImportSink {
            store: &self.store,
            runtime: &self.runtime,
            key: existing.as_ref().map(|existing| existing.key),
            new_session: new_session(session, &id),
            stored_count,
            last,
            events: Vec::new(),
            complete: 0,
            has_ended_turn: false,
            last_turn_was_cut_off: false,
            is_rewritten: false,
            added: 0,
            error: None,
        };
        let converted = self.reader.convert(session, ConvertOptions::new(false, ids), &mut sink, report);
        if let Some(error) = sink.error.take() {
            return Err(error.into());
        }
        converted?;
        sink.finish(age(session))?;
        let (added, is_rewritten) = (sink.added, sink.is_rewritten);
        let key = (session.agent().id().to_owned(), session.native_session_id.clone());
        Ok(match (is_rewritten, stored_count, added) {
            (true, ..) => ImportOutcome::Rewritten,
            (_, 0, 0) => ImportOutcome::Empty,
            (_, 0, added) => {
                self.stored.insert(key, id);
                ImportOutcome::Imported(added)
            }
            (_, _, 0) => ImportOutcome::Unchanged,
            (_, _, added) => ImportOutcome::Extended(added),
        })
    }

    /// The sessions of a file or folder; see [`HistoryReader::sessions`].
    ///
    /// # Errors
    /// If a folder cannot be read.
    pub fn sessions(
        &mut self,
        path: &std::path::Path,
        report: &mut HistoryReport,
    ) -> Result<Vec<HistorySession>, HistoryError> {
        self.reader.sessions(path, report)
    }

    fn read_event(&self, session: SessionKey, sequence: u64) -> Result<Option<UniversalEvent>, StoreError> {
        let limits = ReadLimits { max_events: 1, max_bytes: usize::MAX };
        let batch = self.runtime.block_on(self.store.read(session, sequence - 1, limits, RawPayloads::Omit))?;
        Ok(batch.iter().next().and_then(|(_, json)| serde_json::from_str(json).ok()))
    }
}

/// How long a history has not changed.
fn age(session: &HistorySession) -> Duration {
    let modified = session.path.metadata().and_then(|metadata| metadata.modified()).ok();
    let of_file = modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let activity = session.last_activity.map_or(0, Timestamp::as_millis);
    let of_session = now.saturating_sub(Duration::from_millis(u64::try_from(activity).unwrap_or(0)));
    of_file.map_or(of_session, |of_file| of_file.min(of_session))
}

fn new_session(session: &HistorySession, id: &SessionId) -> NewSession {
    let mut new = NewSession::new(id.clone(), session.agent().id());
    new.native_session_id = Some(session.native_session_id.as_str().into());
    new.directory.clone_from(&session.directory);
    new.title = session.title.as_deref().map(|title| {
        let line = title.lines().next().unwrap_or_default();
        line.chars().take(MAX_TITLE_CHARS).collect()
    });
    new
}

/// Appends the events that the store does not have.
struct ImportSink<'a> {
    store: &'a Store,
    runtime: &'a Handle,
    key: Option<SessionKey>,
    new_session: NewSession,
    stored_count: u64,
    /// The last stored event.
    last: Option<UniversalEvent>,
    events: Vec<UniversalEvent>,
    /// Number of these events up to the last end of a turn.
    complete: usize,
    has_ended_turn: bool,
    last_turn_was_cut_off: bool,
    is_rewritten: bool,
    added: u64,
    error: Option<StoreError>,
}

impl EventSink for ImportSink<'_> {
    fn write_event(&mut self, event: EventRef<'_>) {
        if event.sequence < self.stored_count || self.is_rewritten {
            return;
        }
        let event = event.into_event();
        if event.sequence == self.stored_count {
            self.is_rewritten = self.last.as_ref() != Some(&event);
            return;
        }
        // The turn before is over, however it ended. Before the first turn, the description of the session may change.
        if matches!(event.data, EventData::TurnStarted(_)) && (self.stored_count > 0 || self.has_ended_turn) {
            self.last_turn_was_cut_off = false;
            self.complete = self.events.len();
        }
        let ended = match &event.data {
            EventData::TurnEnded(turn) => Some(turn.status.clone()),
            _ => None,
        };
        self.events.push(event);
        if let Some(status) = ended {
            self.has_ended_turn = true;
            self.last_turn_was_cut_off = status == TurnStatus::Failed;
        }
    }
}

impl HistorySink for ImportSink<'_> {
    fn flush(&mut self) -> io::Result<()> {
        let complete = std::mem::take(&mut self.complete);
        self.append(complete).map_err(|error| {
            let message = error.to_string();
            self.error = Some(error);
            io::Error::other(message)
        })
    }
}

impl ImportSink<'_> {
    /// Appends the rest, unless the agent may still be writing it.
    fn finish(&mut self, age: Duration) -> Result<(), StoreError> {
        let needed = if self.last_turn_was_cut_off { SETTLED_AFTER } else { QUIET_AFTER };
        let has_open_turn = self.events.iter().fold(false, |open, event| match event.data {
            EventData::TurnStarted(_) => true,
            EventData::TurnEnded(_) => false,
            _ => open,
        });
        let rest = if age >= needed && !has_open_turn { self.events.len() } else { self.complete };
        self.append(rest)
    }

    fn append(&mut self, count: usize) -> Result<(), StoreError> {
        if count == 0 || self.is_rewritten {
            return Ok(());
        }
        let key = if let Some(key) = self.key {
            key
        } else {
            let session = self.runtime.block_on(self.store.create(self.new_session.clone()))?;
            self.key = Some(session.key);
            session.key
        };
        let events: Vec<UniversalEvent> = self.events.drain(..count).collect();
        self.added += events.len() as u64;
        self.runtime.block_on(self.store.append(key, Append::events(events)))
    }
}

/// Ids that are the same in each import of a session, and differ from those of all other sessions.
#[derive(Clone, Debug)]
struct HistoryIds {
    session: SessionId,
    /// Start of the ids of events.
    prefix: String,
    token: String,
    counted: CountingIds,
    event_id: String,
}

impl HistoryIds {
    fn new(native_session_id: &str) -> Self {
        let session = CountingIds::default().session_id(Some(native_session_id));
        let token = token(native_session_id);
        let prefix = format!("evt_h{token}_");
        Self { session, prefix, token, counted: CountingIds::default(), event_id: String::new() }
    }
}

impl IdSource for HistoryIds {
    fn next_event_id(&mut self) -> &str {
        self.event_id.clear();
        self.event_id.push_str(&self.prefix);
        let counted = self.counted.next_event_id();
        self.event_id.push_str(counted.strip_prefix("evt_").unwrap_or(counted));
        &self.event_id
    }

    fn next_item_id(&mut self) -> ItemId {
        let counted = self.counted.next_item_id();
        let number = counted.as_str().strip_prefix("itm_").unwrap_or_default();
        format!("itm_h{}_{number}", self.token).into()
    }

    fn next_turn_id(&mut self) -> String {
        self.counted.next_turn_id()
    }

    fn session_id(&mut self, native: Option<&str>) -> SessionId {
        self.counted.session_id(native)
    }
}

/// A short text that differs from session to session.
fn token(native_session_id: &str) -> String {
    // FNV-1a: stable across versions and platforms.
    let hash = native_session_id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_the_same_in_each_import() {
        let (mut first, mut second) = (HistoryIds::new("a"), HistoryIds::new("a"));
        assert_eq!(first.next_event_id(), second.next_event_id());
        assert_eq!(first.next_item_id(), second.next_item_id());
        assert_ne!(HistoryIds::new("b").next_event_id(), HistoryIds::new("a").next_event_id());
    }
}
