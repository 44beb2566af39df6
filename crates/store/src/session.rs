//! Sessions: everything that is stored about them except their events and messages.

use std::collections::BTreeMap;

use interlingua_schema::{NativeSessionId, RawJson, SessionId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use crate::notifier::Tail;
use crate::{SessionFilter, StoreError};

/// The store's own key of a session. It is cheap to copy and never reused, so a stale key of a deleted session does
/// not refer to a later session with the same id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey(pub(crate) i64);

/// A session to create. Only `id` and `agent` are required.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewSession {
    /// Session id, chosen by the client.
    pub id: SessionId,
    /// Id of the agent.
    pub agent: String,
    /// The agent's mode; `None` for the agent's default.
    pub agent_mode: Option<String>,
    /// What the agent may do without asking; `None` for the agent's default.
    pub permission_mode: Option<String>,
    /// The requested model.
    pub model: Option<String>,
    /// The requested variant of the model.
    pub variant: Option<String>,
    /// The agent's own id of the session, if it is known already.
    pub native_session_id: Option<NativeSessionId>,
    /// The agent's working directory.
    pub directory: Option<String>,
    /// Title for people.
    pub title: Option<String>,
    /// Labels, by name.
    pub labels: BTreeMap<String, String>,
    /// Whether the session was created with values that may be secret, which are not stored.
    pub has_secrets: bool,
    /// Other settings of the session, in a form that only the runtime understands. Never credentials.
    pub config: Option<RawJson>,
}

impl NewSession {
    /// A session with this id and agent, without any options.
    #[must_use]
    pub fn new(id: impl Into<SessionId>, agent: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            agent: agent.into(),
            agent_mode: None,
            permission_mode: None,
            model: None,
            variant: None,
            native_session_id: None,
            directory: None,
            title: None,
            labels: BTreeMap::new(),
            has_secrets: false,
            config: None,
        }
    }
}

/// A stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// The store's key of the session.
    pub key: SessionKey,
    /// Session id.
    pub id: SessionId,
    /// Id of the agent.
    pub agent: String,
    /// The agent's mode, if one was chosen.
    pub agent_mode: Option<String>,
    /// What the agent may do without asking, if it was chosen.
    pub permission_mode: Option<String>,
    /// The requested model.
    pub model: Option<String>,
    /// The requested variant of the model.
    pub variant: Option<String>,
    /// The agent's own id of the session; `None` until it is known.
    pub native_session_id: Option<NativeSessionId>,
    /// The agent's working directory.
    pub directory: Option<String>,
    /// Title for people.
    pub title: Option<String>,
    /// Labels, by name.
    pub labels: BTreeMap<String, String>,
    /// The model that the agent reported last.
    pub reported_model: Option<String>,
    /// The agent's mode that it reported last.
    pub reported_mode: Option<String>,
    /// Status of the last turn that ended: `completed`, `failed`, `interrupted`.
    pub last_turn_status: Option<String>,
    /// Total usage of all turns, as JSON; `None` if the agent has reported none.
    pub usage: Option<RawJson>,
    /// Requests that wait for an answer, as a JSON array of the events' data with their `kind`; `None` if there are none.
    pub pending: Option<RawJson>,
    /// Number of messages in the queue.
    pub queued: u64,
    /// Whether the session has ended.
    pub ended: bool,
    /// Whether the session is busy; see [`Append::busy`](crate::Append::busy).
    pub busy: bool,
    /// Number of events, which is also the sequence of the last one.
    pub event_count: u64,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// [`NewSession::config`], as the session was created with.
    pub config: Option<RawJson>,
}

/// Changes of what a session was created with. A field that is `None` does not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionChanges {
    /// The new title; `Some(None)` removes it.
    pub title: Option<Option<String>>,
    /// The new model; `Some(None)` is the agent's default.
    pub model: Option<Option<String>>,
    /// What the agent may do without asking.
    pub permission_mode: Option<String>,
    /// Labels to set, or to remove where the value is `None`. Other labels stay.
    pub labels: BTreeMap<String, Option<String>>,
}

impl SessionChanges {
    interlingua_schema::setters! {
        pub title: Option<Option<String>>,
        pub model: Option<Option<String>>,
        pub permission_mode: Option<String>,
        pub labels: BTreeMap<String, Option<String>>,
    }
}

/// What the runtime stores with a session. The store does not interpret it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredState {
    /// The state that was last given to [`Append::state`](crate::Append::state).
    pub state: Option<RawJson>,
}

/// A page of sessions, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSessionPage {
    /// The sessions.
    pub sessions: Vec<Session>,
    /// Where the next page starts; `None` on the last page.
    pub next: Option<SessionKey>,
}

impl SessionKey {
    /// The key as a number, so that it can be part of a client's cursor.
    #[must_use]
    pub const fn to_number(self) -> i64 {
        self.0
    }

    /// The key from a client's cursor. The session need not exist.
    #[must_use]
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }
}

const COLUMNS: &str = "key, id, agent, agent_mode, permission_mode, model, variant, native_session_id, directory, \
     title, ended, busy, event_count, created_at, updated_at, \
     (SELECT config FROM kept WHERE kept.session = sessions.key), \
     labels, reported_model, reported_mode, last_turn_status, usage, \
     (SELECT nullif('[' || group_concat(data, ',' ORDER BY pending_requests.key) || ']', '[]') FROM pending_requests \
      WHERE pending_requests.session = sessions.key), \
     (SELECT count(*) FROM messages WHERE messages.session = sessions.key AND messages.state = 0)";

/// Labels as they are stored; `None` if there are none.
pub(crate) fn encode_labels(labels: &BTreeMap<String, String>) -> Option<String> {
    if labels.is_empty() { None } else { serde_json::to_string(labels).ok() }
}

fn json_column(row: &Row<'_>, index: usize) -> rusqlite::Result<Option<RawJson>> {
    Ok(row.get::<_, Option<String>>(index)?.map(|json| RawJson::from_payload(&json)))
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        key: SessionKey(row.get(0)?),
        id: row.get::<_, String>(1)?.into(),
        agent: row.get(2)?,
        agent_mode: row.get(3)?,
        permission_mode: row.get(4)?,
        model: row.get(5)?,
        variant: row.get(6)?,
        native_session_id: row.get::<_, Option<String>>(7)?.map(NativeSessionId::from),
        directory: row.get(8)?,
        title: row.get(9)?,
        ended: row.get(10)?,
        busy: row.get(11)?,
        event_count: row.get::<_, i64>(12)?.cast_unsigned(),
        created_at: Timestamp::from_millis(row.get(13)?),
        updated_at: Timestamp::from_millis(row.get(14)?),
        config: json_column(row, 15)?,
        labels: match row.get::<_, Option<String>>(16)? {
            Some(labels) => serde_json::from_str(&labels).unwrap_or_default(),
            None => BTreeMap::new(),
        },
        reported_model: row.get(17)?,
        reported_mode: row.get(18)?,
        last_turn_status: row.get(19)?,
        usage: json_column(row, 20)?,
        pending: json_column(row, 21)?,
        queued: row.get::<_, i64>(22)?.cast_unsigned(),
    })
}

pub(crate) fn find_by_id(connection: &Connection, id: &SessionId) -> Result<Option<Session>, StoreError> {
    let query = format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1");
    Ok(connection.prepare_cached(&query)?.query_row([id.as_str()], from_row).optional()?)
}

pub(crate) fn find_by_key(connection: &Connection, key: SessionKey) -> Result<Option<Session>, StoreError> {
    let query = format!("SELECT {COLUMNS} FROM sessions WHERE key = ?1");
    Ok(connection.prepare_cached(&query)?.query_row([key.0], from_row).optional()?)
}

pub(crate) fn load_page(
    connection: &Connection,
    filter: &SessionFilter,
    limit: usize,
    from: Option<SessionKey>,
) -> Result<StoredSessionPage, StoreError> {
    let (condition, mut values) = filter.to_sql();
    // One row more than the limit shows whether there is a next page.
    let row_limit = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let from = from.map_or(i64::MAX, |key| key.0);
    let query = format!("SELECT {COLUMNS} FROM sessions WHERE {condition} AND key < ? ORDER BY key DESC LIMIT ?");
    values.extend([Value::Integer(from), Value::Integer(row_limit)]);
    let mut statement = connection.prepare_cached(&query)?;
    let mut sessions = statement.query_map(params_from_iter(values), from_row)?.collect::<Result<Vec<_>, _>>()?;
    let has_more = sessions.len() > limit;
    sessions.truncate(limit);
    let next = sessions.last().map(|last| last.key).filter(|_| has_more);
    Ok(StoredSessionPage { sessions, next })
}

/// Number of sessions that pass a filter.
pub(crate) fn count(connection: &Connection, filter: &SessionFilter) -> Result<u64, StoreError> {
    let (condition, values) = filter.to_sql();
    let query = format!("SELECT count(*) FROM sessions WHERE {condition}");
    let count: i64 = connection.prepare_cached(&query)?.query_row(params_from_iter(values), |row| row.get(0))?;
    Ok(count.cast_unsigned())
}

pub(crate) fn load_interrupted(connection: &Connection) -> Result<Vec<Session>, StoreError> {
    let query = format!(
        "SELECT {COLUMNS} FROM sessions WHERE key IN \
         (SELECT key FROM sessions WHERE busy UNION SELECT session FROM messages WHERE state = 0) AND NOT ended ORDER BY key"
    );
    Ok(connection.prepare(&query)?.query_map([], from_row)?.collect::<Result<_, _>>()?)
}

pub(crate) fn load_state(connection: &Connection, session: SessionKey) -> Result<StoredState, StoreError> {
    let state = connection
        .prepare_cached("SELECT state FROM kept WHERE session = ?1")?
        .query_row([session.0], |row| row.get::<_, Option<String>>(0))
        .optional()?
        .ok_or(StoreError::SessionNotFound)?;
    Ok(StoredState { state: state.map(|state| RawJson::from_payload(&state)) })
}

pub(crate) fn load_tail(connection: &Connection, session: SessionKey) -> Result<Tail, StoreError> {
    let found = connection
        .prepare_cached("SELECT event_count, ended FROM sessions WHERE key = ?1")?
        .query_row([session.0], |row| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, bool>(1)?)))
        .optional()?;
    Ok(match found {
        Some((last, false)) => Tail::Open { last },
        Some((last, true)) => Tail::Ended { last },
        None => Tail::Deleted,
    })
}

/// Number of bytes of the session's stored events.
pub(crate) fn stored_bytes(connection: &Connection, session: SessionKey) -> Result<u64, StoreError> {
    let bytes = connection
        .prepare_cached("SELECT stored_bytes FROM sessions WHERE key = ?1")?
        .query_row([session.0], |row| row.get::<_, i64>(0))
        .optional()?;
    bytes.map(i64::cast_unsigned).ok_or(StoreError::SessionNotFound)
}
