//! Copies of databases that may be in use.
//!
//! A database with a write-ahead log must not be opened where it is, because `SQLite` would create files beside it. It is
//! copied together with its log.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, params};
use tempfile::TempDir;

use super::database::{FileState, error, log_of};
use crate::{HistoryError, HistoryReport};

/// Number of attempts to copy a database that is being written.
const MAX_ATTEMPTS: u32 = 3;
/// A file that changed this short a time ago may have changed again without another time of modification.
const CLOCK_TICK: Duration = Duration::from_millis(100);

/// Copies a database with its log, and opens the copy. A copy that was made during a write is made again. If each one was,
/// the last one is checked, and a report says what is wrong with it.
pub(super) fn open_copy(path: &Path, report: &mut HistoryReport) -> Result<(Connection, FileState), HistoryError> {
    let mut attempt = 1;
    loop {
        let folder =
            tempfile::Builder::new().prefix("interlingua-history-").tempdir().map_err(HistoryError::read(path))?;
        let before = FileState::read(path);
        let copy = copy_files(path, &folder)?;
        let is_stable = before == FileState::read(path) && !before.changed_within(CLOCK_TICK);
        if !is_stable && attempt < MAX_ATTEMPTS {
            attempt += 1;
            std::thread::sleep(CLOCK_TICK);
            continue;
        }
        let connection = Connection::open(&copy).map_err(error(path))?;
        let check = if is_stable { "PRAGMA schema_version" } else { "PRAGMA quick_check(1)" };
        // Reads from the copy, so that SQLite has all its files open.
        let found: Result<rusqlite::types::Value, _> = connection.query_row(check, params![], |row| row.get(0));
        match found {
            Ok(rusqlite::types::Value::Text(found)) if found != "ok" => {
                let reason = format!("expected a consistent copy of a database that is being written, found {found}");
                report.add_problem(path, None, reason);
            }
            Ok(_) => {}
            Err(source) => return Err(error(path)(source)),
        }
        remove_open_files(folder);
        return Ok((connection, before));
    }
}

fn copy_files(path: &Path, folder: &TempDir) -> Result<PathBuf, HistoryError> {
    let (copy, log) = (folder.path().join("copy.db"), log_of(path));
    fs::copy(path, &copy).map_err(HistoryError::read(path))?;
    match fs::copy(&log, log_of(&copy)) {
        Ok(_) => {}
        // The writer has closed the database meanwhile, and moved the log into it.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(HistoryError::read(log)(error)),
    }
    Ok(copy)
}

/// Removes the files of a copy that is open, so that it is gone when this process ends, however it ends. Windows does not
/// allow that; the folder stays until the process removes it.
fn remove_open_files(folder: TempDir) {
    if cfg!(unix) {
        drop(folder);
    } else {
        let _ = folder.keep();
    }
}

impl FileState {
    /// Whether the database or its log changed within this time.
    fn changed_within(&self, time: Duration) -> bool {
        let recent = SystemTime::now().checked_sub(time);
        self.modified().is_some_and(|modified| recent.is_none_or(|recent| modified > recent))
    }
}
