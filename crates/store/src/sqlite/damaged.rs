//! Rows of events that cannot be read, and pages of the database file.

use std::borrow::Cow;
use std::ops::ControlFlow;

use interlingua_schema::Timestamp;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _};

use crate::damaged::{Remains, Replacement, parse_intact};
use crate::events::EventLines;
use crate::sqlite::events::{decode_events, event_column};
use crate::sqlite::schema::{place_range_after, sequence_at};
use crate::stored_chunk::{DamagedChunk, decode_damaged_events};
use crate::{ReadLimits, SessionKey};

/// Whether the database file is damaged, in contrast to a failed access to it.
pub(crate) fn is_corruption(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt)
}

/// The text of a row, as far as it can be read: damaged text may have intact events.
pub(crate) fn stored_text<'a>(decoded: Result<Cow<'a, str>, DamagedChunk>, column: ValueRef<'a>) -> Cow<'a, str> {
    match (decoded, event_column(column)) {
        (Ok(text), _) => text,
        (Err(DamagedChunk), Some(column)) => decode_damaged_events(column),
        (Err(DamagedChunk), None) => Cow::Borrowed(""),
    }
}

/// Adds the events up to the last one of a damaged row.
pub(crate) fn push_row(
    connection: &Connection,
    session: SessionKey,
    lines: &mut EventLines,
    limits: ReadLimits,
    sequences: (u64, u64),
    remains: Remains<'_>,
) -> rusqlite::Result<ControlFlow<()>> {
    load_replacement(connection, session, lines)?.push_row(lines, limits, sequences, remains).map_err(encode_error)
}

fn encode_error(error: serde_json::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(error.into())
}

/// Adds the events of rows that the database cannot read at all.
pub(crate) fn push_unreadable(
    connection: &Connection,
    session: SessionKey,
    lines: &mut EventLines,
    limits: ReadLimits,
) -> rusqlite::Result<()> {
    let last = last_unreadable(connection, session, lines.next())?;
    load_replacement(connection, session, lines)?.push_missing(lines, limits, last).map_err(encode_error)
}

/// Adds the last events of a session if their rows are missing.
pub(crate) fn push_missing_tail(
    connection: &Connection,
    session: SessionKey,
    lines: &mut EventLines,
    limits: ReadLimits,
) -> rusqlite::Result<()> {
    // Both are read in one transaction, which a repair has begun already: the session may have got events meanwhile.
    let transaction = connection.is_autocommit().then(|| connection.unchecked_transaction()).transpose()?;
    let (after, end) = place_range_after(session, lines.next() - 1);
    let has_rows = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM events WHERE place > ?1 AND place <= ?2)")?
        .query_row((after, end), |row| row.get::<_, bool>(0))?;
    let last = event_count(connection, session)?;
    drop(transaction);
    if has_rows || last < lines.next() {
        return Ok(());
    }
    tracing::error!(session = session.0, sequence = lines.next(), last, "stored events are missing");
    load_replacement(connection, session, lines)?.push_missing(lines, limits, last).map_err(encode_error)
}

/// Sequence of the last event before the next row that can be read.
fn last_unreadable(connection: &Connection, session: SessionKey, next: u64) -> rusqlite::Result<u64> {
    let (after, end) = place_range_after(session, next - 1);
    // The row may be readable except for its text.
    let row = connection
        .prepare_cached("SELECT place FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT 1")?
        .query_row((after, end), |row| row.get::<_, i64>(0));
    if let Ok(place) = row {
        return Ok(sequence_at(place));
    }
    // The readable rows behind the damaged page are found from the end of the session.
    let mut statement =
        connection.prepare("SELECT place, count FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place DESC")?;
    let mut rows = statement.query((after, end))?;
    let mut last = event_count(connection, session)?;
    while let Ok(Some(row)) = rows.next() {
        let first = (sequence_at(row.get(0)?) + 1).saturating_sub(row.get::<_, i64>(1)?.cast_unsigned());
        last = first.saturating_sub(1).max(next);
    }
    Ok(last)
}

fn event_count(connection: &Connection, session: SessionKey) -> rusqlite::Result<u64> {
    let count = connection
        .prepare_cached("SELECT event_count FROM sessions WHERE key = ?1")?
        .query_row([session.0], |row| row.get::<_, i64>(0))
        .optional()?;
    Ok(count.unwrap_or(0).cast_unsigned())
}

/// Makes the events that are read in the place of those after the last one of `lines`.
fn load_replacement(connection: &Connection, key: SessionKey, lines: &EventLines) -> rusqlite::Result<Replacement> {
    let session = connection
        .prepare_cached("SELECT id, created_at FROM sessions WHERE key = ?1")?
        .query_row([key.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (session_id, created_at) = session.unwrap_or_default();
    let last = lines.len().checked_sub(1).and_then(|last| lines.get(last)).and_then(|(_, line)| parse_intact(line));
    let time = match last {
        Some(event) => Some(event.time),
        None => earlier_time(connection, key, lines.next()),
    };
    Ok(Replacement::new(session_id, key, time.unwrap_or(Timestamp::from_millis(created_at))))
}

/// Time of the last readable event before a sequence.
fn earlier_time(connection: &Connection, session: SessionKey, next: u64) -> Option<Timestamp> {
    let (start, _) = place_range_after(session, 0);
    let (before, _) = place_range_after(session, next.checked_sub(1)?);
    // Usually one of the last rows. If the page before is damaged, all rows up to it are read.
    let (backwards, forwards) = (
        "SELECT checksum, json FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place DESC LIMIT 64",
        "SELECT checksum, json FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place",
    );
    let found = find_time(connection, backwards, (start, before), true);
    found.or_else(|| find_time(connection, forwards, (start, before), false))
}

/// Time of the last event of the first readable row, or of the last one.
fn find_time(connection: &Connection, query: &str, range: (i64, i64), is_first: bool) -> Option<Timestamp> {
    let mut statement = connection.prepare_cached(query).ok()?;
    let mut rows = statement.query(range).ok()?;
    let mut time = None;
    while let Ok(Some(row)) = rows.next() {
        let (Ok(checksum), Ok(column)) = (row.get(0), row.get_ref(1)) else { continue };
        let text = stored_text(decode_events(column, checksum), column);
        time = text.rsplit('\n').find_map(parse_intact).map(|event| event.time).or(time);
        if is_first && time.is_some() {
            break;
        }
    }
    time
}
