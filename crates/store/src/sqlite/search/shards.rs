//! Shards: the words of a range of documents.
//!
//! A table of words cannot forget the words of one document at a reasonable price: `FTS5` keeps the words of many
//! documents together. So documents are divided into shards of a few megabytes of text, in the order in which they were
//! added, and each shard has a table of its own. Deleting a session marks its documents as deleted in their shards, and
//! rewrites each of these in the same transaction, without the words of deleted documents. A shard without documents is
//! dropped.

use rusqlite::{Connection, OptionalExtension as _};

use super::documents::{self, EventText};
use crate::SessionKey;
use crate::search::text::{different_words, divide, with_overlap};
use crate::search::words::separate_ideographs;

/// Size of the text in a shard. Rewriting a shard takes about 50 ms; a search looks into all of them, which takes about
/// 50 µs each.
const SHARD_BYTES: i64 = 4 * 1024 * 1024;

/// A range of documents, from its first one to the next shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    /// Id of the first document.
    pub(super) first: i64,
}

impl Shard {
    /// Name of the table with its words.
    fn table(self) -> String {
        format!("words_{}", self.first)
    }

    /// Creates a shard for a new document.
    fn create(connection: &Connection, first: i64) -> rusqlite::Result<Self> {
        let shard = Self { first };
        // It has no copy of the text. `words` has the different words of a long event, at its first document.
        connection.execute_batch(&format!(
            "CREATE VIRTUAL TABLE {} USING fts5(text, agent, words, content='', contentless_delete=1, \
             tokenize=\"unicode61 remove_diacritics 2\")",
            shard.table()
        ))?;
        connection.execute("INSERT INTO shards VALUES (?1, 0)", [first])?;
        Ok(shard)
    }

    /// The shard with a document.
    fn find(connection: &Connection, document: i64) -> rusqlite::Result<Self> {
        connection
            .prepare_cached("SELECT first FROM shards WHERE first <= ?1 ORDER BY first DESC LIMIT 1")?
            .query_row([document], |row| row.get(0).map(|first| Self { first }))
    }

    /// Id of the last document that may be in it.
    fn last(self, connection: &Connection) -> rusqlite::Result<i64> {
        connection
            .prepare_cached("SELECT coalesce(min(first), 9223372036854775807) - 1 FROM shards WHERE first > ?1")?
            .query_row([self.first], |row| row.get(0))
    }

    /// Removes the documents of a session, and rewrites what is left.
    fn remove(self, connection: &Connection, session: SessionKey) -> rusqlite::Result<()> {
        let (table, last) = (self.table(), self.last(connection)?);
        let range = (session.0, self.first, last);
        connection.execute(
            &format!(
                "DELETE FROM {table} WHERE rowid IN \
                 (SELECT id FROM documents WHERE session = ?1 AND id BETWEEN ?2 AND ?3)"
            ),
            range,
        )?;
        connection
            .prepare_cached("DELETE FROM documents WHERE session = ?1 AND id BETWEEN ?2 AND ?3")?
            .execute(range)?;
        let is_empty = connection
            .prepare_cached("SELECT NOT EXISTS (SELECT 1 FROM documents WHERE id BETWEEN ?1 AND ?2)")?
            .query_row((self.first, last), |row| row.get::<_, bool>(0))?;
        if is_empty {
            connection.execute_batch(&format!("DROP TABLE {table}"))?;
            connection.execute("DELETE FROM shards WHERE first = ?1", [self.first])?;
        } else {
            connection.execute_batch(&format!("INSERT INTO {table} ({table}) VALUES ('optimize')"))?;
        }
        Ok(())
    }

    /// The query for the documents of a shard that match an expression (`?1`), and `with_words` the first documents of long
    /// events that match another one, if they have at least an id (the last parameter), newest first.
    pub(super) fn query(self, with_words: bool) -> String {
        let table = self.table();
        if with_words {
            format!(
                "SELECT rowid, true FROM {table} WHERE {table} MATCH ?1 AND rowid >= ?3 \
                 UNION ALL SELECT rowid, false FROM {table} WHERE {table} MATCH ?2 AND rowid >= ?3 ORDER BY 1 DESC"
            )
        } else {
            format!("SELECT rowid, true FROM {table} WHERE {table} MATCH ?1 AND rowid >= ?2 ORDER BY rowid DESC")
        }
    }

    /// The query for whether a document between two ids (`?2`, `?3`) matches an expression (`?1`).
    pub(super) fn range_query(self) -> String {
        let table = self.table();
        format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {table} MATCH ?1 AND rowid BETWEEN ?2 AND ?3)")
    }
}

/// Adds an event, unless it has no text. All its documents are in one shard.
pub(super) fn insert(connection: &Connection, event: &EventText<'_>) -> rusqlite::Result<()> {
    let texts: Vec<&str> = divide(event.text).collect();
    if texts.is_empty() {
        return Ok(());
    }
    let ids = texts.iter().map(|text| documents::insert(connection, event, text)).collect::<Result<Vec<_>, _>>()?;
    let open = connection
        .prepare_cached("SELECT first FROM shards WHERE bytes < ?1 ORDER BY first DESC LIMIT 1")?
        .query_row([SHARD_BYTES], |row| row.get(0).map(|first| Shard { first }))
        .optional()?;
    // Only the last shard can have room.
    let shard = match open {
        Some(shard) => shard,
        None => Shard::create(connection, ids[0])?,
    };
    let all_words = if texts.len() > 1 { different_words(&texts) } else { String::new() };
    let insert = format!("INSERT INTO {} (rowid, text, agent, words) VALUES (?1, ?2, ?3, ?4)", shard.table());
    let mut insert = connection.prepare_cached(&insert)?;
    for (index, (id, text)) in ids.iter().zip(&texts).enumerate() {
        let text = with_overlap(text, texts.get(index + 1).copied());
        let words = if index == 0 { all_words.as_str() } else { "" };
        insert.execute((id, separate_ideographs(&text), event.agent, separate_ideographs(words)))?;
    }
    connection
        .prepare_cached("UPDATE shards SET bytes = bytes + ?2 WHERE first = ?1")?
        .execute((shard.first, i64::try_from(event.text.len()).unwrap_or(SHARD_BYTES)))?;
    Ok(())
}

/// Removes the documents of a session from one shard, or its entry if it has none. Returns whether there are more.
pub(super) fn remove_some(connection: &Connection, session: SessionKey) -> rusqlite::Result<bool> {
    let Some(document) = documents::first_of(connection, session)? else {
        documents::remove_session(connection, session)?;
        return Ok(false);
    };
    Shard::find(connection, document)?.remove(connection, session)?;
    Ok(true)
}

/// All shards, newest first.
pub(super) fn load(connection: &Connection) -> rusqlite::Result<Vec<Shard>> {
    let mut statement = connection.prepare("SELECT first FROM shards ORDER BY first DESC")?;
    statement.query_map([], |row| row.get(0).map(|first| Shard { first }))?.collect()
}
