//! The documents of the index, and the sessions that they belong to.

use interlingua_schema::Timestamp;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Row};

use crate::SessionKey;
use crate::stored_chunk::{compress, decompress};

/// Documents of a block share one entry in `blocks`: 2^10.
const BLOCK_BITS: u32 = 10;

/// The text of an event.
pub(super) struct EventText<'a> {
    pub(super) session: SessionKey,
    pub(super) agent: &'a str,
    pub(super) sequence: u64,
    pub(super) time: Timestamp,
    pub(super) text: &'a str,
}

/// Adds a document of an event, without its words. Returns its id.
pub(super) fn insert(connection: &Connection, event: &EventText<'_>, text: &str) -> rusqlite::Result<i64> {
    let EventText { session, sequence, time, .. } = event;
    let compressed = compress(text.as_bytes());
    let stored = ToSqlOutput::Borrowed(match &compressed {
        Some(compressed) => ValueRef::Blob(compressed),
        None => ValueRef::Text(text.as_bytes()),
    });
    connection
        .prepare_cached("INSERT INTO documents (session, sequence, time, text) VALUES (?1, ?2, ?3, ?4)")?
        .execute((session.0, sequence.cast_signed(), time.as_millis(), stored))?;
    let id = connection.last_insert_rowid();
    connection
        .prepare_cached(
            "INSERT INTO blocks (block, latest) VALUES (?1, ?2) \
             ON CONFLICT DO UPDATE SET latest = max(latest, excluded.latest)",
        )?
        .execute((id >> BLOCK_BITS, time.as_millis()))?;
    connection.prepare_cached("INSERT OR IGNORE INTO sessions VALUES (?1)")?.execute([session.0])?;
    Ok(id)
}

/// Lowest id that a document since this time may have; `None` if there is none.
pub(super) fn first_since(connection: &Connection, time: Timestamp) -> rusqlite::Result<Option<i64>> {
    let block: Option<i64> =
        connection
            .query_row("SELECT min(block) FROM blocks WHERE latest >= ?1", [time.as_millis()], |row| row.get(0))?;
    Ok(block.map(|block| block << BLOCK_BITS))
}

/// The text in a column of `documents`.
pub(super) fn text_column(row: &Row<'_>, index: usize) -> rusqlite::Result<String> {
    let text = match row.get_ref(index)? {
        ValueRef::Text(text) => str::from_utf8(text).ok().map(str::to_owned),
        ValueRef::Blob(compressed) => decompress(compressed).and_then(|text| String::from_utf8(text).ok()),
        _ => None,
    };
    text.ok_or_else(|| rusqlite::Error::InvalidColumnType(index, "text".to_owned(), rusqlite::types::Type::Blob))
}

/// Id of a session's first document; `None` if it has none.
pub(super) fn first_of(connection: &Connection, session: SessionKey) -> rusqlite::Result<Option<i64>> {
    connection
        .prepare_cached("SELECT min(id) FROM documents WHERE session = ?1")?
        .query_row([session.0], |row| row.get(0))
}

/// Removes the entry of a session whose documents are removed.
pub(super) fn remove_session(connection: &Connection, session: SessionKey) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM sessions WHERE session = ?1")?.execute([session.0]).map(drop)
}

/// Sessions that have documents.
pub(super) fn sessions(connection: &Connection) -> rusqlite::Result<Vec<SessionKey>> {
    connection.prepare("SELECT session FROM sessions")?.query_map([], |row| row.get(0).map(SessionKey))?.collect()
}
