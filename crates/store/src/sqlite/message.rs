//! The rows of messages.

use interlingua_schema::{Message, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::message::{BEGUN, CANCELLED, QUEUED};
use crate::{MessageId, MessageRecord, MessageState, NewMessage, QueuedMessage, SessionKey, StoreError};

/// A message as it is stored.
#[derive(Debug)]
pub(crate) struct EncodedMessage {
    pub(crate) new: NewMessage,
    /// JSON of the attachments, if there are any.
    attachments: Option<String>,
}

impl EncodedMessage {
    /// Encodes a message on the caller's thread, so that the writer thread only has to store it.
    pub(crate) fn new(new: NewMessage) -> Result<Self, StoreError> {
        let attachments = match new.message.attachments.as_slice() {
            [] => None,
            attachments => {
                Some(serde_json::to_string(attachments).map_err(|error| StoreError::Database(error.to_string()))?)
            }
        };
        Ok(Self { new, attachments })
    }

    /// Number of bytes in the queue.
    pub(crate) fn byte_len(&self) -> usize {
        self.new.message.text.len() + self.attachments.as_ref().map_or(0, String::len)
    }
}

/// Number of bytes of the queued messages of a session.
pub(crate) fn queued_bytes(connection: &Connection, session: SessionKey) -> Result<u64, StoreError> {
    let query = "SELECT coalesce(sum(octet_length(text) + coalesce(octet_length(attachments), 0)), 0) FROM messages \
                 WHERE session = ?1 AND state = 0";
    Ok(connection.prepare_cached(query)?.query_row([session.0], |row| row.get::<_, i64>(0))?.cast_unsigned())
}

pub(crate) fn insert(
    connection: &Connection,
    session: SessionKey,
    message: &EncodedMessage,
    time: Timestamp,
) -> Result<MessageId, StoreError> {
    let EncodedMessage { new, attachments } = message;
    let id = connection
        .prepare_cached(
            "INSERT INTO messages (session, public_id, fingerprint, created_at, text, attachments) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .insert((session.0, &new.public_id, &new.fingerprint, time.as_millis(), &new.message.text, attachments))?;
    Ok(MessageId(id))
}

/// Number of queued messages of all sessions.
pub(crate) fn count_queued(connection: &Connection) -> Result<u64, StoreError> {
    let query = "SELECT count(*) FROM messages WHERE state = ?1";
    Ok(connection.prepare_cached(query)?.query_row([QUEUED], |row| row.get::<_, i64>(0))?.cast_unsigned())
}

pub(crate) fn find(
    connection: &Connection,
    session: SessionKey,
    public_id: &str,
) -> Result<Option<MessageRecord>, StoreError> {
    let from_row = |row: &Row<'_>| {
        let state = match row.get(2)? {
            BEGUN => {
                let after = row.get::<_, Option<i64>>(3)?.unwrap_or_default();
                MessageState::Begun { turn_starts_after: after.cast_unsigned() }
            }
            CANCELLED => MessageState::Cancelled,
            _ => MessageState::Queued,
        };
        Ok(MessageRecord { id: MessageId(row.get(0)?), fingerprint: row.get(1)?, state })
    };
    let query = "SELECT id, fingerprint, state, turn_starts_after FROM messages WHERE session = ?1 AND public_id = ?2";
    Ok(connection.prepare_cached(query)?.query_row((session.0, public_id), from_row).optional()?)
}

pub(crate) fn next(connection: &Connection, session: SessionKey) -> Result<Option<QueuedMessage>, StoreError> {
    Ok(load(connection, session, None, 0)?.pop())
}

/// The first message of the queue, unless reading it takes long.
#[derive(Debug)]
pub(crate) enum NextMessage {
    /// The message; `None` if the queue is empty.
    Small(Option<QueuedMessage>),
    /// A message that should be read on a blocking thread.
    Large,
}

/// Maximum size of a message that is read on an async thread.
const MAX_SMALL_MESSAGE_BYTES: i64 = 64 * 1024;

pub(crate) fn next_small(connection: &Connection, session: SessionKey) -> Result<NextMessage, StoreError> {
    let query = "SELECT octet_length(text) FROM messages WHERE session = ?1 AND state = 0 ORDER BY id LIMIT 1";
    let bytes = connection.prepare_cached(query)?.query_row([session.0], |row| row.get::<_, i64>(0)).optional()?;
    match bytes {
        None => Ok(NextMessage::Small(None)),
        Some(bytes) if bytes > MAX_SMALL_MESSAGE_BYTES => Ok(NextMessage::Large),
        Some(_) => next(connection, session).map(NextMessage::Small),
    }
}

/// The messages of the queue after a message, oldest first, up to the one with which their texts reach this size.
pub(crate) fn load(
    connection: &Connection,
    session: SessionKey,
    after: Option<MessageId>,
    max_bytes: usize,
) -> Result<Vec<QueuedMessage>, StoreError> {
    let query = "SELECT id, public_id, created_at, text, attachments FROM messages \
                 WHERE session = ?1 AND state = 0 AND id > ?2 ORDER BY id";
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query((session.0, after.map_or(i64::MIN, |after| after.0)))?;
    let (mut messages, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let attachments = match row.get::<_, Option<String>>(4)? {
            Some(json) => serde_json::from_str(&json).map_err(|error| StoreError::Database(error.to_string()))?,
            None => Vec::new(),
        };
        let text: String = row.get(3)?;
        bytes += text.len();
        messages.push(QueuedMessage {
            id: MessageId(row.get(0)?),
            public_id: row.get(1)?,
            created_at: Timestamp::from_millis(row.get(2)?),
            message: Message::new(text).attachments(attachments),
        });
        if bytes >= max_bytes {
            break;
        }
    }
    Ok(messages)
}

/// Takes a message from the queue because its turn begins.
pub(crate) fn begin(
    connection: &Connection,
    session: SessionKey,
    id: MessageId,
    turn_starts_after: u64,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE messages SET state = ?3, turn_starts_after = ?4, text = '', attachments = NULL \
             WHERE id = ?1 AND session = ?2",
        )?
        .execute((id.0, session.0, BEGUN, turn_starts_after.cast_signed()))?;
    Ok(())
}

/// Removes a message from the queue. False if it is not queued any more.
pub(crate) fn cancel(connection: &Connection, session: SessionKey, id: MessageId) -> Result<bool, StoreError> {
    let cancelled = connection
        .prepare_cached(
            "UPDATE messages SET state = ?3, text = '', attachments = NULL WHERE id = ?1 AND session = ?2 AND state = ?4",
        )?
        .execute((id.0, session.0, CANCELLED, QUEUED))?;
    Ok(cancelled > 0)
}

/// Removes all messages from the queue of a session that has ended.
pub(crate) fn cancel_all(connection: &Connection, session: SessionKey) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE messages SET state = ?2, text = '', attachments = NULL WHERE session = ?1 AND state = 0",
        )?
        .execute((session.0, CANCELLED))?;
    Ok(())
}
