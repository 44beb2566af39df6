//! What can go wrong.

use std::path::PathBuf;

use interlingua_schema::SessionId;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The folder cannot be made, read or written.
    #[error("the data folder {path} cannot be used: {source}")]
    Directory {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Another process has it open.
    #[error(
        "the data folder {path} is in use by {holder}; stop that one first, or give this one a folder of its own \
         with --data-dir"
    )]
    InUse {
        /// The folder.
        path: PathBuf,
        /// The other process, as far as it is known.
        holder: String,
    },
    /// It was written by a version of this program that stores things in another format.
    #[error(
        "the database {path} has format {found}, and this version of interlingua reads and writes format {expected} \
         only; use the version that wrote it, or another folder with --data-dir"
    )]
    UnsupportedFormat {
        /// The database file.
        path: PathBuf,
        /// The format it has.
        found: i64,
        /// The format this version knows.
        expected: i64,
    },
    /// The file is something else.
    #[error("{path} is not an interlingua database; use another folder with --data-dir")]
    ForeignFile {
        /// The file.
        path: PathBuf,
    },
    /// `SQLite` refuses.
    #[error("the database {path} cannot be opened: {source}")]
    Database {
        /// The database file.
        path: PathBuf,
        /// What `SQLite` says.
        source: rusqlite::Error,
    },
}

/// Why the store refused a request. Whatever it refuses has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is a session of that name.
    #[error("session `{0}` already exists")]
    SessionAlreadyExists(SessionId),
    /// There is no such session, or not any more.
    #[error("there is no such session")]
    SessionNotFound,
    /// The session has ended; nothing can be added to it.
    #[error("the session has ended")]
    SessionEnded,
    /// The events do not follow the last one, or each other.
    #[error("expected the event with sequence {expected}, found {found}")]
    OutOfOrder {
        /// The sequence that comes next.
        expected: u64,
        /// The one that was to be appended.
        found: u64,
    },
    /// There is no room left. What is stored can still be read; writing works again as soon as there is room.
    #[error("the disk is full: nothing was written ({0})")]
    DiskFull(String),
    /// The database fails.
    #[error("the database failed: {0}")]
    Database(String),
    /// The store is being closed.
    #[error("the store is closed")]
    Closed,
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::DiskFull(error.to_string()),
            _ => Self::Database(error.to_string()),
        }
    }
}
