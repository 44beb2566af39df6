//! The queue of messages that wait for their turn.

use interlingua_schema::Message;
use rusqlite::{Connection, OptionalExtension};

use crate::{SessionKey, StoreError};

/// Id of a queued message. Later messages have greater ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub(crate) i64);

/// A message in a session's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuedMessage {
    /// Id of the message.
    pub id: MessageId,
    /// The message.
    pub message: Message,
}

impl QueuedMessage {
    /// A queued message with this id.
    #[must_use]
    pub const fn new(id: MessageId, message: Message) -> Self {
        Self { id, message }
    }
}

pub(crate) fn insert(connection: &Connection, session: SessionKey, message: &Message) -> Result<MessageId, StoreError> {
    let attachments = match message.attachments.as_slice() {
        [] => None,
        attachments => {
            Some(serde_json::to_string(attachments).map_err(|error| StoreError::Database(error.to_string()))?)
        }
    };
    let id = connection
        .prepare_cached("INSERT INTO messages (session, text, attachments) VALUES (?1, ?2, ?3)")?
        .insert((session.0, &message.text, attachments))?;
    Ok(MessageId(id))
}

pub(crate) fn next(connection: &Connection, session: SessionKey) -> Result<Option<QueuedMessage>, StoreError> {
    let found = connection
        .prepare_cached("SELECT id, text, attachments FROM messages WHERE session = ?1 ORDER BY id LIMIT 1")?
        .query_row([session.0], |row| Ok((row.get(0)?, row.get(1)?, row.get::<_, Option<String>>(2)?)))
        .optional()?;
    let Some((id, text, attachments)): Option<(_, String, _)> = found else {
        return Ok(None);
    };
    let attachments = match attachments {
        Some(json) => serde_json::from_str(&json).map_err(|error| StoreError::Database(error.to_string()))?,
        None => Vec::new(),
    };
    Ok(Some(QueuedMessage::new(MessageId(id), Message::new(text).attachments(attachments))))
}

pub(crate) fn remove(connection: &Connection, session: SessionKey, id: MessageId) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM messages WHERE id = ?1 AND session = ?2")?.execute((id.0, session.0))?;
    Ok(())
}

pub(crate) fn remove_all(connection: &Connection, session: SessionKey) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM messages WHERE session = ?1")?.execute([session.0])?;
    Ok(())
}
