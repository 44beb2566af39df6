//! Removing what is not needed any more: the rows of deleted sessions, and what dead servers have left.
//!
//! Deleting a session takes effect at once: its row is gone, and its key is on a list. The other rows are removed in
//! steps, because a session may have gigabytes. If the server dies in between, another one goes on.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use crate::postgres::command;
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::limits::Limits;
use crate::postgres::pool::Pool;
use crate::postgres::uploads::StoredUploads;
use crate::{SessionKey, StoreError};

/// Number of rows of events that a step deletes.
const ROWS_PER_STEP: i64 = 1000;
/// Interval of looking for what was left.
const INTERVAL: Duration = Duration::from_secs(30);
/// Interval of measuring the size of the store, if it is limited.
const SIZE_INTERVAL: Duration = Duration::from_secs(5);

/// Removes all rows of a deleted session.
pub(crate) async fn remove(pool: &Arc<Pool>, session: SessionKey) -> Result<(), StoreError> {
    let client = pool.client().await?;
    while remove_events(&client, session).await? {}
    Ok(remove_rest(&client, session).await?)
}

/// Deletes some rows of events. Returns whether there may be more.
async fn remove_events(client: &DbClient, session: SessionKey) -> Result<bool, DbError> {
    const DELETE: &str = "DELETE FROM events WHERE session = $1 AND last IN \
         (SELECT last FROM events WHERE session = $1 ORDER BY last LIMIT $2)";
    let deleted = client.execute(DELETE, &[&session.0, &ROWS_PER_STEP]).await?;
    Ok(i64::try_from(deleted).is_ok_and(|deleted| deleted >= ROWS_PER_STEP))
}

/// Deletes the rows of other tables, and the entry in the list.
async fn remove_rest(client: &DbClient, session: SessionKey) -> Result<(), DbError> {
    // The entry in the list goes last.
    for table in [
        "documents",
        "messages",
        "pending_requests",
        "uploads",
        "secret_holders",
        "commands",
        "kept",
        "deleted_sessions",
    ] {
        client.execute(&format!("DELETE FROM {table} WHERE session = $1"), &[&session.0]).await?;
    }
    Ok(())
}

/// Removes what was left, from time to time, for ever.
pub(crate) async fn run(pool: Arc<Pool>, uploads: StoredUploads, limits: Limits) {
    let mut until_cleanup = Duration::ZERO;
    loop {
        if let Err(error) = measure(&pool, &limits).await {
            tracing::debug!(%error, "cannot measure the store");
        }
        if until_cleanup.is_zero() {
            if let Err(error) = clean_up(&pool, &uploads).await {
                tracing::debug!(%error, "cannot remove deleted data yet; trying again later");
            }
            until_cleanup = INTERVAL;
        }
        let pause = if limits.needs_store_size() { SIZE_INTERVAL } else { INTERVAL };
        sleep(pause).await;
        until_cleanup = until_cleanup.saturating_sub(pause);
    }
}

/// Measures what the sessions have. The files of the tables also have space that vacuuming has not given back yet, by
/// which deleting a session would make no room.
pub(crate) async fn measure(pool: &Arc<Pool>, limits: &Limits) -> Result<(), StoreError> {
    if !limits.needs_store_size() {
        return Ok(());
    }
    let measure = "SELECT ((SELECT coalesce(sum(stored_bytes + 1024), 0) FROM sessions) \
         + (SELECT coalesce(sum(octet_length(text) + coalesce(octet_length(attachments), 0)), 0) FROM messages \
            WHERE state = 0) \
         + (SELECT coalesce(sum(octet_length(content)), 0) FROM uploads))::bigint";
    let bytes: i64 = pool.client().await?.query_one(measure, &[]).await?.get(0);
    limits.set_store_size(bytes.cast_unsigned());
    Ok(())
}

/// Size of the tables and indexes of the store.
pub(crate) async fn size_on_disk(client: &DbClient) -> Result<u64, DbError> {
    const MEASURE: &str = "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c \
         WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace";
    Ok(client.query_one(MEASURE, &[]).await?.get::<_, i64>(0).cast_unsigned())
}

async fn clean_up(pool: &Arc<Pool>, uploads: &StoredUploads) -> Result<(), StoreError> {
    uploads.remove_deleted().await?;
    let query = "SELECT session FROM deleted_sessions ORDER BY session LIMIT 100";
    let client = pool.client().await?;
    for row in client.query(query, &[]).await? {
        remove(pool, SessionKey(row.get(0))).await?;
    }
    command::remove_expired(&client).await?;
    // Servers that are gone, except the last one of each name: it says when the name was seen last.
    client
        .execute(
            "DELETE FROM servers AS s WHERE s.expires_at < clock_timestamp() - interval '1 day' \
             AND NOT EXISTS (SELECT 1 FROM sessions WHERE owner = s.id) \
             AND EXISTS (SELECT 1 FROM servers AS newer WHERE newer.name = s.name AND newer.id > s.id)",
            &[],
        )
        .await?;
    client
        .execute(
            "DELETE FROM secret_holders AS h WHERE NOT EXISTS \
             (SELECT 1 FROM servers AS v WHERE v.id = h.server AND v.expires_at > clock_timestamp() - interval '1 day')",
            &[],
        )
        .await?;
    Ok(())
}
