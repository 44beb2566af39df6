//! The rows of messages.

use interlingua_schema::{Message, Timestamp};
use tokio_postgres::Row;

use crate::message::{BEGUN, CANCELLED, QUEUED};
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::text;
use crate::{Enqueued, MessageId, MessageRecord, MessageState, NewMessage, QueuedMessage, SessionKey, StoreError};

pub(crate) const BEGIN_TURNS: &str = "UPDATE messages AS m \
     SET state = 1, turn_starts_after = u.after, text = '', attachments = NULL \
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (id, session, after) \
     WHERE m.id = u.id AND m.session = u.session";

pub(crate) const CANCEL_ALL: &str =
    "UPDATE messages SET state = 2, text = '', attachments = NULL WHERE session = $1 AND state = 0";

/// Queues a message if the session is open and has no message with the same id.
const INSERT: &str = "WITH open AS (UPDATE sessions SET updated_at = greatest(updated_at, $4) \
         WHERE key = $1 AND NOT ended \
         AND NOT EXISTS (SELECT 1 FROM messages WHERE session = $1 AND public_id = $2) RETURNING key) \
     INSERT INTO messages (session, public_id, fingerprint, created_at, text, attachments) \
     SELECT key, $2, $3, $4, $5, $6 FROM open ON CONFLICT (session, public_id) DO NOTHING RETURNING id";

/// A message as it is stored.
pub(crate) struct EncodedMessage {
    public_id: String,
    fingerprint: Vec<u8>,
    text: Vec<u8>,
    attachments: Option<String>,
    time: Timestamp,
}

impl EncodedMessage {
    pub(crate) fn new(message: NewMessage, time: Timestamp) -> Result<Self, StoreError> {
        let attachments = match message.message.attachments.as_slice() {
            [] => None,
            attachments => {
                Some(serde_json::to_string(attachments).map_err(|error| StoreError::Database(error.to_string()))?)
            }
        };
        Ok(Self {
            public_id: text::encode(&message.public_id).into_owned(),
            fingerprint: message.fingerprint,
            text: message.message.text.into_bytes(),
            attachments,
            time,
        })
    }

    pub(crate) fn byte_len(&self) -> usize {
        self.text.len() + self.attachments.as_ref().map_or(0, String::len)
    }

    /// Queues the message, unless the session has one with its id.
    pub(crate) async fn insert(&self, client: &DbClient, session: SessionKey) -> Result<Enqueued, DbError> {
        let Self { public_id, fingerprint, text, attachments, time } = self;
        let time = time.as_millis();
        let inserted =
            client.query_opt(INSERT, &[&session.0, public_id, fingerprint, &time, text, attachments]).await?;
        if let Some(row) = inserted {
            return Ok(Enqueued::New(MessageId(row.get(0))));
        }
        if let Some(existing) = find_encoded(client, session, public_id).await? {
            return Ok(Enqueued::Existing(existing));
        }
        let row = client.query_opt("SELECT ended FROM sessions WHERE key = $1", &[&session.0]).await?;
        Err(DbError::Refused(match row {
            Some(_) => StoreError::SessionEnded,
            None => StoreError::SessionNotFound,
        }))
    }
}

/// What is stored of a message, whether it still waits or not.
pub(crate) async fn find(
    client: &DbClient,
    session: SessionKey,
    public_id: &str,
) -> Result<Option<MessageRecord>, DbError> {
    find_encoded(client, session, &text::encode(public_id)).await
}

async fn find_encoded(
    client: &DbClient,
    session: SessionKey,
    public_id: &str,
) -> Result<Option<MessageRecord>, DbError> {
    let query = "SELECT id, fingerprint, state, turn_starts_after FROM messages WHERE session = $1 AND public_id = $2";
    let row = client.query_opt(query, &[&session.0, &public_id]).await?;
    Ok(row.as_ref().map(record_from_row))
}

fn record_from_row(row: &Row) -> MessageRecord {
    let state = match i64::from(row.get::<_, i16>(2)) {
        BEGUN => {
            let after = row.get::<_, Option<i64>>(3).unwrap_or_default();
            MessageState::Begun { turn_starts_after: after.cast_unsigned() }
        }
        CANCELLED => MessageState::Cancelled,
        _ => MessageState::Queued,
    };
    MessageRecord { id: MessageId(row.get(0)), fingerprint: row.get(1), state }
}

/// Number of queued messages of all sessions.
pub(crate) async fn count_queued(client: &DbClient) -> Result<u64, DbError> {
    let row = client.query_one("SELECT count(*) FROM messages WHERE state = 0", &[]).await?;
    Ok(row.get::<_, i64>(0).cast_unsigned())
}

/// The messages of the queue after a message, oldest first, up to the one with which their texts reach this size.
pub(crate) async fn load(
    client: &DbClient,
    session: SessionKey,
    after: Option<MessageId>,
    max_bytes: usize,
) -> Result<Vec<QueuedMessage>, DbError> {
    let query = "SELECT id, public_id, created_at, text, attachments FROM ( \
                     SELECT *, row_number() OVER queue AS number, \
                         sum(octet_length(text)) OVER queue - octet_length(text) AS bytes_before \
                     FROM messages WHERE session = $1 AND state = 0 AND id > $2 WINDOW queue AS (ORDER BY id) \
                 ) AS queued WHERE number = 1 OR bytes_before < $3 ORDER BY id";
    let after = after.map_or(i64::MIN, |after| after.0);
    let max_bytes = i64::try_from(max_bytes).unwrap_or(i64::MAX);
    let rows = client.query(query, &[&session.0, &after, &max_bytes]).await?;
    Ok(rows.iter().map(queued_from_row).collect())
}

fn queued_from_row(row: &Row) -> QueuedMessage {
    let attachments =
        row.get::<_, Option<&str>>(4).and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(row.get::<_, &[u8]>(3)).into_owned();
    QueuedMessage {
        id: MessageId(row.get(0)),
        public_id: text::decode(row.get(1)),
        created_at: Timestamp::from_millis(row.get(2)),
        message: Message::new(text).attachments(attachments),
    }
}

/// Takes messages from their queues because their turns begin: session, message, and the sequence before the turn.
pub(crate) async fn begin_turns(client: &DbClient, begun: Vec<(SessionKey, (MessageId, u64))>) -> Result<(), DbError> {
    let ids: Vec<i64> = begun.iter().map(|(_, (id, _))| id.0).collect();
    let sessions: Vec<i64> = begun.iter().map(|(session, _)| session.0).collect();
    let after: Vec<i64> = begun.iter().map(|(_, (_, after))| after.cast_signed()).collect();
    client.execute(BEGIN_TURNS, &[&ids, &sessions, &after]).await.map(drop)
}

/// Removes a message from the queue. False if it is not queued any more.
pub(crate) async fn cancel(client: &DbClient, session: SessionKey, id: MessageId) -> Result<bool, DbError> {
    let cancelled = client
        .execute(
            "UPDATE messages SET state = $3, text = '', attachments = NULL WHERE id = $1 AND session = $2 AND state = $4",
            &[&id.0, &session.0, &to_column(CANCELLED), &to_column(QUEUED)],
        )
        .await?;
    Ok(cancelled > 0)
}

/// Whether a message was removed from the queue.
pub(crate) async fn is_cancelled(client: &DbClient, id: MessageId) -> Result<bool, DbError> {
    let query = "SELECT 1 FROM messages WHERE id = $1 AND state = $2";
    Ok(client.query_opt(query, &[&id.0, &to_column(CANCELLED)]).await?.is_some())
}

fn to_column(state: i64) -> i16 {
    i16::try_from(state).unwrap_or_default()
}

/// Removes all messages from the queue of a session that has ended.
pub(crate) async fn cancel_all(client: &DbClient, session: SessionKey) -> Result<(), DbError> {
    client.execute(CANCEL_ALL, &[&session.0]).await.map(drop)
}
