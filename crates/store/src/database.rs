//! Opening the database.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::lock::Lock;
use crate::schema::{self, APPLICATION, FORMAT};
use crate::{Durability, OpenError, StoreOptions, checkpoint};

const FILE: &str = "interlingua.db";

/// A database that this process alone may write.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) file: PathBuf,
    pub(crate) lock: Lock,
}

/// Opens the database of a folder for writing; makes both if they are not there.
pub(crate) fn open(folder: &Path, options: StoreOptions) -> Result<Opened, OpenError> {
    let unusable = |source| OpenError::Directory { path: folder.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(unusable)?;
    let lock = Lock::take(folder)?;
    let file = folder.join(FILE);
    // What users tell their agents is nobody else's to read, wherever the folder is. SQLite gives its other files the
    // permissions of this one.
    OpenOptions::new().append(true).create(true).mode(0o600).open(&file).map_err(unusable)?;
    let refused = |source: rusqlite::Error| match source.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase) => OpenError::ForeignFile { path: file.clone() },
        _ => OpenError::Database { path: file.clone(), source },
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&file, flags).map_err(refused)?;
    // Before anything is written: what is not asked for need not be waited for.
    set_durability(&connection, options.durability).map_err(refused)?;
    check_format(&mut connection, &file, refused)?;
    set_up(&connection, options).map_err(refused)?;
    Ok(Opened { connection, file, lock })
}

/// Whether the file is ours and we know its format; a new file gets its tables.
fn check_format(
    connection: &mut Connection,
    file: &Path,
    refused: impl Fn(rusqlite::Error) -> OpenError,
) -> Result<(), OpenError> {
    let pragma = |connection: &Connection, name: &str| {
        connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map_err(&refused)
    };
    let found = pragma(connection, "user_version")?;
    match (pragma(connection, "application_id")?, found) {
        (APPLICATION, FORMAT) => Ok(()),
        (APPLICATION, found) => Err(OpenError::UnsupportedFormat { path: file.to_owned(), found, expected: FORMAT }),
        (0, 0) if pragma(connection, "schema_version")? == 0 => {
            connection.pragma_update(None, "journal_mode", "wal").map_err(&refused)?;
            schema::create(connection).map_err(refused)
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

fn set_up(connection: &Connection, options: StoreOptions) -> rusqlite::Result<()> {
    // The write-ahead log is moved into the database beside the writer (see `checkpoint`).
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "journal_size_limit", checkpoint::BYTES_KEPT)?;
    connection.pragma_update(None, "cache_size", -2048)?;
    if let Some(pages) = options.max_pages {
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    connection.set_prepared_statement_cache_capacity(32);
    Ok(())
}

/// Opens the database for reading what is durable.
pub(crate) fn open_for_reading(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "cache_size", -512)?;
    Ok(connection)
}
