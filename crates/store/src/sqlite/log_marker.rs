//! A marker in the database that says whether it is complete without its write-ahead log.
//!
//! A database whose log was lost looks like a valid older one: the latest sessions and events are missing, and nothing
//! says so. So the database file itself records that a log belongs to it, from the moment that it is opened for writing
//! until it is closed cleanly. A database with that mark and without a log has lost events. A copy of a cleanly closed
//! database has no such mark.
//!
//! The mark is written to the database file before anything that is only in the log: [`begin_log`] commits it and copies
//! it from the log to the file. [`end_log`] does the reverse: everything is copied, and the log is emptied. In between,
//! the log has at least the commit of the mark, so an empty log is a lost one.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _};

/// Size of the header of a log. A shorter file holds nothing.
const LOG_HEADER_BYTES: u64 = 32;
const READERS_POLL_INTERVAL: Duration = Duration::from_millis(5);
/// How long a connection waits for another one otherwise.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How long closing the database waits for readers.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The write-ahead log of a database file.
pub(crate) fn log_file(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// Whether the database file has a log. Call it before the database is opened, which creates one.
pub(crate) fn has_log(database: &Path) -> bool {
    std::fs::metadata(log_file(database)).is_ok_and(|log| log.len() >= LOG_HEADER_BYTES)
}

/// Whether the database file needs its log to be complete.
pub(crate) fn needs_log(connection: &Connection) -> rusqlite::Result<bool> {
    let marker = connection.query_row("SELECT log_in_use FROM store_state", [], |row| row.get(0)).optional()?;
    Ok(marker.unwrap_or(false))
}

/// Marks the database as incomplete without its log.
pub(crate) fn begin_log(connection: &Connection) -> rusqlite::Result<()> {
    set_marker(connection, true)?;
    // Copies the marker to the database file. The log keeps its size.
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

/// Copies the log to the database file, marks the file as complete, and empties the log. False if readers need the log
/// for longer than the timeout, so that it could not be emptied; the marker is set then.
pub(crate) fn end_log(connection: &Connection, readers_timeout: Duration) -> rusqlite::Result<bool> {
    set_marker(connection, false)?;
    // Waits here instead of in SQLite, which does not wait for another connection that copies the log.
    connection.busy_timeout(Duration::ZERO)?;
    let emptied = empty_log(connection, readers_timeout);
    connection.busy_timeout(BUSY_TIMEOUT)?;
    if !matches!(emptied, Ok(true)) {
        begin_log(connection)?;
    }
    emptied
}

fn empty_log(connection: &Connection, readers_timeout: Duration) -> rusqlite::Result<bool> {
    let deadline = Instant::now() + readers_timeout;
    loop {
        // Busy: a reader needs the log, or another connection copies it.
        let busy = match connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0)) {
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => true,
            result => result?,
        };
        if !busy || Instant::now() >= deadline {
            return Ok(!busy);
        }
        std::thread::sleep(READERS_POLL_INTERVAL);
    }
}

/// Sets the marker without touching the log.
pub(crate) fn set_marker(connection: &Connection, in_use: bool) -> rusqlite::Result<()> {
    connection.prepare_cached("UPDATE store_state SET log_in_use = ?1")?.execute([in_use]).map(drop)
}
