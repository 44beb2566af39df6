//! The order of the events of all sessions.
//!
//! The number of an append is the id of the transaction that wrote it. Ids are assigned when transactions begin, so a
//! transaction with a lower id may be committed later. A reader therefore reads only below the *bound*: the oldest
//! transaction that still runs. Nothing can become visible there any more. The bound waits for every transaction of the
//! database server that writes, also in other databases; those of the store take milliseconds.
//!
//! The numbers of a session rise with its sequences. A transaction that appends to a session has locked its row before,
//! and one that takes the session over begins its appends after that.
//!
//! The ids of a database that was restored from a dump start over. An offset, which is added to every id, continues the
//! numbers.

use std::sync::Arc;

use tokio_postgres::Row;

use crate::events::EventLines;
use crate::global_cursor::Position;
use crate::global_feed::Run;
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::events::{StoredRow, read_rows};
use crate::postgres::session_filter::Condition;
use crate::{Batch, RawPayloads, ReadLimits, SessionFilter, SessionKey};

/// Number of rows that are read at once.
const ROWS_PER_READ: i64 = 64;

/// The bound in SQL, without the offset.
const BOUND: &str = "pg_snapshot_xmin(pg_current_snapshot())::text::bigint";

/// The identity of a store and the offset of its numbers.
pub(crate) struct StoreState {
    pub(crate) store_id: u32,
    pub(crate) position_offset: i64,
}

impl StoreState {
    /// Loads the state. If the ids of transactions have started over, the numbers continue after the stored ones.
    pub(crate) async fn load(client: &DbClient) -> Result<Self, DbError> {
        const LOAD: &str = "UPDATE store_state SET position_offset = greatest(position_offset, \
             coalesce((SELECT max(append) FROM events), 0) - pg_current_xact_id()::text::bigint + 1) \
             RETURNING store_id, position_offset";
        let row = client.query_one(LOAD, &[]).await?;
        let store_id = u32::try_from(row.get::<_, i64>(0)).unwrap_or_default();
        Ok(Self { store_id, position_offset: row.get(1) })
    }
}

/// The number below which every append is visible.
pub(crate) async fn load_bound(client: &DbClient, offset: i64) -> Result<i64, DbError> {
    let query = format!("SELECT {BOUND} + $1");
    Ok(client.query_one(&query, &[&offset]).await?.get(0))
}

/// Rows after a position.
pub(crate) struct RowsAfter {
    pub(crate) rows: Vec<StoredRow>,
    /// Number below which every append is visible, as of the moment when the rows were read.
    pub(crate) bound: i64,
    /// Whether there are no more rows below the bound.
    pub(crate) is_complete: bool,
}

/// Reads rows after a position, of the sessions that pass a filter.
pub(crate) async fn read_after(
    client: &DbClient,
    filter: &SessionFilter,
    position: Position,
    offset: i64,
    raw: RawPayloads,
) -> Result<RowsAfter, DbError> {
    let mut condition = Condition::new(filter);
    let offset = condition.add(offset);
    let append = condition.add(position.append);
    let session = condition.add(position.session.0);
    let sequence = condition.add(i64::try_from(position.sequence).unwrap_or(i64::MAX));
    let limit = condition.add(ROWS_PER_READ);
    let query = format!(
        "WITH bound AS MATERIALIZED (SELECT {BOUND} + {offset} AS bound) \
         SELECT rows.*, bound.bound FROM bound LEFT JOIN LATERAL ( \
         SELECT {columns} FROM events AS e JOIN sessions AS s ON s.key = e.session \
         WHERE (e.append, e.session, e.last) > ({append}, {session}, {sequence}) AND e.append < bound.bound \
         AND {condition} ORDER BY e.append, e.session, e.last LIMIT {limit}) AS rows ON true \
         ORDER BY rows.append, rows.session, rows.last",
        columns = StoredRow::columns(raw),
        condition = condition.sql
    );
    let rows = client.query(&query, &condition.params()).await?;
    let bound = rows.first().map_or(0, |row| row.get(StoredRow::COLUMN_COUNT));
    let is_complete = i64::try_from(rows.len()).is_ok_and(|count| count < ROWS_PER_READ);
    // Without a row of events, there is one with the bound only.
    let is_row = |row: &&Row| row.get::<_, Option<i64>>(0).is_some();
    let rows = rows.iter().filter(is_row).map(StoredRow::from_row).collect();
    Ok(RowsAfter { rows, bound, is_complete })
}

/// The events of many sessions, while they are being read.
#[derive(Debug)]
pub(crate) struct StoredRuns {
    filter: SessionFilter,
    position: Position,
}

impl StoredRuns {
    pub(crate) fn new(filter: SessionFilter, position: Position) -> Self {
        Self { filter, position }
    }

    /// Position after the last event that was read, or after everything below the bound.
    pub(crate) fn end(&self) -> Position {
        self.position
    }

    /// Reads the next events up to the limits; none at the end.
    pub(crate) async fn read(
        &self,
        client: &DbClient,
        offset: i64,
        limits: ReadLimits,
        raw: RawPayloads,
    ) -> Result<(Self, Vec<Run>), DbError> {
        let found = read_after(client, &self.filter, self.position, offset, raw).await?;
        let (mut runs, mut events, mut bytes) = (Vec::new(), 0, 0);
        let mut position = self.position;
        for rows in found.rows.chunk_by(|a, b| (a.append, a.session) == (b.append, b.session)) {
            let Some(first) = rows.first() else { continue };
            let rest = ReadLimits { max_events: limits.max_events - events, max_bytes: limits.max_bytes - bytes };
            let lines = read_rows(client, rows, read_already(first, position), rest).await?;
            let batch = Batch::whole(&Arc::new(lines));
            let Some(last) = batch.last_sequence() else { continue };
            (events, bytes) = (events + batch.len(), bytes + batch.byte_len());
            position = Position { append: first.append, session: first.session, sequence: last };
            runs.push(Run { append: first.append, session: first.session, events: batch });
            if events >= limits.max_events || bytes >= limits.max_bytes {
                break;
            }
        }
        if runs.is_empty() {
            position = position.max(Position::end_of(found.bound - 1));
        }
        Ok((Self { filter: self.filter.clone(), position }, runs))
    }
}

/// Sequence of the last event before the unread ones of a row.
fn read_already(row: &StoredRow, position: Position) -> u64 {
    let before = row.first().saturating_sub(1);
    if (row.append, row.session) == (position.append, position.session) {
        before.max(position.sequence)
    } else {
        before
    }
}

/// The appends of rows, each with its number and events. The rows are in the order of all events.
pub(crate) async fn read_appends(
    client: &DbClient,
    rows: &[StoredRow],
) -> Result<Vec<(SessionKey, i64, Arc<EventLines>)>, DbError> {
    const ALL: ReadLimits = ReadLimits { max_events: usize::MAX, max_bytes: usize::MAX };
    let mut appends = Vec::new();
    for rows in rows.chunk_by(|a, b| (a.append, a.session) == (b.append, b.session)) {
        let Some(first) = rows.first() else { continue };
        let lines = read_rows(client, rows, first.first().saturating_sub(1), ALL).await?;
        appends.push((first.session, first.append, Arc::new(lines)));
    }
    Ok(appends)
}
