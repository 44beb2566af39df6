//! Opening the database.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::sqlite::reserve::Reserve;
use crate::sqlite::schema::{self, APPLICATION_ID, FORMAT_VERSION, OLDEST_FORMAT_VERSION};
use crate::sqlite::{log_marker, migration, session_filter, wal_checkpoint};
use crate::{Durability, OpenError, StoreOptions};

const DATABASE_FILE: &str = "interlingua.db";

/// A database that is open for writing.
pub(crate) struct OpenDatabase {
    pub(crate) connection: Connection,
    pub(crate) file: PathBuf,
    pub(crate) reserve: Reserve,
    /// Whether an earlier process did not empty the write-ahead log, which may have deleted text.
    pub(crate) had_log: bool,
}

/// The database file of a data directory.
pub(crate) fn file(data_dir: &Path) -> PathBuf {
    data_dir.join(DATABASE_FILE)
}

/// Opens the database of a locked data directory for writing. Creates it if it does not exist.
pub(crate) fn open(data_dir: &Path, options: StoreOptions) -> Result<OpenDatabase, OpenError> {
    let file = file(data_dir);
    let had_log = log_marker::has_log(&file);
    let connection = open_file(&file, options)?;
    let open_error = |source| OpenError::from_sqlite(&file, source);
    if !had_log && log_marker::needs_log(&connection).map_err(open_error)? {
        return Err(OpenError::LogLost { log: log_marker::log_file(&file), path: file });
    }
    match log_marker::begin_log(&connection) {
        // Stored events are served from a full disk.
        Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) => {
            tracing::warn!(%error, file = %file.display(), "the disk is full: sessions can only be read, ended and deleted");
        }
        result => result.map_err(open_error)?,
    }
    Ok(OpenDatabase { connection, file, reserve: Reserve::new(data_dir), had_log })
}

/// Opens a database file for writing, whether or not its log was lost.
pub(crate) fn open_file(file: &Path, options: StoreOptions) -> Result<Connection, OpenError> {
    // Sessions are private: other users must not read them, wherever the directory is. SQLite gives its other files the
    // permissions of this one.
    let create = OpenOptions::new().append(true).create(true).mode(0o600).open(file);
    create.map_err(|source| OpenError::Directory { path: file.to_owned(), source })?;
    let open_error = |source| OpenError::from_sqlite(file, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(file, flags).map_err(open_error)?;
    // Set before the first write, so that creating the tables does not wait for the disk unless asked to.
    set_durability(&connection, options.durability).map_err(open_error)?;
    check_format(&mut connection, file)?;
    configure(&connection, options).map_err(open_error)?;
    Ok(connection)
}

/// Checks that the file was written by this program, in the current format. Migrates an older one,
/// and creates the tables of a new file.
fn check_format(connection: &mut Connection, file: &Path) -> Result<(), OpenError> {
    let open_error = |source| OpenError::from_sqlite(file, source);
    let pragma = |connection: &Connection, name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(open_error)
    };
    let found = pragma(connection, "user_version")?;
    match (pragma(connection, "application_id")?, found) {
        (APPLICATION_ID, FORMAT_VERSION) => Ok(()),
        (APPLICATION_ID, OLDEST_FORMAT_VERSION..FORMAT_VERSION) => {
            migration::migrate(connection, found).map_err(open_error)
        }
        (APPLICATION_ID, found) => {
            Err(OpenError::UnsupportedFormat { path: file.to_owned(), found, expected: FORMAT_VERSION })
        }
        (0, 0) if pragma(connection, "schema_version")? == 0 => {
            // Has to come before anything is written.
            connection.pragma_update(None, "auto_vacuum", "incremental").map_err(open_error)?;
            connection.pragma_update(None, "journal_mode", "wal").map_err(open_error)?;
            schema::create_tables(connection).map_err(open_error)
        }
        _ => Err(OpenError::ForeignFile { path: file.to_owned() }),
    }
}

fn set_durability(connection: &Connection, durability: Durability) -> rusqlite::Result<()> {
    connection.pragma_update(
        None,
        "synchronous",
        match durability {
            Durability::Normal => "normal",
            Durability::Full => "full",
        },
    )
}

fn configure(connection: &Connection, options: StoreOptions) -> rusqlite::Result<()> {
    // A separate thread runs the checkpoints (see `wal_checkpoint`).
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", wal_checkpoint::JOURNAL_SIZE_LIMIT)?;
    connection.pragma_update(None, "cache_size", -2048)?;
    connection.pragma_update(None, "secure_delete", "on")?;
    if let Some(pages) = options.max_pages {
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

/// Opens the database read-only. The connection sees committed data.
pub(crate) fn open_for_reading(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "cache_size", -512)?;
    session_filter::add_functions(&connection)?;
    Ok(connection)
}
