//! Checking a store for damage, and repairing it.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use crate::lock::DirLock;
use crate::sqlite::backup::open_existing;
use crate::sqlite::events::decode_events;
use crate::sqlite::schema::{place, place_range_after, sequence_at};
use crate::sqlite::{database, events, log_marker, rebuild};
use crate::stored_chunk::StoredChunk;
use crate::{OpenError, RawPayloads, ReadLimits, SessionKey, StoreError, StoreOptions, stored_chunk};

/// Maximum number of integrity errors that are reported.
const MAX_INTEGRITY_ERRORS: u32 = 20;
/// How much is read at once. A row is as long as its longest event.
const READ_LIMITS: ReadLimits = ReadLimits { max_events: 1024, max_bytes: 4 * 1024 * 1024 };

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// Number of sessions.
    pub sessions: u64,
    /// Number of events, including those that cannot be read.
    pub events: u64,
    /// What is damaged, one sentence each.
    pub issues: Vec<String>,
    /// Where the damaged database was moved to, if it had to be rebuilt.
    pub moved_to: Option<PathBuf>,
}

/// Checks the database of a data directory. A server may use the store meanwhile.
///
/// # Errors
///
/// If there is no database, or it is too damaged to be opened.
pub fn check(data_dir: &Path) -> Result<CheckReport, OpenError> {
    let file = database::file(data_dir);
    let connection = open_existing(data_dir)?;
    let report = inspect(&connection).map_err(|error| failed(&file, error))?;
    Ok(report)
}

/// Checks the database of a data directory and repairs what is damaged: an event that cannot be read is replaced by
/// `agent.unparsed`, and a missing write-ahead log is accepted. Returns what was found.
///
/// # Errors
///
/// If a process uses the store, there is no database, or it is too damaged to be opened.
pub fn repair(data_dir: &Path) -> Result<CheckReport, OpenError> {
    let file = database::file(data_dir);
    if let Err(source) = fs::metadata(&file) {
        return Err(OpenError::File { path: file, source });
    }
    let _lock = DirLock::create(data_dir)?;
    let had_log = log_marker::has_log(&file);
    let mut connection = database::open_file(&file, StoreOptions::default())?;
    let mut report = inspect(&connection).map_err(|error| failed(&file, error))?;
    if !had_log && log_marker::needs_log(&connection).map_err(|error| OpenError::from_sqlite(&file, error))? {
        report.issues.push("the write-ahead log is missing; the latest sessions and events are lost".to_owned());
    }
    if !find_integrity_errors(&connection).is_empty() {
        let moved_to;
        (connection, moved_to) = rebuild::rebuild(connection, &file)?;
        report.moved_to = Some(moved_to);
    }
    repair_rows(&mut connection).map_err(|error| failed(&file, error))?;
    log_marker::end_log(&connection, log_marker::CLOSE_TIMEOUT)
        .map_err(|error| OpenError::from_sqlite(&file, error))?;
    Ok(report)
}

fn failed(file: &Path, error: StoreError) -> OpenError {
    OpenError::Check { path: file.to_owned(), source: error }
}

fn inspect(connection: &Connection) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport { issues: find_integrity_errors(connection), ..CheckReport::default() };
    for (session, id, event_count) in sessions(connection)? {
        report.sessions += 1;
        report.events += event_count;
        let unreadable = unreadable_events(connection, session, event_count)?;
        for (first, last) in unreadable {
            let events = if first == last { format!("event {first}") } else { format!("events {first} to {last}") };
            report.issues.push(format!("session `{id}`: {events} cannot be read"));
        }
        let payloads = unreadable_payloads(connection, session)?;
        if payloads > 0 {
            report.issues.push(format!("session `{id}`: the native payloads of {payloads} rows cannot be read"));
        }
    }
    Ok(report)
}

/// What `SQLite` finds wrong with the database file.
fn find_integrity_errors(connection: &Connection) -> Vec<String> {
    let run_check = || -> rusqlite::Result<Vec<String>> {
        let mut statement = connection.prepare(&format!("PRAGMA integrity_check({MAX_INTEGRITY_ERRORS})"))?;
        statement.query_map([], |row| row.get::<_, String>(0))?.collect()
    };
    match run_check() {
        Ok(errors) => errors.into_iter().filter(|error| error != "ok").collect(),
        Err(error) => vec![error.to_string()],
    }
}

fn sessions(connection: &Connection) -> Result<Vec<(SessionKey, String, u64)>, StoreError> {
    let mut statement = connection.prepare("SELECT key, id, event_count FROM sessions ORDER BY key")?;
    let rows = statement
        .query_map([], |row| Ok((SessionKey(row.get(0)?), row.get(1)?, row.get::<_, i64>(2)?.cast_unsigned())))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Ranges of sequences whose events are replaced when they are read.
fn unreadable_events(
    connection: &Connection,
    session: SessionKey,
    event_count: u64,
) -> Result<Vec<(u64, u64)>, StoreError> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut after = 0;
    while after < event_count {
        let batch = events::read(connection, session, after, READ_LIMITS, RawPayloads::Omit)?;
        for (sequence, json) in batch.iter() {
            if json.starts_with("{\"event_id\":\"evt_unreadable_") && !is_stored(connection, session, sequence)? {
                match ranges.last_mut() {
                    Some((_, last)) if *last + 1 == sequence => *last = sequence,
                    _ => ranges.push((sequence, sequence)),
                }
            }
        }
        let Some(last) = batch.last_sequence() else { break };
        after = last;
    }
    Ok(ranges)
}

/// Whether an intact row has this event: one that was written by a repair.
fn is_stored(connection: &Connection, session: SessionKey, sequence: u64) -> Result<bool, StoreError> {
    let (after, end) = place_range_after(session, sequence - 1);
    let mut statement = connection.prepare_cached(
        "SELECT place, count, checksum, json FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place LIMIT 1",
    )?;
    let mut rows = statement.query((after, end))?;
    // A row that cannot be read at all is not intact.
    let Ok(Some(row)) = rows.next() else { return Ok(false) };
    let first = (sequence_at(row.get(0)?) + 1).saturating_sub(row.get::<_, i64>(1)?.cast_unsigned());
    Ok(first <= sequence && decode_events(row.get_ref(3)?, row.get(2)?).is_ok())
}

/// Number of rows whose payloads cannot be read.
fn unreadable_payloads(connection: &Connection, session: SessionKey) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT checksum, json, payloads FROM events WHERE place > ?1 AND place <= ?2 AND payloads IS NOT NULL",
    )?;
    let mut rows = statement.query(place_range_after(session, 0))?;
    let mut damaged = 0;
    // A row that cannot be read at all is reported as unreadable events.
    while let Ok(Some(row)) = rows.next() {
        let Ok(events) = decode_events(row.get_ref(1)?, row.get(0)?) else { continue };
        let payloads = row.get_ref(2)?.as_blob().unwrap_or_default();
        damaged += u64::from(stored_chunk::decode_payloads(payloads, &events).is_err());
    }
    Ok(damaged)
}

/// Replaces the rows of unreadable events.
fn repair_rows(connection: &mut Connection) -> Result<(), StoreError> {
    connection.execute(
        "UPDATE sessions SET event_count = max(event_count, coalesce( \
         (SELECT max(place) FROM events WHERE place > key << 36 AND place < (key + 1) << 36) & ((1 << 36) - 1), 0))",
        [],
    )?;
    for (session, _, event_count) in sessions(connection)? {
        for (first, last) in unreadable_events(connection, session, event_count)? {
            repair_range(connection, session, first, last)?;
        }
    }
    Ok(())
}

/// Writes the events that are read in the place of unreadable ones, together with the intact events of their rows.
fn repair_range(connection: &mut Connection, session: SessionKey, first: u64, last: u64) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    let (after, end) = place_range_after(session, first - 1);
    // The rows that the range touches: up to the one with its last event.
    let (mut start, mut stop) = (first, last);
    {
        let mut statement =
            transaction.prepare("SELECT place, count FROM events WHERE place > ?1 AND place <= ?2 ORDER BY place")?;
        let mut rows = statement.query((after, end))?;
        while let Some(row) = rows.next()? {
            let row_last = sequence_at(row.get(0)?);
            let row_first = (row_last + 1).saturating_sub(row.get::<_, i64>(1)?.cast_unsigned());
            if row_first > last {
                break;
            }
            (start, stop) = (start.min(row_first), stop.max(row_last));
        }
    }
    let (mut sequence, mut rows) = (start, Vec::new());
    while sequence <= stop {
        let batch = events::read(
            &transaction,
            session,
            sequence - 1,
            ReadLimits { max_events: 1, max_bytes: 1 },
            RawPayloads::Omit,
        )?;
        let Some((_, json)) = batch.iter().next() else { break };
        rows.push((sequence, json.to_owned()));
        sequence += 1;
    }
    let place_of = |sequence| place(session, sequence).unwrap_or(i64::MAX);
    let append = find_append(&transaction, session, (place_of(start), place_of(stop)))?;
    transaction.execute("DELETE FROM events WHERE place >= ?1 AND place <= ?2", (place_of(start), place_of(stop)))?;
    for (sequence, json) in rows {
        let stored = StoredChunk::new(&json, None);
        transaction.execute(
            "INSERT INTO events (place, count, checksum, append, json) VALUES (?1, 1, ?2, ?3, ?4)",
            (place_of(sequence), stored.checksum, append, events::to_value(stored.events(&json))),
        )?;
    }
    Ok(transaction.commit()?)
}

/// Number of the append that wrote a range of places: that of the first row in it, or else of the row before.
fn find_append(connection: &Connection, session: SessionKey, range: (i64, i64)) -> Result<i64, StoreError> {
    let (session_start, _) = place_range_after(session, 0);
    let number = connection.query_row(
        "SELECT coalesce( \
         (SELECT append FROM events WHERE place >= ?1 AND place <= ?2 ORDER BY place LIMIT 1), \
         (SELECT append FROM events WHERE place > ?3 AND place < ?1 ORDER BY place DESC LIMIT 1), 0)",
        (range.0, range.1, session_start),
        |row| row.get(0),
    )?;
    Ok(number)
}
