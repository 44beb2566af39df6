//! Opening the database.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::lock::DirLock;
use crate::schema::{self, APPLICATION_ID, FORMAT_VERSION};
use crate::{Durability, OpenError, StoreOptions, wal_checkpoint};

const DATABASE_FILE: &str = "interlingua.db";

/// A database that is open for writing. The lock excludes other processes.
pub(crate) struct OpenDatabase {
    pub(crate) connection: Connection,
    pub(crate) file: PathBuf,
    pub(crate) lock: DirLock,
}

/// Opens the database of a data directory for writing. Creates both if they do not exist.
pub(crate) fn open(data_dir: &Path, options: StoreOptions) -> Result<OpenDatabase, OpenError> {
    let unusable = |source| OpenError::Directory { path: data_dir.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir).map_err(unusable)?;
    let lock = DirLock::acquire(data_dir)?;
    let file = data_dir.join(DATABASE_FILE);
    // Sessions are private: other users must not read them, wherever the directory is. SQLite gives its other files the
    // permissions of this one.
    OpenOptions::new().append(true).create(true).mode(0o600).open(&file).map_err(unusable)?;
    let open_error = |source: rusqlite::Error| match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => OpenError::ForeignFile { path: file.clone() },
        _ => OpenError::Database { path: file.clone(), source },
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&file, flags).map_err(open_error)?;
    // Set before the first write, so that creating the tables does not wait for the disk unless asked to.
    set_durability(&connection, options.durability).map_err(open_error)?;
    check_format(&mut connection, &file, open_error)?;
    configure(&connection, options).map_err(open_error)?;
    Ok(OpenDatabase { connection, file, lock })
}

/// Checks that the file was written by this program in the current format. Creates the tables of a new file.
fn check_format(
    connection: &mut Connection,
    file: &Path,
    open_error: impl Fn(rusqlite::Error) -> OpenError,
) -> Result<(), OpenError> {
    let pragma = |connection: &Connection, name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(&open_error)
    };
    let found = pragma(connection, "user_version")?;
    match (pragma(connection, "application_id")?, found) {
        (APPLICATION_ID, FORMAT_VERSION) => Ok(()),
        (APPLICATION_ID, found) => {
            Err(OpenError::UnsupportedFormat { path: file.to_owned(), found, expected: FORMAT_VERSION })
        }
        (0, 0) if pragma(connection, "schema_version")? == 0 => {
            connection.pragma_update(None, "journal_mode", "wal").map_err(&open_error)?;
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
    Ok(connection)
}
