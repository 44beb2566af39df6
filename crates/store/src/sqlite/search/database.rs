//! The database of the index.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};

use crate::global_cursor::Position;
use crate::{SessionKey, StoreError};

/// Format of the index, stored as `user_version`. An index of another format is made again, so a change of the tables,
/// of the searchable text or of its division into words is a new format.
const FORMAT_VERSION: i64 = 2;

/// `documents` has the text of events, for snippets; their words are in one table per shard (see `shards`). `blocks` has the latest
/// time of every 1024 documents, and `sessions` the sessions that have documents. The id of a document is never used
/// again, so that a shard is a range of ids.
const TABLES: &str = "
    CREATE TABLE documents (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        time INTEGER NOT NULL,
        text ANY NOT NULL
    ) STRICT;
    CREATE INDEX session_documents ON documents (session);
    CREATE TABLE shards (first INTEGER PRIMARY KEY, bytes INTEGER NOT NULL) STRICT;
    CREATE TABLE blocks (block INTEGER PRIMARY KEY, latest INTEGER NOT NULL) STRICT;
    CREATE TABLE sessions (session INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE position (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        store_id INTEGER NOT NULL,
        append INTEGER NOT NULL,
        session INTEGER NOT NULL,
        sequence INTEGER NOT NULL
    ) STRICT;
";

/// Size of an index (8 MiB) up to which it is rewritten after documents were deleted.
const MAX_REWRITTEN_PAGES: i64 = 2048;
/// How long emptying the log waits for searches.
const READERS_TIMEOUT: Duration = Duration::from_secs(2);
const READERS_POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Size to which the log file is truncated after a checkpoint.
const JOURNAL_SIZE_LIMIT: i64 = 4 * 1024 * 1024;

/// The index of the store with this database file.
pub(crate) fn search_file(database: &Path) -> PathBuf {
    database.with_file_name("search.db")
}

/// Opens an index for writing. Creates it, also in the place of one of another store or format, or that is damaged.
pub(super) fn open(file: &Path, store_id: u32) -> Result<Connection, StoreError> {
    let database_error = |error: io::Error| StoreError::Database(error.to_string());
    match try_open(file, store_id) {
        Ok(Some(connection)) => return Ok(connection),
        Ok(None) => {}
        Err(error) if is_damage(&error) => tracing::warn!(%error, "the search index is damaged; making it again"),
        Err(error) => return Err(error.into()),
    }
    remove(file).map_err(database_error)?;
    let create = OpenOptions::new().append(true).create(true).mode(0o600).open(file);
    create.map_err(database_error)?;
    let mut connection = connect(file)?;
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    configure(&connection)?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(TABLES)?;
    transaction.pragma_update(None, "user_version", FORMAT_VERSION)?;
    transaction.execute("INSERT INTO position VALUES (1, ?1, 0, 0, 0)", [store_id])?;
    store_position(&transaction, Position::START)?;
    transaction.commit()?;
    Ok(connection)
}

/// Opens an existing index; `None` if there is none of this store and format.
fn try_open(file: &Path, store_id: u32) -> rusqlite::Result<Option<Connection>> {
    if !file.exists() {
        return Ok(None);
    }
    let connection = connect(file)?;
    if connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? != FORMAT_VERSION {
        return Ok(None);
    }
    configure(&connection)?;
    let found: u32 = connection.query_row("SELECT store_id FROM position", [], |row| row.get(0))?;
    Ok((found == store_id).then_some(connection))
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "secure_delete", "on")?;
    connection.pragma_update(None, "journal_size_limit", JOURNAL_SIZE_LIMIT)?;
    connection.pragma_update(None, "cache_size", -4096)
}

/// Opens an index for a search; `None` if there is none.
pub(super) fn open_for_reading(file: &Path) -> rusqlite::Result<Option<Connection>> {
    if !file.exists() {
        return Ok(None);
    }
    crate::sqlite::database::open_for_reading(file).map(Some)
}

/// Removes the files of an index.
pub(super) fn remove(file: &Path) -> io::Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        match fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Whether the index has to be made again.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    // A missing table is an unknown error.
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase | Unknown))
        || matches!(error, rusqlite::Error::QueryReturnedNoRows)
}

/// The position in the events of all sessions up to which the index is complete.
pub(super) fn load_position(connection: &Connection) -> rusqlite::Result<Position> {
    connection.query_row("SELECT append, session, sequence FROM position", [], |row| {
        Ok(Position {
            append: row.get(0)?,
            session: SessionKey(row.get(1)?),
            sequence: row.get::<_, i64>(2)?.cast_unsigned(),
        })
    })
}

pub(super) fn store_position(connection: &Connection, position: Position) -> rusqlite::Result<()> {
    connection.prepare_cached("UPDATE position SET append = ?1, session = ?2, sequence = ?3")?.execute((
        position.append,
        position.session.0,
        position.sequence.cast_signed(),
    ))?;
    Ok(())
}

/// Removes what deleted documents have left in the files: free pages, and old pages in the log.
pub(super) fn remove_traces(connection: &Connection) -> rusqlite::Result<bool> {
    let pages: i64 = connection.pragma_query_value(None, "page_count", |row| row.get(0))?;
    if pages <= MAX_REWRITTEN_PAGES {
        connection.execute_batch("VACUUM")?;
    } else {
        let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
        let mut rows = statement.query([])?;
        // Every row is one page.
        while rows.next()?.is_some() {}
    }
    let deadline = Instant::now() + READERS_TIMEOUT;
    loop {
        let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0))?;
        if !is_busy || Instant::now() >= deadline {
            return Ok(!is_busy);
        }
        std::thread::sleep(READERS_POLL_INTERVAL);
    }
}
