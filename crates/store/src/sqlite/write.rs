//! The writes: create, change and delete a session, append events, enqueue and cancel a message.
//!
//! A write checks its conditions before it changes anything, so that a refused write does not affect the others in its
//! transaction. A write may run a second time after its transaction failed.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::SystemTime;

use interlingua_schema::{NativeSessionId, RawJson, Timestamp};
use rusqlite::{Connection, OptionalExtension, named_params, params};

use crate::append::PreparedAppend;
use crate::chunk::Chunk;
use crate::notifier::{Notification, Tail};
use crate::session::encode_labels;
use crate::sqlite::append_counter::AppendCounter;
use crate::sqlite::limits::Limits;
use crate::sqlite::message::EncodedMessage;
use crate::sqlite::schema::place;
use crate::sqlite::{events, message, session, summary};
use crate::{
    Append, Enqueued, MAX_LABELS, MessageId, NewMessage, NewSession, Session, SessionChanges, SessionKey, StoreError,
};

/// One change of the database.
pub(crate) trait StoreWrite: Send + 'static {
    /// Result for the caller.
    type Output: Send;

    /// Makes the change inside the open transaction.
    fn run(&self, connection: &Connection) -> Result<Self::Output, StoreError>;

    /// What to tell the readers of the session once the write is durable.
    fn notification(&self) -> Option<Notification> {
        None
    }

    /// Number of the append, if the write is one (see `append_counter`).
    fn append_number(&self) -> i64 {
        0
    }

    /// Number of events that the write appends.
    fn appended_events(&self) -> usize {
        0
    }

    /// Whether the write ends or deletes something, and may use the space that is reserved for that on a full disk.
    fn is_essential(&self) -> bool {
        false
    }

    /// Whether the write deletes data: its caller waits until the data is removed from the files.
    fn deletes_data(&self) -> bool {
        false
    }

    /// Whether the write removes text from the queue, which may have been long.
    fn frees_space(&self) -> bool {
        false
    }
}

fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}

/// Changes nothing.
pub(crate) struct Probe;

impl StoreWrite for Probe {
    type Output = ();

    fn run(&self, _: &Connection) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Creates a session.
pub(crate) struct CreateSession {
    session: NewSession,
    limits: Limits,
    time: Timestamp,
}

/// Approximate number of bytes of a session without events: its row and the entries in the indices.
const SESSION_BYTES: usize = 1024;

impl CreateSession {
    pub(crate) fn new(session: NewSession, limits: Limits) -> Self {
        let time = session.created_at.unwrap_or_else(now);
        Self { session, limits, time }
    }
}

impl StoreWrite for CreateSession {
    type Output = Session;

    fn run(&self, connection: &Connection) -> Result<Session, StoreError> {
        let new = &self.session;
        let config_bytes = new.config.as_ref().map_or(0, |config| config.as_str().len());
        self.limits.check_store(connection, SESSION_BYTES + config_bytes)?;
        let key = connection
            .prepare_cached(
                "INSERT INTO sessions (id, agent, agent_mode, permission_mode, model, variant, native_session_id, \
                 directory, title, created_at, updated_at, labels, has_secrets) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?11, ?12) \
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
                    self.time.as_millis(),
                    encode_labels(&new.labels),
                    new.has_secrets,
                ],
                |row| row.get(0).map(SessionKey),
            )
            .optional()?
            .ok_or_else(|| StoreError::SessionAlreadyExists(new.id.clone()))?;
        connection
            .prepare_cached("INSERT INTO kept (session, config) VALUES (?1, ?2)")?
            .execute((key.0, new.config.as_ref().map(RawJson::as_str)))?;
        session::find_by_key(connection, key)?.ok_or(StoreError::SessionNotFound)
    }
}

/// Appends events to a session.
pub(crate) struct AppendEvents {
    session: SessionKey,
    append: Result<PreparedAppend, StoreError>,
    limits: Limits,
    counter: AppendCounter,
    /// Number of the append in the last transaction that it was part of.
    number: AtomicI64,
}

impl AppendEvents {
    pub(crate) fn new(session: SessionKey, append: Append, limits: Limits, counter: AppendCounter) -> Self {
        let append = append.prepare();
        let is_essential = append.as_ref().is_ok_and(|append| append.changes.essential);
        let limits = if is_essential { limits.removed() } else { limits };
        Self { session, append, limits, counter, number: AtomicI64::new(0) }
    }

    /// Updates the session's row. Fails if these are not the session's next events.
    fn update_session(&self, connection: &Connection, append: &PreparedAppend) -> Result<(), StoreError> {
        let (changes, range, bytes) = (&append.changes, append.lines.sequence_range(), append.byte_len());
        if bytes > 0 {
            self.limits.check_store(connection, bytes)?;
        }
        let number = range.map(|_| self.counter.next());
        self.number.store(number.unwrap_or_default(), Ordering::Relaxed);
        let updated_rows = connection
            .prepare_cached(
                "UPDATE sessions SET event_count = coalesce(:last, event_count), \
                 updated_at = max(updated_at, coalesce(:time, updated_at)), \
                 stored_bytes = stored_bytes + :bytes, last_append = coalesce(:append, last_append), \
                 native_session_id = coalesce(:native, native_session_id), ended = :ended, \
                 busy = NOT :ended AND coalesce(:busy, busy) \
                 WHERE key = :key AND NOT ended AND event_count = coalesce(:first - 1, event_count) \
                 AND (:limit IS NULL OR :bytes = 0 OR stored_bytes + :bytes <= :limit)",
            )?
            .execute(named_params! {
                ":key": self.session.0,
                ":bytes": i64::try_from(bytes).unwrap_or(i64::MAX),
                ":append": number,
                ":limit": self.limits.max_session_bytes.map(|limit| i64::try_from(limit).unwrap_or(i64::MAX)),
                ":first": range.map(|(first, _)| first.cast_signed()),
                ":last": range.map(|(_, last)| last.cast_signed()),
                ":time": changes.time.map(Timestamp::as_millis),
                ":native": changes.native_session_id.as_ref().map(NativeSessionId::as_str),
                ":ended": changes.ended,
                ":busy": changes.busy,
            })?;
        if updated_rows == 1 {
            return Ok(());
        }
        match session::load_tail(connection, self.session)? {
            Tail::Open { last } => {
                let expected = last + 1;
                let found = range.map_or(expected, |(first, _)| first);
                match self.limits.max_session_bytes {
                    Some(limit) if found == expected => Err(StoreError::SessionLimit { limit }),
                    _ => Err(StoreError::OutOfOrder { expected, found }),
                }
            }
            Tail::Ended { .. } => Err(StoreError::SessionEnded),
            Tail::Deleted | Tail::Unknown => Err(StoreError::SessionNotFound),
        }
    }

    fn insert_chunks(&self, connection: &Connection, append: &PreparedAppend) -> Result<(), StoreError> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO events (place, count, checksum, append, json, payloads, event_checksums) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        let number = self.number.load(Ordering::Relaxed);
        for (chunk, row) in append.chunks.iter().zip(&append.rows) {
            let text = append.lines.text(&chunk.events).unwrap_or_default();
            let place = self.chunk_place(append, chunk)?;
            let count = i64::try_from(chunk.events.len()).unwrap_or(i64::MAX);
            let events = events::to_value(row.events(text));
            insert.execute((place, count, row.checksum, number, events, &row.payloads, &row.event_checksums))?;
        }
        Ok(())
    }

    /// Place of a chunk, which is the place of its last event.
    fn chunk_place(&self, append: &PreparedAppend, chunk: &Chunk) -> Result<i64, StoreError> {
        let last = chunk.events.end.checked_sub(1).and_then(|last| append.lines.get(last));
        last.and_then(|(sequence, _)| place(self.session, sequence))
            .ok_or_else(|| StoreError::Database("the session has the maximum number of events".to_owned()))
    }
}

impl StoreWrite for AppendEvents {
    type Output = ();

    fn run(&self, connection: &Connection) -> Result<(), StoreError> {
        let append = self.append.as_ref().map_err(Clone::clone)?;
        self.update_session(connection, append)?;
        self.insert_chunks(connection, append)?;
        let changes = &append.changes;
        if let Some(state) = &changes.state {
            connection
                .prepare_cached("UPDATE kept SET state = ?2 WHERE session = ?1")?
                .execute((self.session.0, state.as_str()))?;
        }
        summary::write(&changes.summary, connection, self.session)?;
        for (id, turn_starts_after) in &changes.begun {
            message::begin(connection, self.session, *id, *turn_starts_after)?;
        }
        if changes.ended {
            // Overwriting long messages with zeros would need space, which a full disk does not have.
            connection.pragma_update(None, "secure_delete", "fast")?;
            let removed = message::cancel_all(connection, self.session)
                .and_then(|()| summary::delete_requests(connection, self.session));
            connection.pragma_update(None, "secure_delete", "on")?;
            removed?;
        }
        Ok(())
    }

    fn notification(&self) -> Option<Notification> {
        let append = self.append.as_ref().ok()?;
        let (_, last) = append.lines.sequence_range()?;
        let tail = if append.changes.ended { Tail::Ended { last } } else { Tail::Open { last } };
        Some(Notification { session: self.session, tail, lines: Some(Arc::clone(&append.lines)) })
    }

    fn append_number(&self) -> i64 {
        self.number.load(Ordering::Relaxed)
    }

    fn appended_events(&self) -> usize {
        self.append.as_ref().map_or(0, |append| append.lines.len())
    }

    fn is_essential(&self) -> bool {
        self.append.as_ref().is_ok_and(|append| append.changes.essential)
    }

    fn frees_space(&self) -> bool {
        self.append.as_ref().is_ok_and(|append| append.changes.ended || !append.changes.begun.is_empty())
    }
}

/// Adds a message to the end of a session's queue.
pub(crate) struct EnqueueMessage {
    session: SessionKey,
    message: Result<EncodedMessage, StoreError>,
    limits: Limits,
    time: Timestamp,
}

impl EnqueueMessage {
    pub(crate) fn new(session: SessionKey, message: NewMessage, limits: Limits) -> Self {
        Self { session, message: EncodedMessage::new(message), limits, time: now() }
    }
}

impl StoreWrite for EnqueueMessage {
    type Output = Enqueued;

    fn run(&self, connection: &Connection) -> Result<Enqueued, StoreError> {
        let message = self.message.as_ref().map_err(Clone::clone)?;
        if let Some(existing) = message::find(connection, self.session, &message.new.public_id)? {
            return Ok(Enqueued::Existing(existing));
        }
        match session::load_tail(connection, self.session)? {
            Tail::Open { .. } => {}
            Tail::Ended { .. } => return Err(StoreError::SessionEnded),
            Tail::Deleted | Tail::Unknown => return Err(StoreError::SessionNotFound),
        }
        self.limits.check_store(connection, message.byte_len())?;
        self.limits.check_session(connection, self.session, message.byte_len())?;
        connection
            .prepare_cached("UPDATE sessions SET updated_at = max(updated_at, ?2) WHERE key = ?1")?
            .execute((self.session.0, self.time.as_millis()))?;
        message::insert(connection, self.session, message, self.time).map(Enqueued::New)
    }
}

/// Removes a message from a session's queue.
pub(crate) struct CancelMessage {
    pub(crate) session: SessionKey,
    pub(crate) message: MessageId,
}

impl StoreWrite for CancelMessage {
    type Output = bool;

    fn run(&self, connection: &Connection) -> Result<bool, StoreError> {
        message::cancel(connection, self.session, self.message)
    }

    fn frees_space(&self) -> bool {
        true
    }
}

/// Changes what a session was created with.
pub(crate) struct UpdateSession {
    session: SessionKey,
    changes: SessionChanges,
    time: Timestamp,
}

impl UpdateSession {
    pub(crate) fn new(session: SessionKey, changes: SessionChanges) -> Self {
        Self { session, changes, time: now() }
    }
}

impl StoreWrite for UpdateSession {
    type Output = Session;

    fn run(&self, connection: &Connection) -> Result<Session, StoreError> {
        let mut session = session::find_by_key(connection, self.session)?.ok_or(StoreError::SessionNotFound)?;
        let changes = &self.changes;
        for (name, value) in &changes.labels {
            match value {
                Some(value) => session.labels.insert(name.clone(), value.clone()),
                None => session.labels.remove(name),
            };
        }
        // Checked here too, because several updates may add labels at the same time.
        let found = session.labels.len();
        if found > MAX_LABELS && changes.labels.values().any(Option::is_some) {
            return Err(StoreError::TooManyLabels { found });
        }
        connection
            .prepare_cached(
                "UPDATE sessions SET title = iif(?2, ?3, title), model = iif(?4, ?5, model), \
                 reported_model = iif(?4, NULL, reported_model), permission_mode = iif(?6, ?7, permission_mode), \
                 labels = ?8, updated_at = max(updated_at, ?9) WHERE key = ?1",
            )?
            .execute((
                self.session.0,
                changes.title.is_some(),
                changes.title.as_ref().and_then(Option::as_deref),
                changes.model.is_some(),
                changes.model.as_ref().and_then(Option::as_deref),
                changes.permission_mode.is_some(),
                changes.permission_mode.as_deref(),
                encode_labels(&session.labels),
                self.time.as_millis(),
            ))?;
        session::find_by_key(connection, self.session)?.ok_or(StoreError::SessionNotFound)
    }

    fn notification(&self) -> Option<Notification> {
        // Its labels may have changed, on which the filters of readers depend.
        Some(Notification { session: self.session, tail: Tail::Unknown, lines: None })
    }
}

/// Deletes a session. Its events and messages are removed afterwards (see `purge`).
pub(crate) struct DeleteSession {
    session: SessionKey,
    /// Only if the session has this number of events and never had a message.
    unchanged_since: Option<u64>,
    counter: AppendCounter,
}

impl DeleteSession {
    pub(crate) fn new(session: SessionKey, counter: AppendCounter) -> Self {
        Self { session, unchanged_since: None, counter }
    }

    /// Deletes the session only if it has this number of events and never had a message.
    pub(crate) fn if_unchanged(self, event_count: u64) -> Self {
        Self { unchanged_since: Some(event_count), ..self }
    }

    fn is_changed(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let Some(event_count) = self.unchanged_since else { return Ok(false) };
        connection
            .prepare_cached(
                "SELECT event_count <> ?2 OR EXISTS (SELECT 1 FROM messages WHERE session = ?1) \
                 FROM sessions WHERE key = ?1",
            )?
            .query_row((self.session.0, event_count.cast_signed()), |row| row.get(0))
            .optional()
            .map(Option::unwrap_or_default)
    }
}

impl StoreWrite for DeleteSession {
    type Output = ();

    fn run(&self, connection: &Connection) -> Result<(), StoreError> {
        let session = self.session.0;
        if self.is_changed(connection)? {
            return Err(StoreError::SessionChanged);
        }
        if connection.prepare_cached("DELETE FROM sessions WHERE key = ?1")?.execute([session])? == 0 {
            return Err(StoreError::SessionNotFound);
        }
        connection.prepare_cached("INSERT INTO deleted_sessions (session) VALUES (?1)")?.execute([session])?;
        Ok(self.counter.save(connection)?)
    }

    fn notification(&self) -> Option<Notification> {
        Some(Notification { session: self.session, tail: Tail::Deleted, lines: None })
    }

    fn is_essential(&self) -> bool {
        true
    }

    fn deletes_data(&self) -> bool {
        true
    }
}
