//! Removing the data of deleted sessions from the files.
//!
//! Deleting a session takes effect at once: its row is gone, and its key is on the list of deleted sessions. Its events
//! are removed in the background, in steps between which other writes are committed: a session may have gigabytes. Then
//! the database file is shortened by the free pages, and the write-ahead log, which has the old content of pages, is
//! emptied. `SQLite` overwrites freed parts of pages with zeros (`secure_delete`). The list survives a crash, and the
//! next process goes on. The documents of a session in the search index are removed by the thread that fills it (see
//! `search`), and the caller of a deletion waits for both.
//!
//! What remains possible: when `SQLite` divides a full page into two, the unused part of a page may keep a copy of rows
//! that moved to the other. A small database is rewritten for this reason, a large one is not.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension as _};

use crate::sqlite::log_marker;
use crate::sqlite::schema::place_range_after;
use crate::sqlite::summary;
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

/// What is left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing.
    Idle,
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
    steps: u32,
    retry_at: Option<Instant>,
}

impl Purge {
    /// Continues what an earlier process left.
    pub(crate) fn resume(connection: &Connection) -> rusqlite::Result<Self> {
        let is_pending = next_deleted_session(connection)?.is_some() || read_pragma(connection, "freelist_count")? > 0;
        Ok(Self { phase: if is_pending { Phase::Rows } else { Phase::Idle }, steps: 0, retry_at: None })
    }

    /// Starts over, because something was deleted.
    pub(crate) fn start(&mut self) {
        *self = Self { phase: Phase::Rows, steps: 0, retry_at: None };
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_done(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// How long to wait before the next step; `None` if nothing is left to do.
    pub(crate) fn delay(&self) -> Option<Duration> {
        let now = Instant::now();
        (!self.is_done()).then(|| self.retry_at.map_or(Duration::ZERO, |at| at.saturating_duration_since(now)))
    }

    /// Repeats a failed step without a delay.
    pub(crate) fn retry_now(&mut self) {
        self.retry_at = None;
    }

    /// Takes the next step. After an error, a later step tries again.
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
                self.retry_at = Some(Instant::now() + RETRY_DELAY);
                Err(error)
            }
        }
    }

    fn try_step(&self, connection: &mut Connection) -> Result<Phase, StoreError> {
        Ok(match self.phase {
            Phase::Idle => Phase::Idle,
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
                    0 if read_pragma(connection, "page_count")? <= MAX_REWRITTEN_PAGES => Phase::Rewrite,
                    0 => Phase::Log,
                    _ => Phase::Pages,
                }
            }
            Phase::Rewrite => {
                // Without space for the copy, the database stays as it is.
                if let Err(error) = connection.execute_batch("VACUUM") {
                    tracing::debug!(%error, "cannot rewrite the database after deleting sessions");
                }
                Phase::Log
            }
            Phase::Log => {
                if !log_marker::end_log(connection, READERS_TIMEOUT)? {
                    return Err(StoreError::Database("readers still use the write-ahead log".to_owned()));
                }
                log_marker::begin_log(connection)?;
                Phase::Idle
            }
        })
    }
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
