//! The rows of sessions.

use std::collections::BTreeMap;

use interlingua_schema::{NativeSessionId, RawJson, SessionId, Timestamp};
use tokio_postgres::Row;

use crate::notifier::Tail;
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::session_filter::{Condition, HAS_SECRET_HOLDER};
use crate::postgres::text;
use crate::session::encode_labels;
use crate::{
    MAX_LABELS, NewSession, Session, SessionChanges, SessionFilter, SessionKey, StoredSessionPage, StoredState,
};

/// The columns of a session, of a table with the name `s`.
fn columns() -> String {
    format!(
        "s.key, s.id, s.agent, s.agent_mode, s.permission_mode, s.model, s.variant, s.native_session_id, s.directory, \
         s.title, s.ended, s.busy, s.event_count, s.created_at, s.updated_at, \
         (SELECT k.config FROM kept AS k WHERE k.session = s.key), s.labels::text, s.reported_model, s.reported_mode, \
         s.last_turn_status, s.usage, \
         (SELECT '[' || string_agg(r.data, ',' ORDER BY r.key) || ']' FROM pending_requests AS r \
         WHERE r.session = s.key), \
         (SELECT count(*) FROM messages AS m WHERE m.session = s.key AND m.state = 0), s.placement, \
         (SELECT v.name FROM servers AS v WHERE v.id = s.owner AND v.expires_at > clock_timestamp()), \
         s.has_secrets AND {HAS_SECRET_HOLDER}"
    )
}

/// A column of text that a client may have chosen.
fn text_column(row: &Row, index: usize) -> Option<String> {
    row.get::<_, Option<String>>(index).map(text::decode)
}

fn json_column(row: &Row, index: usize) -> Option<RawJson> {
    row.get::<_, Option<&str>>(index).map(RawJson::from_payload)
}

fn from_row(row: &Row) -> Session {
    Session {
        key: SessionKey(row.get(0)),
        id: row.get::<_, String>(1).into(),
        agent: row.get(2),
        agent_mode: text_column(row, 3),
        permission_mode: text_column(row, 4),
        model: text_column(row, 5),
        variant: text_column(row, 6),
        native_session_id: text_column(row, 7).map(NativeSessionId::from),
        directory: text_column(row, 8),
        title: text_column(row, 9),
        ended: row.get(10),
        busy: row.get(11),
        event_count: row.get::<_, i64>(12).cast_unsigned(),
        created_at: Timestamp::from_millis(row.get(13)),
        updated_at: Timestamp::from_millis(row.get(14)),
        config: json_column(row, 15),
        labels: decode_labels(row.get(16)),
        reported_model: text_column(row, 17),
        reported_mode: text_column(row, 18),
        last_turn_status: row.get(19),
        usage: json_column(row, 20),
        pending: json_column(row, 21),
        queued: row.get::<_, i64>(22).cast_unsigned(),
        placement: row.get(23),
        owner: row.get(24),
        has_secret_holder: row.get(25),
    }
}

/// Labels as they are stored. JSON escapes NUL, which `jsonb` refuses even then.
fn encode(labels: &BTreeMap<String, String>) -> Option<String> {
    let encoded = labels
        .iter()
        .map(|(name, value)| (text::encode(name).into_owned(), text::encode(value).into_owned()))
        .collect();
    encode_labels(&encoded)
}

fn decode_labels(stored: Option<&str>) -> BTreeMap<String, String> {
    let labels: BTreeMap<String, String> =
        stored.and_then(|labels| serde_json::from_str(labels).ok()).unwrap_or_default();
    labels.into_iter().map(|(name, value)| (text::decode(name), text::decode(value))).collect()
}

pub(crate) async fn find_by_id(client: &DbClient, id: &SessionId) -> Result<Option<Session>, DbError> {
    let query = format!("SELECT {} FROM sessions AS s WHERE s.id = $1", columns());
    Ok(client.query_opt(&query, &[&text::encode(id.as_str())]).await?.as_ref().map(from_row))
}

pub(crate) async fn find_by_key(client: &DbClient, key: SessionKey) -> Result<Option<Session>, DbError> {
    let query = format!("SELECT {} FROM sessions AS s WHERE s.key = $1", columns());
    Ok(client.query_opt(&query, &[&key.0]).await?.as_ref().map(from_row))
}

pub(crate) async fn load_page(
    client: &DbClient,
    filter: &SessionFilter,
    limit: usize,
    from: Option<SessionKey>,
) -> Result<StoredSessionPage, DbError> {
    let mut condition = Condition::new(filter);
    let from = condition.add(from.map_or(i64::MAX, |key| key.0));
    // One row more than the limit shows whether there is a next page.
    let row_limit = condition.add(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1));
    let query = format!(
        "SELECT {} FROM sessions AS s WHERE {} AND s.key < {from} ORDER BY s.key DESC LIMIT {row_limit}",
        columns(),
        condition.sql
    );
    let rows = client.query(&query, &condition.params()).await?;
    let mut sessions: Vec<Session> = rows.iter().map(from_row).collect();
    let has_more = sessions.len() > limit;
    sessions.truncate(limit);
    let next = sessions.last().map(|last| last.key).filter(|_| has_more);
    Ok(StoredSessionPage { sessions, next })
}

/// Number of sessions that pass a filter.
pub(crate) async fn count(client: &DbClient, filter: &SessionFilter) -> Result<u64, DbError> {
    let condition = Condition::new(filter);
    let query = format!("SELECT count(*) FROM sessions AS s WHERE {}", condition.sql);
    Ok(client.query_one(&query, &condition.params()).await?.get::<_, i64>(0).cast_unsigned())
}

/// Those of the sessions that pass a filter.
pub(crate) async fn filter(
    client: &DbClient,
    filter: &SessionFilter,
    sessions: &[SessionKey],
) -> Result<Vec<SessionKey>, DbError> {
    let mut condition = Condition::new(filter);
    let keys: Vec<i64> = sessions.iter().map(|key| key.0).collect();
    let keys = condition.add(keys);
    let query = format!("SELECT s.key FROM sessions AS s WHERE {} AND s.key = ANY({keys})", condition.sql);
    let rows = client.query(&query, &condition.params()).await?;
    Ok(rows.iter().map(|row| SessionKey(row.get(0))).collect())
}

pub(crate) async fn load_interrupted(client: &DbClient) -> Result<Vec<Session>, DbError> {
    let query = format!(
        "SELECT {} FROM sessions AS s WHERE NOT s.ended \
         AND (s.busy OR s.key IN (SELECT session FROM messages WHERE state = 0)) ORDER BY s.key",
        columns()
    );
    Ok(client.query(&query, &[]).await?.iter().map(from_row).collect())
}

/// The sessions with these keys, oldest first.
pub(crate) async fn load(client: &DbClient, keys: &[i64]) -> Result<Vec<Session>, DbError> {
    let query = format!("SELECT {} FROM sessions AS s WHERE s.key = ANY($1) ORDER BY s.key", columns());
    Ok(client.query(&query, &[&keys]).await?.iter().map(from_row).collect())
}

/// What the runtime stored with a session; `None` if there is no such session.
pub(crate) async fn load_state(client: &DbClient, session: SessionKey) -> Result<Option<StoredState>, DbError> {
    let row = client.query_opt("SELECT state FROM kept WHERE session = $1", &[&session.0]).await?;
    Ok(row.as_ref().map(|row| StoredState { state: json_column(row, 0) }))
}

pub(crate) async fn load_tail(client: &DbClient, session: SessionKey) -> Result<Tail, DbError> {
    let query = "SELECT event_count, ended FROM sessions WHERE key = $1";
    let row = client.query_opt(query, &[&session.0]).await?;
    Ok(row.as_ref().map_or(Tail::Deleted, |row| tail(row, 0)))
}

/// The tail in the columns `event_count` and `ended`.
pub(crate) fn tail(row: &Row, first: usize) -> Tail {
    let last = row.get::<_, i64>(first).cast_unsigned();
    if row.get(first + 1) { Tail::Ended { last } } else { Tail::Open { last } }
}

/// Creates a session. `None` if its id is taken, unless by an attempt with the same nonce whose answer was lost.
pub(crate) async fn insert(
    client: &DbClient,
    new: &NewSession,
    nonce: i64,
    time: Timestamp,
) -> Result<Option<Session>, DbError> {
    const INSERT: &str = "WITH new AS (INSERT INTO sessions (id, nonce, agent, agent_mode, permission_mode, model, \
             variant, native_session_id, directory, title, created_at, updated_at, labels, has_secrets, placement, home) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12::text::jsonb, $13, $14, $15) \
             ON CONFLICT (id) DO NOTHING RETURNING key) \
         INSERT INTO kept (session, config) SELECT key, $16 FROM new RETURNING session";
    let created_at = new.created_at.unwrap_or(time);
    let encoded = |value: &Option<String>| value.as_deref().map(|value| text::encode(value).into_owned());
    let native = new.native_session_id.as_ref().map(|native| text::encode(native.as_str()).into_owned());
    let config = new.config.as_ref().map(RawJson::as_str);
    let id = text::encode(new.id.as_str());
    let inserted = client
        .query_opt(
            INSERT,
            &[
                &id,
                &nonce,
                &text::encode(&new.agent),
                &encoded(&new.agent_mode),
                &encoded(&new.permission_mode),
                &encoded(&new.model),
                &encoded(&new.variant),
                &native,
                &encoded(&new.directory),
                &encoded(&new.title),
                &created_at.as_millis(),
                &encode(&new.labels),
                &new.has_secrets,
                &new.placement,
                &new.home,
                &config,
            ],
        )
        .await?;
    let key = if let Some(row) = inserted {
        Some(row.get(0))
    } else {
        let query = "SELECT key FROM sessions WHERE id = $1 AND nonce = $2";
        client.query_opt(query, &[&id, &nonce]).await?.map(|row| row.get(0))
    };
    match key {
        Some(key) => find_by_key(client, SessionKey(key)).await,
        None => Ok(None),
    }
}

/// Changes what a session was created with, unless it would have too many labels.
pub(crate) async fn update(
    client: &DbClient,
    session: SessionKey,
    changes: &SessionChanges,
    time: Timestamp,
) -> Result<Update, DbError> {
    const UPDATE: &str = "UPDATE sessions SET title = CASE WHEN $2 THEN $3 ELSE title END, \
         model = CASE WHEN $4 THEN $5 ELSE model END, \
         reported_model = CASE WHEN $4 THEN NULL ELSE reported_model END, \
         permission_mode = coalesce($6, permission_mode), \
         labels = nullif(coalesce(labels, '{}') - $7::text[] || $8::text::jsonb, '{}'), \
         updated_at = greatest(updated_at, $9) WHERE key = $1 \
         AND ($8 = '{}' OR (SELECT count(*) FROM jsonb_object_keys(coalesce(labels, '{}') - $7::text[] || $8::text::jsonb)) <= $10)";
    let max_labels = i64::try_from(MAX_LABELS).unwrap_or(i64::MAX);
    let encoded = |value: Option<&str>| value.map(|value| text::encode(value).into_owned());
    let title = encoded(changes.title.as_ref().and_then(Option::as_deref));
    let model = encoded(changes.model.as_ref().and_then(Option::as_deref));
    let removed: Vec<String> = changes
        .labels
        .iter()
        .filter(|(_, value)| value.is_none())
        .map(|(name, _)| text::encode(name).into_owned())
        .collect();
    let set: BTreeMap<String, String> =
        changes.labels.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect();
    let set = encode(&set).unwrap_or_else(|| "{}".to_owned());
    let updated = client
        .execute(
            UPDATE,
            &[
                &session.0,
                &changes.title.is_some(),
                &title,
                &changes.model.is_some(),
                &model,
                &encoded(changes.permission_mode.as_deref()),
                &removed,
                &set,
                &time.as_millis(),
                &max_labels,
            ],
        )
        .await?;
    Ok(Update { is_done: updated > 0, session: find_by_key(client, session).await? })
}

/// What an update did.
pub(crate) struct Update {
    /// Whether the session was changed.
    pub(crate) is_done: bool,
    /// The session, if it exists.
    pub(crate) session: Option<Session>,
}
