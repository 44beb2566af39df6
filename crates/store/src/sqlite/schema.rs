//! Tables of the database.

use rusqlite::Connection;

use crate::SessionKey;

/// Storage format of this version, stored as `user_version`.
pub(crate) const FORMAT_VERSION: i64 = 6;

/// Oldest storage format that is migrated to the current one (see `migration`).
pub(crate) const OLDEST_FORMAT_VERSION: i64 = 4;

/// Marks the file as an Interlingua database (`application_id`): "ilng".
pub(crate) const APPLICATION_ID: i64 = 0x696c_6e67;

/// Events are ordered by their *place*: session and sequence in one integer. It is the rowid, by which `SQLite` sorts a
/// table on disk, so reading on from any event is one descent into the tree and then sequential pages. A row holds
/// several events (see `chunk` and `stored_chunk`) and is stored at the place of the last one. `append` is the number of
/// the append that wrote the row (see `append_counter`); the session has that of its last one.
///
/// `sessions` changes with every append. `kept`, the runtime's state, is large and seldom changes, so it is a separate
/// table. A message stays when it has left the queue, without its text: its id and fingerprint show that a client
/// repeats a request (see `message`). `deleted_sessions` lists the sessions whose events are still to be removed (see
/// `purge`).
const TABLES: &str = "
    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        agent TEXT NOT NULL,
        agent_mode TEXT,
        permission_mode TEXT,
        model TEXT,
        variant TEXT,
        native_session_id TEXT,
        directory TEXT,
        title TEXT,
        labels TEXT,
        has_secrets INTEGER NOT NULL DEFAULT 0,
        reported_model TEXT,
        reported_mode TEXT,
        last_turn_status TEXT,
        usage TEXT,
        ended INTEGER NOT NULL DEFAULT 0,
        busy INTEGER NOT NULL DEFAULT 0,
        event_count INTEGER NOT NULL DEFAULT 0,
        stored_bytes INTEGER NOT NULL DEFAULT 0,
        last_append INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX busy_sessions ON sessions (key) WHERE busy;
    CREATE TABLE kept (session INTEGER PRIMARY KEY, config TEXT, state TEXT) STRICT;
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL,
        public_id TEXT NOT NULL,
        fingerprint BLOB NOT NULL,
        state INTEGER NOT NULL DEFAULT 0,
        turn_starts_after INTEGER,
        created_at INTEGER NOT NULL,
        text TEXT NOT NULL,
        attachments TEXT
    ) STRICT;
    CREATE UNIQUE INDEX message_ids ON messages (session, public_id);
    CREATE INDEX queued_messages ON messages (session, id) WHERE state = 0;
    CREATE TABLE pending_requests (
        key INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        data TEXT NOT NULL,
        UNIQUE (session, kind, id)
    ) STRICT;
    CREATE TABLE events (
        place INTEGER PRIMARY KEY,
        count INTEGER NOT NULL,
        checksum INTEGER NOT NULL,
        append INTEGER NOT NULL DEFAULT 0,
        json ANY NOT NULL,
        payloads BLOB,
        event_checksums BLOB
    ) STRICT;
    CREATE TABLE deleted_sessions (session INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE store_state (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        log_in_use INTEGER NOT NULL,
        store_id INTEGER NOT NULL DEFAULT 0,
        last_append INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO store_state (id, log_in_use, store_id) VALUES (1, 0, abs(random()) & 0xffffffff);
";

/// Creates the tables of a new database in one transaction.
pub(crate) fn create_tables(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", FORMAT_VERSION)?;
    transaction.commit()
}

/// The random number by which cursors of this store are told from those of others.
pub(crate) fn load_store_id(connection: &Connection) -> rusqlite::Result<u32> {
    connection.query_row("SELECT store_id FROM store_state", [], |row| row.get(0))
}

/// Bits of a place for the sequence: 2^36 (68 billion) events per session, and 2^27 (134 million) sessions.
const SEQUENCE_BITS: u32 = 36;
const MAX_SEQUENCE: u64 = (1 << SEQUENCE_BITS) - 1;

/// Place of an event; `None` if its sequence or session key is too large.
pub(crate) fn place(session: SessionKey, sequence: u64) -> Option<i64> {
    let sequence = i64::try_from(sequence).ok().filter(|_| sequence <= MAX_SEQUENCE)?;
    session.0.checked_mul(1 << SEQUENCE_BITS)?.checked_add(sequence)
}

/// Range of places of the session's events with a sequence higher than `after`. The start is exclusive, the end
/// inclusive.
pub(crate) fn place_range_after(session: SessionKey, after: u64) -> (i64, i64) {
    let place_of = |sequence| place(session, sequence).unwrap_or(i64::MAX);
    (place_of(after.min(MAX_SEQUENCE)), place_of(MAX_SEQUENCE))
}

/// Sequence of the event at a place.
pub(crate) fn sequence_at(place: i64) -> u64 {
    place.cast_unsigned() & MAX_SEQUENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_ordered_by_session_and_sequence() {
        let at = |session, sequence| place(SessionKey(session), sequence).unwrap();
        assert!(at(1, 1) < at(1, 2));
        assert!(at(1, MAX_SEQUENCE) < at(2, 0));
        assert_eq!(sequence_at(at(77, 30_000)), 30_000);
        assert_eq!(place_range_after(SessionKey(3), 5), (at(3, 5), at(3, MAX_SEQUENCE)));
    }

    #[test]
    fn a_sequence_or_key_that_is_too_large_has_no_place() {
        assert_eq!(place(SessionKey(1), MAX_SEQUENCE + 1), None);
        assert_eq!(place(SessionKey(i64::MAX), 1), None);
        let (from, to) = place_range_after(SessionKey(1), u64::MAX);
        assert_eq!(from, to);
    }
}
