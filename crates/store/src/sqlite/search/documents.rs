//! Adding documents to the index, and deleting them.

use interlingua_schema::Timestamp;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension as _, Row};

use crate::SessionKey;
use crate::search::words::separate_ideographs;
use crate::stored_chunk::{compress, decompress};

/// Documents of a block share one entry in `blocks`: 2^10.
const BLOCK_BITS: u32 = 10;

/// The text of an event, or a piece of it.
pub(super) struct Document<'a> {
    pub(super) session: SessionKey,
    pub(super) agent: &'a str,
    pub(super) sequence: u64,
    pub(super) time: Timestamp,
    pub(super) text: &'a str,
}

/// Adds a document.
pub(super) fn insert(connection: &Connection, document: &Document<'_>) -> rusqlite::Result<()> {
    let Document { session, agent, sequence, time, text } = document;
    let compressed = compress(text.as_bytes());
    let stored = ToSqlOutput::Borrowed(match &compressed {
        Some(compressed) => ValueRef::Blob(compressed),
        None => ValueRef::Text(text.as_bytes()),
    });
    connection
        .prepare_cached("INSERT INTO documents (session, sequence, time, text) VALUES (?1, ?2, ?3, ?4)")?
        .execute((session.0, sequence.cast_signed(), time.as_millis(), stored))?;
    let id = connection.last_insert_rowid();
    connection.prepare_cached("INSERT INTO words (rowid, text, agent) VALUES (?1, ?2, ?3)")?.execute((
        id,
        separate_ideographs(text),
        agent,
    ))?;
    connection
        .prepare_cached(
            "INSERT INTO blocks (block, latest) VALUES (?1, ?2) \
             ON CONFLICT DO UPDATE SET latest = max(latest, excluded.latest)",
        )?
        .execute((id >> BLOCK_BITS, time.as_millis()))?;
    connection.prepare_cached("INSERT OR IGNORE INTO sessions VALUES (?1, ?2)")?.execute((session.0, agent))?;
    Ok(())
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

/// Deletes some documents of a session; the last ones together with its entry. Returns whether there are more.
pub(super) fn delete_some(connection: &Connection, session: SessionKey, limit: u32) -> rusqlite::Result<bool> {
    let agent: Option<String> = connection
        .prepare_cached("SELECT agent FROM sessions WHERE session = ?1")?
        .query_row([session.0], |row| row.get(0))
        .optional()?;
    let Some(agent) = agent else { return Ok(false) };
    let documents: Vec<(i64, String)> = connection
        .prepare_cached("SELECT id, text FROM documents WHERE session = ?1 LIMIT ?2")?
        .query_map((session.0, limit), |row| Ok((row.get(0)?, text_column(row, 1)?)))?
        .collect::<Result<_, _>>()?;
    for (id, text) in &documents {
        connection
            .prepare_cached("INSERT INTO words (words, rowid, text, agent) VALUES ('delete', ?1, ?2, ?3)")?
            .execute((id, separate_ideographs(text), &agent))?;
        connection.prepare_cached("DELETE FROM documents WHERE id = ?1")?.execute([id])?;
    }
    let has_more = u32::try_from(documents.len()).is_ok_and(|count| count == limit);
    if !has_more {
        connection.prepare_cached("DELETE FROM sessions WHERE session = ?1")?.execute([session.0])?;
    }
    Ok(has_more)
}

/// Sessions that have documents.
pub(super) fn sessions(connection: &Connection) -> rusqlite::Result<Vec<SessionKey>> {
    connection.prepare("SELECT session FROM sessions")?.query_map([], |row| row.get(0).map(SessionKey))?.collect()
}
