//! The open index: adding the events of the store, and removing sessions.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::time::{Duration, Instant};

use interlingua_schema::UniversalEvent;
use rusqlite::Connection;

use super::database;
use super::documents::{self, EventText};
use super::shards;
use crate::global_cursor::Position;
use crate::search::text;
use crate::sqlite::global_merge::Merge;
use crate::{RawPayloads, ReadLimits, SessionFilter, SessionKey, StoreError};

/// How much is read at once.
const READ_LIMITS: ReadLimits = ReadLimits { max_events: 256, max_bytes: 256 * 1024 };

/// The index, and the store that it is an index of.
pub(super) struct OpenIndex {
    index: Connection,
    store: Connection,
    position: Position,
    /// The events that are being indexed, and the last append when they were looked up.
    merge: Option<(Merge, i64)>,
    agents: HashMap<SessionKey, Option<String>>,
}

/// Which database failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum IndexError {
    #[error(transparent)]
    Index(#[from] rusqlite::Error),
    #[error(transparent)]
    Store(StoreError),
}

impl OpenIndex {
    pub(super) fn open(index_file: &Path, store_file: &Path, store_id: u32) -> Result<Self, IndexError> {
        let index = database::open(index_file, store_id).map_err(IndexError::Store)?;
        let store =
            crate::sqlite::database::open_for_reading(store_file).map_err(|error| IndexError::Store(error.into()))?;
        let position = database::load_position(&index)?;
        Ok(Self { index, store, position, merge: None, agents: HashMap::new() })
    }

    /// The position in the events of all sessions up to which they are indexed.
    pub(super) fn position(&self) -> Position {
        self.position
    }

    /// The database of the index.
    pub(super) fn connection(&self) -> &Connection {
        &self.index
    }

    /// Whether all events that were looked up are indexed.
    pub(super) fn is_caught_up(&self) -> bool {
        self.merge.is_none()
    }

    /// Looks up the events that are not indexed. Returns their number. `last_append` is the last durable append.
    pub(super) fn load_new(&mut self, last_append: i64) -> Result<u64, IndexError> {
        let merge = Merge::load(&self.store, &SessionFilter::default(), self.position).map_err(IndexError::Store)?;
        let count = merge.remaining();
        self.merge = Some((merge, last_append));
        Ok(count)
    }

    /// Indexes events in one transaction. Returns their number, and whether there are no more.
    pub(super) fn index_for(
        &mut self,
        duration: Duration,
        is_interrupted: impl Fn() -> bool,
    ) -> Result<(u64, bool), IndexError> {
        let Some((mut merge, last)) = self.merge.take() else { return Ok((0, true)) };
        let deadline = Instant::now() + duration;
        let transaction = self.index.unchecked_transaction()?;
        let (mut position, mut indexed) = (self.position, 0);
        let is_done = loop {
            let runs = merge.read(&self.store, READ_LIMITS, RawPayloads::Omit).map_err(IndexError::Store)?;
            let Some(last_run) = runs.last() else {
                position = position.max(merge.end()).max(Position::end_of(last));
                break true;
            };
            position = Position {
                append: last_run.append,
                session: last_run.session,
                sequence: last_run.events.last_sequence().unwrap_or_default(),
            };
            for run in &runs {
                let agent = find_agent(&mut self.agents, &self.store, run.session).map_err(IndexError::Store)?;
                // The session was deleted in the meantime.
                let Some(agent) = agent else { continue };
                for (sequence, json) in run.events.iter() {
                    index_event(&transaction, run.session, agent, sequence, json)?;
                    indexed += 1;
                }
            }
            if Instant::now() >= deadline || is_interrupted() {
                break false;
            }
        };
        database::store_position(&transaction, position)?;
        transaction.commit()?;
        self.position = position;
        if is_done {
            // Idle from now on.
            self.agents.clear();
            self.index.execute_batch("PRAGMA shrink_memory")?;
        } else {
            self.merge = Some((merge, last));
        }
        Ok((indexed, is_done))
    }

    /// Removes the documents of sessions that do not exist any more. Returns whether there were any.
    pub(super) fn remove_deleted(&mut self) -> Result<bool, IndexError> {
        let mut has_removed = false;
        for session in documents::sessions(&self.index)? {
            let exists = self
                .store
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM sessions WHERE key = ?1)")
                .and_then(|mut statement| statement.query_row([session.0], |row| row.get::<_, bool>(0)))
                .map_err(|error| IndexError::Store(error.into()))?;
            if !exists {
                has_removed |= self.remove(session)?;
            }
        }
        Ok(has_removed)
    }

    /// Removes the documents of a session. Returns whether there were any.
    pub(super) fn remove(&mut self, session: SessionKey) -> Result<bool, IndexError> {
        // The events that are being indexed may be those of the session.
        self.merge = None;
        let mut has_removed = false;
        loop {
            let before = self.index.total_changes();
            let transaction = self.index.unchecked_transaction()?;
            let has_more = shards::remove_some(&transaction, session)?;
            transaction.commit()?;
            has_removed |= self.index.total_changes() > before;
            if !has_more {
                return Ok(has_removed);
            }
        }
    }
}

/// The agent of a session; `None` if it was deleted.
fn find_agent<'a>(
    agents: &'a mut HashMap<SessionKey, Option<String>>,
    store: &Connection,
    session: SessionKey,
) -> Result<Option<&'a str>, StoreError> {
    let agent = match agents.entry(session) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(unknown) => {
            unknown.insert(crate::sqlite::session::find_by_key(store, session)?.map(|session| session.agent))
        }
    };
    Ok(agent.as_deref())
}

fn index_event(
    index: &Connection,
    session: SessionKey,
    agent: &str,
    sequence: u64,
    json: &str,
) -> rusqlite::Result<()> {
    // Most events are deltas, which have no searchable text. The keys before the type are strings and numbers.
    let kind = json.split_once(r#","type":""#).map(|(_, rest)| rest);
    if kind.is_some_and(|kind| kind.starts_with("item.delta\"")) {
        return Ok(());
    }
    let Ok(event) = serde_json::from_str::<UniversalEvent>(json) else { return Ok(()) };
    let text = text::searchable_text(&event);
    shards::insert(index, &EventText { session, agent, sequence, time: event.time, text: &text })
}
