//! How things lie in the database.

use rusqlite::Connection;

use crate::SessionKey;

/// The format this version writes, kept in the file as `user_version`.
pub(crate) const FORMAT: i64 = 2;

/// Marks the file as ours (`application_id`): "ilng".
pub(crate) const APPLICATION: i64 = 0x696c_6e67;

/// Events and payloads lie in the order of their *place*, which is session and sequence in one integer: the rowid, by
/// which a table is sorted on disk. Reading on from any event is one descent into the tree, then page after page. A row
/// holds several of them (see `chunk`) and lies at the place of the last.
///
/// What changes with every event (`sessions`) is apart from what is large and seldom changes (`kept`).
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
        ended INTEGER NOT NULL DEFAULT 0,
        busy INTEGER NOT NULL DEFAULT 0,
        event_count INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX busy_sessions ON sessions (key) WHERE busy;
    CREATE TABLE kept (session INTEGER PRIMARY KEY, config TEXT, state TEXT) STRICT;
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL,
        text TEXT NOT NULL,
        attachments TEXT
    ) STRICT;
    CREATE INDEX messages_of_session ON messages (session, id);
    CREATE TABLE events (place INTEGER PRIMARY KEY, json TEXT NOT NULL, payloads TEXT) STRICT;
";

/// Makes the tables of a new database, in one transaction.
pub(crate) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", FORMAT)?;
    transaction.commit()
}

/// A place has so many bits for the sequence: 68 thousand million events a session, and room for 134 million sessions.
const SEQUENCE_BITS: u32 = 36;
const LAST_SEQUENCE: u64 = (1 << SEQUENCE_BITS) - 1;

/// Where an event lies; `None` where there is no room for it.
pub(crate) fn place(session: SessionKey, sequence: u64) -> Option<i64> {
    let sequence = i64::try_from(sequence).ok().filter(|_| sequence <= LAST_SEQUENCE)?;
    session.0.checked_mul(1 << SEQUENCE_BITS)?.checked_add(sequence)
}

/// The places of a session after an event: from the first, which is not one of them, to the last, which is.
pub(crate) fn places_after(session: SessionKey, after: u64) -> (i64, i64) {
    let at = |sequence| place(session, sequence).unwrap_or(i64::MAX);
    (at(after.min(LAST_SEQUENCE)), at(LAST_SEQUENCE))
}

/// The sequence of the event at a place.
pub(crate) fn sequence_of(place: i64) -> u64 {
    place.cast_unsigned() & LAST_SEQUENCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_ordered_by_session_and_sequence() {
        let at = |session, sequence| place(SessionKey(session), sequence).unwrap();
        assert!(at(1, 1) < at(1, 2));
        assert!(at(1, LAST_SEQUENCE) < at(2, 0));
        assert_eq!(sequence_of(at(77, 30_000)), 30_000);
        assert_eq!(places_after(SessionKey(3), 5), (at(3, 5), at(3, LAST_SEQUENCE)));
    }

    #[test]
    fn what_has_no_place_is_refused_and_found_nowhere() {
        assert_eq!(place(SessionKey(1), LAST_SEQUENCE + 1), None);
        assert_eq!(place(SessionKey(i64::MAX), 1), None);
        let (from, to) = places_after(SessionKey(1), u64::MAX);
        assert_eq!(from, to);
    }
}
