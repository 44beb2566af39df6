//! Migrating a database of an older format.
//!
//! A migration changes tables and rewrites no events, so that it takes milliseconds whatever the size of the database.

use rusqlite::Connection;

use crate::sqlite::schema::FORMAT_VERSION;

/// Changes from each format to the next one, beginning with the oldest that is migrated.
///
/// From 4 to 5: appends are numbered. The events of older appends have number 0, so a reader of all sessions gets them
/// session by session.
///
/// From 5 to 6: every event has a checksum, so that damage costs no other events of its row, and long events are stored
/// as differences to each other. Older events keep their form.
const MIGRATIONS: [(i64, &str); 2] = [
    (
        4,
        "ALTER TABLE sessions ADD COLUMN last_append INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE events ADD COLUMN append INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE store_state ADD COLUMN store_id INTEGER NOT NULL DEFAULT 0;
         ALTER TABLE store_state ADD COLUMN last_append INTEGER NOT NULL DEFAULT 0;
         UPDATE store_state SET store_id = abs(random()) & 0xffffffff;",
    ),
    (5, "ALTER TABLE events ADD COLUMN event_checksums BLOB;"),
];

/// Migrates a database to the current format, in one transaction.
pub(crate) fn migrate(connection: &mut Connection, found: i64) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    for (_, changes) in MIGRATIONS.into_iter().filter(|(format, _)| *format >= found) {
        transaction.execute_batch(changes)?;
    }
    transaction.pragma_update(None, "user_version", FORMAT_VERSION)?;
    transaction.commit()?;
    tracing::info!(from = found, to = FORMAT_VERSION, "migrated the database to the current storage format");
    Ok(())
}
