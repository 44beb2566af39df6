//! Sessions: everything that is stored about them except their events and messages.

use interlingua_schema::{NativeSessionId, RawJson, SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::StoreError;
use crate::notifier::Tail;

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
     (SELECT config FROM kept WHERE kept.session = sessions.key)";

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
        config: row.get::<_, Option<String>>(15)?.map(|config| RawJson::from_payload(&config)),
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
    limit: usize,
    from: Option<SessionKey>,
) -> Result<StoredSessionPage, StoreError> {
    let query = format!("SELECT {COLUMNS} FROM sessions WHERE key < ?1 ORDER BY key DESC LIMIT ?2");
    // One row more than the limit shows whether there is a next page.
    let row_limit = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let from = from.map_or(i64::MAX, |key| key.0);
    let mut statement = connection.prepare_cached(&query)?;
    let mut sessions = statement.query_map((from, row_limit), from_row)?.collect::<Result<Vec<_>, _>>()?;
    let has_more = sessions.len() > limit;
    sessions.truncate(limit);
    let next = sessions.last().map(|last| last.key).filter(|_| has_more);
    Ok(StoredSessionPage { sessions, next })
}

pub(crate) fn load_interrupted(connection: &Connection) -> Result<Vec<Session>, StoreError> {
    let query = format!(
        "SELECT {COLUMNS} FROM sessions WHERE key IN \
         (SELECT key FROM sessions WHERE busy UNION SELECT session FROM messages) AND NOT ended ORDER BY key"
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
