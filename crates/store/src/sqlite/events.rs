//! Reading the events of a session.

use std::borrow::Cow;

use rusqlite::Connection;
use rusqlite::types::{ToSqlOutput, ValueRef};

use crate::damaged::Remains;
use crate::events::EventLines;
use crate::sqlite::damaged;
use crate::sqlite::schema::{place_range_after, sequence_at};
use crate::stored_chunk::{self, DamagedChunk, EventColumn};
use crate::{Batch, RawPayloads, ReadLimits, SessionKey, StoreError};

const SELECT_EVENTS: &str =
    "SELECT place, count, checksum, json FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place";
const SELECT_EVENTS_AND_PAYLOADS: &str =
    "SELECT place, count, checksum, json, payloads FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place";

/// Reads the events with a sequence higher than `after`; empty if there are none. An event that cannot be read is
/// replaced (see `damaged`).
pub(crate) fn read(
    connection: &Connection,
    session: SessionKey,
    after: u64,
    limits: ReadLimits,
    raw: RawPayloads,
) -> Result<Batch, StoreError> {
    let mut lines = EventLines::after(after);
    match read_rows(connection, session, &mut lines, limits, raw) {
        Err(error) if damaged::is_corruption(&error) => {
            tracing::error!(%error, session = session.0, sequence = lines.next(), "cannot read a stored event");
            if lines.is_empty() {
                damaged::push_unreadable(connection, session, &mut lines, limits)?;
            }
        }
        Err(error) => return Err(error.into()),
        Ok(()) if lines.is_empty() => damaged::push_missing_tail(connection, session, &mut lines, limits)?,
        Ok(()) => {}
    }
    Ok(Batch::from_lines(lines))
}

fn read_rows(
    connection: &Connection,
    session: SessionKey,
    lines: &mut EventLines,
    limits: ReadLimits,
    raw: RawPayloads,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(match raw {
        RawPayloads::Omit => SELECT_EVENTS,
        RawPayloads::Include => SELECT_EVENTS_AND_PAYLOADS,
    })?;
    let mut rows = statement.query(place_range_after(session, lines.next() - 1))?;
    while let Some(row) = rows.next()? {
        let last = sequence_at(row.get(0)?);
        let first = (last + 1).saturating_sub(row.get::<_, i64>(1)?.cast_unsigned());
        let decoded = decode_events(row.get_ref(3)?, row.get(2)?);
        let flow = match decoded {
            Ok(events) if first <= lines.next() => {
                let payloads = match raw {
                    RawPayloads::Omit => None,
                    RawPayloads::Include => row.get_ref(4)?.as_blob_or_null().unwrap_or_default(),
                };
                // Events whose payloads are damaged have none.
                let payloads = payloads.and_then(|payloads| stored_chunk::decode_payloads(payloads, &events).ok());
                let read_already = usize::try_from(lines.next() - first).unwrap_or(usize::MAX);
                lines.push_chunk(read_already, &events, payloads.as_deref(), limits)
            }
            decoded => {
                let checksums = event_checksums(connection, row.get(0)?);
                let text = damaged::stored_text(decoded, row.get_ref(3)?);
                let remains = Remains { text: &text, event_checksums: checksums.as_deref() };
                damaged::push_row(connection, session, lines, limits, (first, last), remains)?
            }
        };
        if flow.is_break() {
            break;
        }
    }
    Ok(())
}

/// The column with the events of a chunk as a value of the database.
pub(crate) fn to_value(column: EventColumn<'_>) -> ToSqlOutput<'_> {
    ToSqlOutput::Borrowed(match column {
        EventColumn::Text(text) => ValueRef::Text(text),
        EventColumn::Compressed(compressed) => ValueRef::Blob(compressed),
    })
}

/// Decodes the column with the events of a chunk.
pub(crate) fn decode_events(value: ValueRef<'_>, checksum: u32) -> Result<Cow<'_, str>, DamagedChunk> {
    stored_chunk::decode_events(event_column(value).ok_or(DamagedChunk)?, checksum)
}

/// The column with the events of a chunk; `None` if it cannot be one.
pub(crate) fn event_column(value: ValueRef<'_>) -> Option<EventColumn<'_>> {
    match value {
        ValueRef::Text(text) => Some(EventColumn::Text(text)),
        ValueRef::Blob(compressed) => Some(EventColumn::Compressed(compressed)),
        _ => None,
    }
}

/// The checksums of the events of a damaged row; `None` if it has none, or they cannot be read.
fn event_checksums(connection: &Connection, place: i64) -> Option<Vec<u8>> {
    let statement = connection.prepare_cached("SELECT event_checksums FROM events WHERE place = ?1");
    statement.and_then(|mut statement| statement.query_row([place], |row| row.get(0))).unwrap_or_default()
}
