//! Copying a store while it is in use.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::OpenError;
use crate::sqlite::schema::{APPLICATION_ID, FORMAT_VERSION, OLDEST_FORMAT_VERSION};
use crate::sqlite::{database, log_marker};

/// Copies the database of a data directory to a new file. A server may use the store meanwhile; the copy has everything
/// that was durable when it started, and nothing of deleted sessions. Returns the size of the copy in bytes.
///
/// The copy is complete in itself. To restore it, put it into an empty data directory as `interlingua.db`.
///
/// # Errors
///
/// If there is no database, the target exists, or either cannot be read or written.
pub fn backup(data_dir: &Path, target: &Path) -> Result<u64, OpenError> {
    let source = database::file(data_dir);
    let unusable = |path: &Path| {
        let path = path.to_owned();
        move |source| OpenError::File { path, source }
    };
    if target.exists() {
        return Err(unusable(target)(io::ErrorKind::AlreadyExists.into()));
    }
    let connection = open_existing(data_dir)?;
    // Under another name until it is complete, so that a copy that was cut off is not taken for a backup.
    let partial = partial_file(target);
    let created = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial);
    created.map_err(unusable(&partial))?;
    let copied = copy(&connection, &partial).map_err(|error| match error.sqlite_error_code() {
        Some(
            rusqlite::ErrorCode::DiskFull | rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::SystemIoFailure,
        ) => OpenError::from_sqlite(&partial, error),
        _ => OpenError::from_sqlite(&source, error),
    });
    let finished = copied.and_then(|()| {
        File::open(&partial).and_then(|file| file.sync_all()).map_err(unusable(&partial))?;
        fs::rename(&partial, target).map_err(unusable(target))?;
        Ok(fs::metadata(target).map_err(unusable(target))?.len())
    });
    if finished.is_err() {
        // Only a part of the copy.
        let _ = fs::remove_file(&partial);
    }
    finished
}

/// Opens the database of a data directory for reading, whether or not a server uses it.
pub(crate) fn open_existing(data_dir: &Path) -> Result<Connection, OpenError> {
    let file = database::file(data_dir);
    if let Err(source) = fs::metadata(&file) {
        return Err(OpenError::File { path: file, source });
    }
    let has_log = log_marker::has_log(&file);
    let open_error = |source| OpenError::from_sqlite(&file, source);
    let connection = database::open_for_reading(&file).map_err(open_error)?;
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(open_error);
    match (pragma("application_id")?, pragma("user_version")?) {
        (APPLICATION_ID, OLDEST_FORMAT_VERSION..=FORMAT_VERSION) => {}
        (APPLICATION_ID, found) => {
            return Err(OpenError::UnsupportedFormat { path: file, found, expected: FORMAT_VERSION });
        }
        _ => return Err(OpenError::ForeignFile { path: file }),
    }
    if !has_log && log_marker::needs_log(&connection).map_err(open_error)? {
        return Err(OpenError::LogLost { log: log_marker::log_file(&file), path: file });
    }
    Ok(connection)
}

fn copy(source: &Connection, target: &Path) -> rusqlite::Result<()> {
    // The path is passed as bytes: it need not be UTF-8.
    source.execute("VACUUM INTO CAST(?1 AS TEXT)", [target.as_os_str().as_bytes()])?;
    let copy = Connection::open_with_flags(target, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // The copy has no log.
    log_marker::set_marker(&copy, false)?;
    copy.close().map_err(|(_, error)| error)
}

fn partial_file(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}
