//! What the writer can be asked to do.
//!
//! Each write checks before it changes anything, so that one which is refused leaves the others of its transaction
//! as they are. A write may be run a second time after its transaction failed.

use std::sync::Arc;
use std::time::SystemTime;

use interlingua_schema::{Message, NativeSessionId, RawJson, Timestamp};
use rusqlite::{Connection, OptionalExtension, named_params, params};

use crate::append::Prepared;
use crate::chunk::Chunk;
use crate::events::Lines;
use crate::schema::{place, places_after};
use crate::watchers::Tail;
use crate::{Append, MessageId, NewSession, Session, SessionKey, StoreError, message, session};

/// One change of the database.
pub(crate) trait Write: Send + 'static {
    /// What whoever asked for it learns.
    type Output: Send;

    /// Makes the change inside the transaction that is open.
    fn run(&self, connection: &Connection) -> Result<Self::Output, StoreError>;

    /// What readers are to be told once it is durable: how far the session goes, and the events themselves.
    fn news(&self) -> Option<(SessionKey, Tail, Option<Arc<Lines>>)> {
        None
    }

    /// How many events it appends.
    fn events(&self) -> usize {
        0
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Creates a session.
pub(crate) struct CreateSession {
    session: NewSession,
    at: Timestamp,
}

impl CreateSession {
    pub(crate) fn new(session: NewSession) -> Self {
        Self { session, at: now() }
    }
}

impl Write for CreateSession {
    type Output = Session;

    fn run(&self, connection: &Connection) -> Result<Session, StoreError> {
        let new = &self.session;
        let key = connection
            .prepare_cached(
                "INSERT INTO sessions (id, agent, agent_mode, permission_mode, model, variant, native_session_id, \
                 directory, title, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10) \
                 ON CONFLICT (id) DO NOTHING RETURNING key",
            )?
            .query_row(
                params![
                    new.id.as_str(),
                    new.agent,
                    new.agent_mode,
                    new.permission_mode,
                    new.model,
                    new.variant,
                    new.native_session_id.as_ref().map(NativeSessionId::as_str),
                    new.directory,
                    new.title,
                    self.at.as_millis(),
                ],
                |row| row.get(0).map(SessionKey),
            )
            .optional()?
            .ok_or_else(|| StoreError::SessionAlreadyExists(new.id.clone()))?;
        connection
            .prepare_cached("INSERT INTO kept (session, config) VALUES (?1, ?2)")?
            .execute((key.0, new.config.as_ref().map(RawJson::as_str)))?;
        session::by_key(connection, key)?.ok_or(StoreError::SessionNotFound)
    }
}

/// Appends events.
pub(crate) struct AppendEvents {
    session: SessionKey,
    append: Result<Prepared, StoreError>,
}

impl AppendEvents {
    pub(crate) fn new(session: SessionKey, append: Append) -> Self {
        Self { session, append: append.prepare() }
    }

    /// Moves the session on; refuses if these are not its next events.
    fn advance(&self, connection: &Connection, append: &Prepared) -> Result<(), StoreError> {
        let (changes, span) = (&append.changes, append.lines.span());
        let advanced = connection
            .prepare_cached(
                "UPDATE sessions SET event_count = coalesce(:last, event_count), \
                 updated_at = max(updated_at, coalesce(:time, updated_at)), \
                 native_session_id = coalesce(:native, native_session_id), ended = :ended, \
                 busy = NOT :ended AND coalesce(:busy, busy) \
                 WHERE key = :key AND NOT ended AND event_count = coalesce(:first - 1, event_count)",
            )?
            .execute(named_params! {
                ":key": self.session.0,
                ":first": span.map(|(first, _)| first.cast_signed()),
                ":last": span.map(|(_, last)| last.cast_signed()),
                ":time": changes.time.map(Timestamp::as_millis),
                ":native": changes.native_session_id.as_ref().map(NativeSessionId::as_str),
                ":ended": changes.ended,
                ":busy": changes.busy,
            })?;
        if advanced == 1 {
            return Ok(());
        }
        match session::tail(connection, self.session)? {
            Tail::Open { last } => {
                Err(StoreError::OutOfOrder { expected: last + 1, found: span.map_or(0, |(first, _)| first) })
            }
            Tail::Ended { .. } => Err(StoreError::SessionEnded),
            Tail::Deleted | Tail::Unknown => Err(StoreError::SessionNotFound),
        }
    }

    fn insert(&self, connection: &Connection, append: &Prepared) -> Result<(), StoreError> {
        let mut insert = connection.prepare_cached("INSERT INTO events (place, json, payloads) VALUES (?1, ?2, ?3)")?;
        for chunk in append.chunks.iter() {
            let row = (self.place(append, chunk)?, append.lines.text(&chunk.events), append.chunks.payloads(chunk));
            insert.execute(row)?;
        }
        Ok(())
    }

    /// Where a chunk lies: where its last event does.
    fn place(&self, append: &Prepared, chunk: &Chunk) -> Result<i64, StoreError> {
        let last = chunk.events.end.checked_sub(1).and_then(|last| append.lines.get(last));
        last.and_then(|(sequence, _)| place(self.session, sequence))
            .ok_or_else(|| StoreError::Database("the session has no room left".to_owned()))
    }
}

impl Write for AppendEvents {
    type Output = ();

    fn run(&self, connection: &Connection) -> Result<(), StoreError> {
        let append = self.append.as_ref().map_err(Clone::clone)?;
        self.advance(connection, append)?;
        self.insert(connection, append)?;
        let changes = &append.changes;
        if let Some(state) = &changes.state {
            connection
                .prepare_cached("UPDATE kept SET state = ?2 WHERE session = ?1")?
                .execute((self.session.0, state.as_str()))?;
        }
        for id in &changes.taken {
            message::remove(connection, self.session, *id)?;
        }
        if changes.ended {
            message::remove_all(connection, self.session)?;
        }
        Ok(())
    }

    fn news(&self) -> Option<(SessionKey, Tail, Option<Arc<Lines>>)> {
        let append = self.append.as_ref().ok()?;
        let (_, last) = append.lines.span()?;
        let tail = if append.changes.ended { Tail::Ended { last } } else { Tail::Open { last } };
        Some((self.session, tail, Some(Arc::clone(&append.lines))))
    }

    fn events(&self) -> usize {
        self.append.as_ref().map_or(0, |append| append.lines.len())
    }
}

/// Puts a message at the end of a queue.
pub(crate) struct EnqueueMessage {
    session: SessionKey,
    message: Message,
    at: Timestamp,
}

impl EnqueueMessage {
    pub(crate) fn new(session: SessionKey, message: Message) -> Self {
        Self { session, message, at: now() }
    }
}

impl Write for EnqueueMessage {
    type Output = MessageId;

    fn run(&self, connection: &Connection) -> Result<MessageId, StoreError> {
        match session::tail(connection, self.session)? {
            Tail::Open { .. } => {}
            Tail::Ended { .. } => return Err(StoreError::SessionEnded),
            Tail::Deleted | Tail::Unknown => return Err(StoreError::SessionNotFound),
        }
        connection
            .prepare_cached("UPDATE sessions SET updated_at = max(updated_at, ?2) WHERE key = ?1")?
            .execute((self.session.0, self.at.as_millis()))?;
        message::add(connection, self.session, &self.message)
    }
}

/// Removes a session.
pub(crate) struct DeleteSession {
    session: SessionKey,
}

impl DeleteSession {
    pub(crate) fn new(session: SessionKey) -> Self {
        Self { session }
    }
}

impl Write for DeleteSession {
    type Output = ();

    fn run(&self, connection: &Connection) -> Result<(), StoreError> {
        let session = self.session.0;
        if connection.prepare_cached("DELETE FROM sessions WHERE key = ?1")?.execute([session])? == 0 {
            return Err(StoreError::SessionNotFound);
        }
        let (from, to) = places_after(self.session, 0);
        connection.prepare_cached("DELETE FROM events WHERE place > ?1 AND place <= ?2")?.execute((from, to))?;
        connection.prepare_cached("DELETE FROM kept WHERE session = ?1")?.execute([session])?;
        message::remove_all(connection, self.session)
    }

    fn news(&self) -> Option<(SessionKey, Tail, Option<Arc<Lines>>)> {
        Some((self.session, Tail::Deleted, None))
    }
}
