//! Writing what a session's events say about its present.

use interlingua_schema::Usage;
use rusqlite::{Connection, OptionalExtension};

use crate::summary::{RequestChange, SummaryChanges};
use crate::{SessionKey, StoreError};

/// Writes the changes. Most appends have none.
pub(crate) fn write(changes: &SummaryChanges, connection: &Connection, session: SessionKey) -> Result<(), StoreError> {
    for change in &changes.requests {
        match change {
            RequestChange::Opened { kind, id, data } => connection
                .prepare_cached(
                    "INSERT INTO pending_requests (session, kind, id, data) VALUES (?1, ?2, ?3, ?4) \
                     ON CONFLICT DO UPDATE SET data = excluded.data",
                )?
                .execute((session.0, kind, id, data))?,
            RequestChange::Resolved { kind, id } => connection
                .prepare_cached("DELETE FROM pending_requests WHERE session = ?1 AND kind = ?2 AND id = ?3")?
                .execute((session.0, kind, id))?,
        };
    }
    if changes.last_turn_status.is_none() && changes.model.is_none() && changes.mode.is_none() {
        return Ok(());
    }
    let usage = match &changes.usage {
        Some(usage) => Some(add_usage(connection, session, usage)?),
        None => None,
    };
    connection
        .prepare_cached(
            "UPDATE sessions SET last_turn_status = coalesce(?2, last_turn_status), usage = coalesce(?3, usage), \
             reported_model = coalesce(?4, reported_model), reported_mode = coalesce(?5, reported_mode) \
             WHERE key = ?1",
        )?
        .execute((session.0, &changes.last_turn_status, usage, &changes.model, &changes.mode))?;
    Ok(())
}

/// The stored usage of a session plus `usage`, as JSON.
fn add_usage(connection: &Connection, session: SessionKey, usage: &Usage) -> Result<String, StoreError> {
    let stored: Option<String> = connection
        .prepare_cached("SELECT usage FROM sessions WHERE key = ?1")?
        .query_row([session.0], |row| row.get(0))
        .optional()?
        .flatten();
    let mut total: Usage = stored.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
    total += usage.clone();
    serde_json::to_string(&total).map_err(|error| StoreError::Database(error.to_string()))
}

/// Forgets the pending requests of a session that has ended or is deleted.
pub(crate) fn delete_requests(connection: &Connection, session: SessionKey) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM pending_requests WHERE session = ?1")?.execute([session.0])?;
    Ok(())
}
