//! The rows of sessions.

use std::collections::BTreeMap;

use interlingua_schema::{NativeSessionId, RawJson, SessionId, Timestamp};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use crate::notifier::Tail;
use crate::sqlite::session_filter;
use crate::{Session, SessionFilter, SessionKey, StoreError, StoredSessionPage, StoredState};

const COLUMNS: &str = "key, id, agent, agent_mode, permission_mode, model, variant, native_session_id, directory, \
     title, ended, busy, event_count, created_at, updated_at, \
     (SELECT config FROM kept WHERE kept.session = sessions.key), \
     labels, reported_model, reported_mode, last_turn_status, usage, \
     (SELECT nullif('[' || group_concat(data, ',' ORDER BY pending_requests.key) || ']', '[]') FROM pending_requests \
      WHERE pending_requests.session = sessions.key), \
     (SELECT count(*) FROM messages WHERE messages.session = sessions.key AND messages.state = 0)";

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
        placement: None,
        owner: None,
        has_secret_holder: false,
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
    let (condition, mut values) = session_filter::to_sql(filter);
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
    let (condition, values) = session_filter::to_sql(filter);
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
