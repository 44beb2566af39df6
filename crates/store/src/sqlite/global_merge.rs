//! Reading the stored events of many sessions in their common order.
//!
//! The events of a session are ordered by the number of their append, so the common order is a merge: a heap has, for
//! each session with unread events, the next row. The heap is loaded once for the appends up to the last one; what is
//! appended later is left to the feed (see `global_feed`) or to the next merge.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params_from_iter};

use crate::global_cursor::Position;
use crate::global_feed::Run;
use crate::sqlite::damaged::is_corruption;
use crate::sqlite::schema::{place, place_range_after, sequence_at};
use crate::sqlite::{events, session_filter};
use crate::{RawPayloads, ReadLimits, SessionFilter, SessionKey, StoreError};

/// The events of many sessions between two positions.
#[derive(Debug)]
pub(crate) struct Merge {
    /// The next row of each session that has one.
    rows: BinaryHeap<Reverse<NextRow>>,
    /// Position after the last event.
    end: Position,
}

/// The next row of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NextRow {
    append: i64,
    session: SessionKey,
    /// Sequences of the event before the row's first one that was not read, and of the row's last one.
    after: u64,
    last: u64,
    /// Sequence of the session's last event when the merge began.
    session_last: u64,
}

impl Merge {
    /// The events after a position, of the sessions that pass the filter.
    pub(crate) fn load(
        connection: &Connection,
        filter: &SessionFilter,
        position: Position,
    ) -> Result<Self, StoreError> {
        // One transaction, so that sessions and rows are of the same moment.
        let transaction = connection.unchecked_transaction()?;
        let (condition, mut values) = session_filter::to_sql(filter);
        let query = format!(
            "SELECT key, event_count, last_append FROM sessions WHERE {condition} \
             AND (last_append > ? OR last_append = ? AND key >= ?)"
        );
        values.extend([position.append, position.append, position.session.0].map(Value::Integer));
        let mut merge = Self { rows: BinaryHeap::new(), end: Position::end_of(position.append) };
        {
            let mut statement = transaction.prepare_cached(&query)?;
            let mut sessions = statement.query(params_from_iter(values))?;
            while let Some(row) = sessions.next()? {
                let (session, last) = (SessionKey(row.get(0)?), row.get::<_, i64>(1)?.cast_unsigned());
                let last_append: i64 = row.get(2)?;
                merge.end = merge.end.max(Position::end_of(last_append));
                let after = read_already(&transaction, session, last, position)?;
                merge.rows.extend(next_row(&transaction, session, after, last, position.append)?.map(Reverse));
            }
        }
        transaction.commit()?;
        Ok(merge)
    }

    /// Position after the last event.
    pub(crate) fn end(&self) -> Position {
        self.end
    }

    /// Number of events.
    pub(crate) fn remaining(&self) -> u64 {
        self.rows.iter().map(|Reverse(row)| row.session_last - row.after).sum()
    }

    /// Reads the next events up to the limits; none at the end.
    pub(crate) fn read(
        &mut self,
        connection: &Connection,
        limits: ReadLimits,
        raw: RawPayloads,
    ) -> Result<Vec<Run>, StoreError> {
        let (mut runs, mut events, mut bytes) = (Vec::new(), 0, 0);
        while let Some(Reverse(row)) = self.rows.pop() {
            let in_row = usize::try_from(row.last - row.after).unwrap_or(usize::MAX);
            let row_limits =
                ReadLimits { max_events: in_row.min(limits.max_events - events), max_bytes: limits.max_bytes - bytes };
            let batch = events::read(connection, row.session, row.after, row_limits, raw)?;
            // The session was deleted in the meantime.
            let Some(read_to) = batch.last_sequence() else { continue };
            (events, bytes) = (events + batch.len(), bytes + batch.byte_len());
            runs.push(Run { append: row.append, session: row.session, events: batch });
            if read_to < row.last {
                self.rows.push(Reverse(NextRow { after: read_to, ..row }));
            } else if let Some(next) = next_row(connection, row.session, read_to, row.session_last, row.append)? {
                self.rows.push(Reverse(next));
            }
            if events >= limits.max_events || bytes >= limits.max_bytes {
                break;
            }
        }
        Ok(runs)
    }
}

/// Sequence of the last event of a session at or before a position.
fn read_already(
    connection: &Connection,
    session: SessionKey,
    session_last: u64,
    position: Position,
) -> Result<u64, StoreError> {
    if session == position.session {
        return Ok(position.sequence.min(session_last));
    }
    // Of a session before that of the position, the appends with the position's number were read too.
    let first_unread = if session < position.session { position.append.saturating_add(1) } else { position.append };
    if first_unread <= 0 {
        return Ok(0);
    }
    last_before(connection, session, session_last, first_unread)
}

/// Sequence of the last event of a session whose append has a lower number; 0 if there is none.
///
/// Searches backwards from the end with growing steps, because a reader usually misses little.
fn last_before(connection: &Connection, session: SessionKey, last: u64, number: i64) -> Result<u64, StoreError> {
    // Rows at or before `low` have a lower number, rows at or after `high` have not.
    let (mut low, mut high, mut step, mut found) = (0, last.saturating_add(1), 1, 0);
    while low == 0 && high > 1 {
        let probe = high.saturating_sub(step).max(1);
        match row_up_to(connection, session, probe)? {
            Some((sequence, append)) if append < number => (low, found) = (probe, sequence),
            Some((sequence, _)) => high = sequence,
            None => break,
        }
        step *= 2;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match row_up_to(connection, session, middle)? {
            Some((sequence, append)) if append < number => (low, found) = (middle, sequence),
            Some((sequence, _)) => high = sequence,
            None => low = middle,
        }
    }
    Ok(found)
}

/// The last row up to a sequence: the sequence of its last event, and the number of its append.
///
/// A row that cannot be read counts as unread.
fn row_up_to(connection: &Connection, session: SessionKey, sequence: u64) -> Result<Option<(u64, i64)>, StoreError> {
    let (start, _) = place_range_after(session, 0);
    let end = place(session, sequence).unwrap_or(i64::MAX);
    let row = connection
        .prepare_cached(
            "SELECT place, append FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place DESC LIMIT 1",
        )?
        .query_row((start, end), |row| Ok((sequence_at(row.get(0)?), row.get(1)?)))
        .optional();
    match row {
        Err(error) if is_corruption(&error) => Ok(Some((sequence, i64::MAX))),
        row => Ok(row?),
    }
}

/// The row with the event after a sequence; `None` after the session's last event. `append` is the number of the row before,
/// which stands for that of a row that is missing or cannot be read.
fn next_row(
    connection: &Connection,
    session: SessionKey,
    after: u64,
    session_last: u64,
    append: i64,
) -> Result<Option<NextRow>, StoreError> {
    if after >= session_last {
        return Ok(None);
    }
    let row = connection
        .prepare_cached("SELECT place, append FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT 1")?
        .query_row(place_range_after(session, after), |row| Ok((sequence_at(row.get(0)?), row.get::<_, i64>(1)?)))
        .optional();
    let next = match row {
        Ok(Some((last, append))) => NextRow { append, session, after, last, session_last },
        // Reading it finds out what is missing.
        Ok(None) => NextRow { append: append.max(0), session, after, last: session_last, session_last },
        Err(error) if is_corruption(&error) => {
            NextRow { append: append.max(0), session, after, last: after + 1, session_last }
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Some(next))
}

/// Those of the sessions that pass a filter.
pub(crate) fn filter_sessions(
    connection: &Connection,
    filter: &SessionFilter,
    sessions: &[SessionKey],
) -> Result<Vec<SessionKey>, StoreError> {
    let (condition, mut values) = session_filter::to_sql(filter);
    let keys: Vec<String> = sessions.iter().map(|key| key.0.to_string()).collect();
    values.push(format!("[{}]", keys.join(",")).into());
    let query = format!("SELECT key FROM sessions WHERE {condition} AND key IN (SELECT value FROM json_each(?))");
    let mut statement = connection.prepare_cached(&query)?;
    let passing = statement.query_map(params_from_iter(values), |row| row.get(0).map(SessionKey))?;
    Ok(passing.collect::<Result<_, _>>()?)
}

/// Reads the events of appends again, with their payloads.
pub(crate) fn read_payloads(connection: &Connection, runs: Vec<Run>) -> Result<Vec<Run>, StoreError> {
    let mut with_payloads = Vec::with_capacity(runs.len());
    for run in runs {
        let Some((first, _)) = run.events.iter().next() else { continue };
        let limits = ReadLimits { max_events: run.events.len(), max_bytes: usize::MAX };
        let events = events::read(connection, run.session, first - 1, limits, RawPayloads::Include)?;
        // A session that was deleted in the meantime has no events.
        if !events.is_empty() {
            with_payloads.push(Run { events, ..run });
        }
    }
    Ok(with_payloads)
}
