//! Importing histories into the store, as sessions that can be read, searched and continued.
//!
//! An import is idempotent: the same history always gives the same events, so the events that are stored already are left
//! out. An agent changes what it has written when a person goes back in the conversation, and what looks like the end of a
//! session changes when it goes on. Then the stored session is replaced, unless it was continued in the store.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use interlingua_schema::{SessionId, Timestamp, UniversalEvent};
use interlingua_store::{NewSession, RawPayloads, ReadLimits, Session, SessionFilter, SessionKey, Store, StoreError};
use tokio::runtime::Handle;

use crate::import_sink::{ImportSink, ImportedEvents};
use crate::{ConvertOptions, HistoryError, HistoryIds, HistoryReader, HistoryReport, HistorySession};

/// Number of sessions that are read from the store at once.
const PAGE: usize = 500;
/// Maximum number of characters of a title.
const MAX_TITLE_CHARS: usize = 80;
/// What is known of the stored sessions is read again after this time, because others may write to the store.
const MAX_STALENESS: Duration = Duration::from_secs(5);

/// What an import did with a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportOutcome {
    /// The session is new in the store, with this number of events.
    Imported(u64),
    /// This number of events was added.
    Extended(u64),
    /// The agent changed what it had written. The stored session was replaced by one with this number of events.
    Replaced(u64),
    /// The store has all of it.
    Unchanged,
    /// The session has nothing that can be shown.
    Empty,
    /// The session was continued in the store, under this id. Its history is not read any more.
    Continued(SessionId),
}

/// An import that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The store refuses the events.
    #[error("cannot store the imported events")]
    Store(#[from] StoreError),
}

/// An import of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Import {
    /// What was done.
    pub outcome: ImportOutcome,
    /// The agent may still be writing, so the end of the last turn was left out.
    pub is_open: bool,
}

/// Imports histories into a store. Several threads can use it at the same time, but not those that run asynchronous tasks,
/// because it blocks.
pub struct Importer {
    store: Store,
    runtime: Handle,
    reader: HistoryReader,
    stored: Mutex<StoredSessions>,
    placement: Option<String>,
    home: Option<String>,
}

/// The stored session of each native session, by agent and native id.
#[derive(Default)]
struct StoredSessions {
    by_native_id: HashMap<(String, String), SessionId>,
    loaded: Option<Instant>,
}

impl Importer {
    /// An importer into this store.
    #[must_use]
    pub fn new(store: Store, runtime: Handle) -> Self {
        let (reader, stored) = (HistoryReader::new(), Mutex::default());
        Self { store, runtime, reader, stored, placement: None, home: None }
    }

    /// Sets where the agents of imported sessions can run, in a store that servers share: the histories are files on this
    /// machine. See [`NewSession`].
    #[must_use]
    pub fn placed(mut self, placement: Option<String>, home: Option<String>) -> Self {
        (self.placement, self.home) = (placement, home);
        self
    }

    /// Reads the histories.
    #[must_use]
    pub fn reader(&self) -> &HistoryReader {
        &self.reader
    }

    /// The stored session with the same native session, if there is one.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn stored_session(&self, session: &HistorySession) -> Result<Option<SessionId>, StoreError> {
        let stored = self.stored()?;
        let key = (session.agent().id().to_owned(), session.native_session_id.clone());
        Ok(stored.by_native_id.get(&key).cloned())
    }

    fn stored(&self) -> Result<MutexGuard<'_, StoredSessions>, StoreError> {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if stored.loaded.is_none_or(|loaded| loaded.elapsed() > MAX_STALENESS) {
            stored.by_native_id = self.load_stored()?;
            stored.loaded = Some(Instant::now());
        }
        Ok(stored)
    }

    fn load_stored(&self) -> Result<HashMap<(String, String), SessionId>, StoreError> {
        let mut stored = HashMap::new();
        let mut from = None;
        loop {
            let page = self.runtime.block_on(self.store.sessions(&SessionFilter::default(), PAGE, from))?;
            for session in page.sessions {
                if let Some(native) = session.native_session_id {
                    stored.insert((session.agent, native.as_str().to_owned()), session.id);
                }
            }
            from = page.next;
            if from.is_none() {
                return Ok(stored);
            }
        }
    }

    /// Imports what is new of a session.
    ///
    /// `may_grow`: the agent may be writing. A line without an end is left out, and so is the end of the last turn, as long
    /// as the history changes or the turn looks as if it was cut off.
    ///
    /// # Errors
    /// If the history cannot be read, or the store refuses the events.
    pub fn import(
        &self,
        session: &HistorySession,
        may_grow: bool,
        report: &mut HistoryReport,
    ) -> Result<Import, ImportError> {
        let ids = HistoryIds::new(&session.native_session_id);
        let id = HistoryIds::session(&session.native_session_id);
        let done = |outcome| Ok(Import { outcome, is_open: false });
        if let Some(stored) = self.stored_session(session)?.filter(|stored| *stored != id) {
            return done(ImportOutcome::Continued(stored));
        }
        let existing = self.runtime.block_on(self.store.session(&id))?;
        if let Some(existing) = &existing
            && !self.is_import(existing, &ids)?
        {
            return done(ImportOutcome::Continued(id));
        }
        let stored = existing.as_ref().map(|existing| (existing.key, existing.event_count));
        let first = self.convert(session, stored, self.place(new_session(session, &id)), may_grow)?;
        let (events, found) = match (&existing, first) {
            (Some(existing), (events, _)) if events.differs => {
                // It may have been continued meanwhile.
                match self.runtime.block_on(self.store.delete_unchanged(existing.key, existing.event_count)) {
                    Ok(()) | Err(StoreError::SessionNotFound) => {}
                    Err(StoreError::SessionChanged) => return done(ImportOutcome::Continued(id)),
                    Err(error) => return Err(error.into()),
                }
                let (events, found) =
                    self.convert(session, None, self.place(replacement(session, existing)), may_grow)?;
                report.merge(found);
                let outcome = ImportOutcome::Replaced(events.appended);
                return Ok(Import { outcome, is_open: events.is_open });
            }
            (_, first) => first,
        };
        report.merge(found);
        let outcome = match (stored.map_or(0, |(_, count)| count), events.appended) {
            (0, 0) => ImportOutcome::Empty,
            (0, appended) => ImportOutcome::Imported(appended),
            (_, 0) => ImportOutcome::Unchanged,
            (_, appended) => ImportOutcome::Extended(appended),
        };
        if matches!(outcome, ImportOutcome::Imported(_)) {
            let key = (session.agent().id().to_owned(), session.native_session_id.clone());
            let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
            stored.by_native_id.insert(key, id);
        }
        Ok(Import { outcome, is_open: events.is_open })
    }

    /// Converts a session into the store. `stored` is the stored session, and its number of events.
    fn convert(
        &self,
        session: &HistorySession,
        stored: Option<(SessionKey, u64)>,
        new: NewSession,
        may_grow: bool,
    ) -> Result<(ImportedEvents, HistoryReport), ImportError> {
        let mut report = HistoryReport::default();
        let mut sink = ImportSink::new(&self.store, &self.runtime, stored, new, may_grow);
        let options = ConvertOptions { is_growing: may_grow, ..ConvertOptions::default() };
        match self.reader.convert(session, options, &mut sink, &mut report) {
            // The sink has the reason.
            Ok(()) | Err(HistoryError::Write(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok((sink.finish(self.age(session))?, report))
    }

    fn place(&self, mut new: NewSession) -> NewSession {
        (new.placement, new.home) = (self.placement.clone(), self.home.clone());
        new
    }

    /// Whether a stored session has only what was imported.
    fn is_import(&self, session: &Session, ids: &HistoryIds) -> Result<bool, StoreError> {
        if session.queued > 0 || session.busy || session.ended {
            return Ok(false);
        }
        if session.event_count == 0 {
            return Ok(true);
        }
        let limits = ReadLimits { max_events: 1, max_bytes: usize::MAX };
        let read = self.store.read(session.key, session.event_count - 1, limits, RawPayloads::Omit);
        let batch = self.runtime.block_on(read)?;
        let last = batch.iter().next().and_then(|(_, json)| serde_json::from_str::<UniversalEvent>(json).ok());
        Ok(last.is_some_and(|event| ids.made(event.event_id.as_str())))
    }

    /// How long a history has not changed.
    fn age(&self, session: &HistorySession) -> Duration {
        let files = self.reader.side_files(session).into_iter().chain([session.path.clone()]);
        let modified = files.filter_map(|path| path.metadata().ok()?.modified().ok()).max();
        modified.and_then(|modified| SystemTime::now().duration_since(modified).ok()).unwrap_or_default()
    }
}

fn new_session(session: &HistorySession, id: &SessionId) -> NewSession {
    let mut new = NewSession::new(id.clone(), session.agent().id());
    new.native_session_id = Some(session.native_session_id.as_str().into());
    new.directory.clone_from(&session.directory);
    new.agent_mode.clone_from(&session.agent_mode);
    new.permission_mode.clone_from(&session.permission_mode);
    new.model.clone_from(&session.model);
    new.created_at = session.started_at.or(session.last_activity).or(Some(Timestamp::EPOCH));
    new.title = session.title.as_deref().map(|title| {
        let line = title.lines().next().unwrap_or_default();
        line.chars().take(MAX_TITLE_CHARS).collect()
    });
    new
}

/// The session that replaces a stored one. It keeps what a person may have changed.
fn replacement(session: &HistorySession, stored: &Session) -> NewSession {
    let mut new = new_session(session, &stored.id);
    new.title.clone_from(&stored.title);
    new.labels.clone_from(&stored.labels);
    new
}
