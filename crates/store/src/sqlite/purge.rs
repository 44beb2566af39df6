//! Removing the data of deleted sessions from the files.
//!
//! Deleting a session takes effect at once: its row is gone, and its key is on the list of deleted sessions. Its events
//! are removed in the background, in steps between which other writes are committed: a session may have gigabytes. Then
//! the database file is shortened by the free pages, and the write-ahead log, which has the old content of pages, is
//! emptied. `SQLite` overwrites freed parts of pages with zeros (`secure_delete`). The list survives a crash, and the
//! next process goes on. The documents of a session in the search index are removed by the thread that fills it (see
//! `search`), and the caller of a deletion waits for both. Uploaded files are removed first, which makes space.
//!
//! The pages of a large message that has left the queue are removed from the file in the same way.
//!
//! What remains possible: when `SQLite` divides a full page into two, the unused part of a page may keep a copy of rows
//! that moved to the other. A small database is rewritten for this reason, a large one is not.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _};

use crate::sqlite::reserve::{RESERVED_BYTES, free_bytes};
use crate::sqlite::schema::place_range_after;
use crate::sqlite::summary;
use crate::sqlite::{log_marker, wal_checkpoint};
use crate::uploads::Uploads;
use crate::{SessionKey, StoreError};

/// Number of rows that a step deletes: about 2 MiB.
const ROWS_PER_STEP: u32 = 128;
/// Number of free pages that a step removes: 4 MiB.
const PAGES_PER_STEP: usize = 1024;
/// Number of steps after which the write-ahead log is copied to the database, so that it can be reused.
const STEPS_PER_CHECKPOINT: u32 = 32;
/// Maximum size of a database that is rewritten after a purge (8 MiB, about 30 ms).
const MAX_REWRITTEN_PAGES: i64 = 2048;
/// How long a step waits for readers of the write-ahead log. Other writes wait too.
const READERS_TIMEOUT: Duration = Duration::from_millis(200);
/// Delay after a step that failed.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Number of free pages (1 MiB) from which the file is shortened although nothing was deleted.
const MAX_FREE_PAGES: i64 = 256;

/// What is left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing.
    Idle,
    /// Remove the uploaded files of deleted sessions.
    Uploads,
    /// Delete the rows of deleted sessions.
    Rows,
    /// Remove free pages from the database file.
    Pages,
    /// Rewrite a small database.
    Rewrite,
    /// Empty the write-ahead log.
    Log,
}

/// The removal of deleted data, in steps.
#[derive(Debug)]
pub(crate) struct Purge {
    phase: Phase,
    /// Whether sessions were deleted. If not, only free pages are removed, or the log of a killed process.
    has_deleted_data: bool,
    /// Whether uploaded files could not be removed.
    has_uploads_left: bool,
    steps: u32,
    retry_at: Option<Instant>,
    uploads: Uploads,
}

impl Purge {
    /// Continues what an earlier process left. `had_log` says that it did not empty the log.
    pub(crate) fn resume(connection: &Connection, uploads: Uploads, had_log: bool) -> rusqlite::Result<Self> {
        let uploaders = uploads.sessions().unwrap_or_default();
        let mut has_deleted_data =
            next_deleted_session(connection)?.is_some() || read_pragma(connection, "freelist_count")? > 0;
        for session in uploaders {
            has_deleted_data |= !exists(connection, session)?;
        }
        let phase = match (has_deleted_data, had_log) {
            (true, _) => Phase::Uploads,
            (false, true) => Phase::Log,
            (false, false) => Phase::Idle,
        };
        Ok(Self { phase, has_deleted_data, has_uploads_left: false, steps: 0, retry_at: None, uploads })
    }

    /// Starts over, because something was deleted.
    pub(crate) fn start(&mut self) {
        (self.phase, self.has_deleted_data) = (Phase::Uploads, true);
        (self.steps, self.retry_at) = (0, None);
    }

    /// Removes free pages from the file if there are many, and nothing else is left to do.
    pub(crate) fn start_to_shrink(&mut self, connection: &Connection) {
        if self.is_done() && read_pragma(connection, "freelist_count").is_ok_and(|pages| pages >= MAX_FREE_PAGES) {
            (self.phase, self.has_deleted_data) = (Phase::Pages, false);
        }
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_done(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether data of deleted sessions is being removed.
    pub(crate) fn has_deleted_data(&self) -> bool {
        self.has_deleted_data
    }

    /// How long to wait before the next step; `None` if nothing is left to do.
    pub(crate) fn delay(&self) -> Option<Duration> {
        let now = Instant::now();
        (!self.is_done()).then(|| self.retry_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now)))
    }

    /// Whether the next step can be taken.
    pub(crate) fn is_due(&self) -> bool {
        self.delay().is_some_and(|delay| delay.is_zero())
    }

    /// Repeats a failed step without a delay.
    pub(crate) fn retry_now(&mut self) {
        self.retry_at = None;
    }

    /// Takes the next step. After an error, a later step tries again, unless nothing was deleted.
    pub(crate) fn step(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        match self.try_step(connection) {
            Ok(phase) => {
                self.phase = phase;
                self.retry_at = None;
                self.steps += 1;
                if self.steps.is_multiple_of(STEPS_PER_CHECKPOINT) {
                    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
                }
                Ok(())
            }
            Err(error) => {
                if self.phase == Phase::Pages && !self.has_deleted_data {
                    self.phase = Phase::Idle;
                }
                self.retry_at = Some(Instant::now() + RETRY_DELAY);
                Err(error)
            }
        }
    }

    fn try_step(&mut self, connection: &mut Connection) -> Result<Phase, StoreError> {
        Ok(match self.phase {
            Phase::Idle => Phase::Idle,
            Phase::Uploads => {
                self.has_uploads_left = !remove_uploads(&self.uploads, connection)?;
                Phase::Rows
            }
            Phase::Rows => match next_deleted_session(connection)? {
                Some(session) => {
                    delete_rows(connection, session)?;
                    Phase::Rows
                }
                None => Phase::Pages,
            },
            Phase::Pages => {
                remove_free_pages(connection, Some(PAGES_PER_STEP))?;
                match read_pragma(connection, "freelist_count")? {
                    0 if !self.has_deleted_data => Phase::Idle,
                    0 if read_pragma(connection, "page_count")? <= MAX_REWRITTEN_PAGES => Phase::Rewrite,
                    0 => Phase::Log,
                    _ => Phase::Pages,
                }
            }
            Phase::Rewrite => {
                // Without space for the copy, the database stays as it is. A part would use up what is left.
                if has_space_to_rewrite(connection)?
                    && let Err(error) = connection.execute_batch("VACUUM")
                {
                    tracing::debug!(%error, "cannot rewrite the database after deleting sessions");
                }
                Phase::Log
            }
            Phase::Log => {
                check_space_for_log(connection)?;
                if !log_marker::end_log(connection, READERS_TIMEOUT)? {
                    return Err(StoreError::Database("readers still use the write-ahead log".to_owned()));
                }
                log_marker::begin_log(connection)?;
                if std::mem::take(&mut self.has_uploads_left) {
                    self.phase = Phase::Uploads;
                    return Err(StoreError::Database("uploaded files cannot be removed".to_owned()));
                }
                Phase::Idle
            }
        })
    }
}

/// Whether the disk has the space for a copy of the database, in a temporary file and in the log.
fn has_space_to_rewrite(connection: &Connection) -> rusqlite::Result<bool> {
    let bytes = read_pragma(connection, "page_count")?.saturating_mul(read_pragma(connection, "page_size")?);
    let free = connection.path().and_then(|file| free_bytes(Path::new(file)).ok());
    Ok(free.is_none_or(|free| 3 * bytes.cast_unsigned() <= free))
}

/// Fails if the disk has no space to copy the log to the database file, before a part of it takes what is left. The error
/// is that of a full disk if reserved space would do.
fn check_space_for_log(connection: &Connection) -> Result<(), StoreError> {
    let Some(file) = connection.path() else { return Ok(()) };
    let missing = wal_checkpoint::missing_space(connection, Path::new(file))?;
    let reason = format!("{missing} bytes are missing to empty the write-ahead log");
    match missing {
        0 => Ok(()),
        1..=RESERVED_BYTES => Err(StoreError::DiskFull(reason)),
        _ => Err(StoreError::Database(reason)),
    }
}

/// Removes the uploaded files of deleted sessions. False if some cannot be removed.
fn remove_uploads(uploads: &Uploads, connection: &Connection) -> Result<bool, StoreError> {
    let mut is_complete = true;
    let sessions = uploads.sessions().unwrap_or_else(|error| {
        tracing::debug!(%error, "cannot list the uploaded files");
        is_complete = false;
        Vec::new()
    });
    for session in sessions {
        if !exists(connection, session)?
            && let Err(error) = uploads.remove(session)
        {
            tracing::debug!(%error, session = session.0, "cannot remove the uploaded files of a deleted session");
            is_complete = false;
        }
    }
    Ok(is_complete)
}

fn exists(connection: &Connection, session: SessionKey) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM sessions WHERE key = ?1)")?
        .query_row([session.0], |row| row.get(0))
}

fn next_deleted_session(connection: &Connection) -> rusqlite::Result<Option<SessionKey>> {
    connection
        .prepare_cached("SELECT session FROM deleted_sessions ORDER BY session LIMIT 1")?
        .query_row([], |row| row.get(0).map(SessionKey))
        .optional()
}

/// Deletes some rows of a session; the last ones together with its entry in the list.
///
/// Whole pages are not overwritten, which would take as much space in the log. Instead, the same transaction removes
/// them from the file, so that no other row can get one with old content.
fn delete_rows(connection: &mut Connection, session: SessionKey) -> Result<(), StoreError> {
    connection.pragma_update(None, "secure_delete", "fast")?;
    let deleted = delete_rows_and_pages(connection, session);
    connection.pragma_update(None, "secure_delete", "on")?;
    deleted
}

fn delete_rows_and_pages(connection: &mut Connection, session: SessionKey) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let (after, last) = place_range_after(session, 0);
    let mut deleted = transaction
        .prepare_cached(
            "DELETE FROM events WHERE place IN \
             (SELECT place FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT ?3)",
        )?
        .execute((after, last, ROWS_PER_STEP))?;
    deleted += transaction
        .prepare_cached(
            "DELETE FROM messages WHERE id IN (SELECT id FROM messages WHERE session = ?1 ORDER BY id LIMIT ?2)",
        )?
        .execute((session.0, ROWS_PER_STEP))?;
    if u32::try_from(deleted).is_ok_and(|deleted| deleted < ROWS_PER_STEP) {
        summary::delete_requests(&transaction, session)?;
        transaction.prepare_cached("DELETE FROM kept WHERE session = ?1")?.execute([session.0])?;
        transaction.prepare_cached("DELETE FROM deleted_sessions WHERE session = ?1")?.execute([session.0])?;
    }
    remove_free_pages(&transaction, None)?;
    Ok(transaction.commit()?)
}

/// Moves pages from the end of the database file to free pages, and shortens the file. At most `limit` pages.
fn remove_free_pages(connection: &Connection, limit: Option<usize>) -> rusqlite::Result<()> {
    let pragma =
        limit.map_or("PRAGMA incremental_vacuum".to_owned(), |pages| format!("PRAGMA incremental_vacuum({pages})"));
    let mut statement = connection.prepare(&pragma)?;
    let mut rows = statement.query([])?;
    // Every row is one page.
    while rows.next()?.is_some() {}
    Ok(())
}

fn read_pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}
