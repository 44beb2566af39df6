//! Errors of opening and using a store.

use std::path::PathBuf;

use interlingua_schema::SessionId;

use crate::{MAX_LABELS, MAX_QUERY_WORDS, StoreUrlError};

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The data directory cannot be created, read or written.
    #[error("cannot use the data directory {path}")]
    Directory {
        /// The data directory.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// Another process has the data directory open.
    #[error(
        "the data directory {path} is in use by {holder}; stop that process first, or choose another directory with \
         --data-dir"
    )]
    InUse {
        /// The data directory.
        path: PathBuf,
        /// The other process, if its id is known.
        holder: String,
    },
    /// The database was written by a version of this program with another storage format.
    #[error(
        "the database {path} has format {found}, but this version of interlingua supports format {expected} only; use \
         the version that wrote it, or choose another directory with --data-dir"
    )]
    UnsupportedFormat {
        /// The database file.
        path: PathBuf,
        /// Format of the file.
        found: i64,
        /// Format that this version supports.
        expected: i64,
    },
    /// The file was not written by this program.
    #[error("{path} is not an interlingua database; choose another directory with --data-dir")]
    ForeignFile {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be read or written.
    #[error("cannot use {path}")]
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The database is too damaged to be checked.
    #[error("cannot check the database {path}")]
    Check {
        /// The database file.
        path: PathBuf,
        /// What failed.
        source: StoreError,
    },
    /// The write-ahead log of the database is missing, and the events in it are lost.
    #[error(
        "the database {path} was not closed, and its write-ahead log {log} is missing: the latest sessions and events \
         are lost. Put the log back beside the database, restore a copy made by `interlingua store backup`, or accept \
         the loss with `interlingua store check --repair`"
    )]
    LogLost {
        /// The database file.
        path: PathBuf,
        /// The file that is missing or empty.
        log: PathBuf,
    },
    /// The address of the shared store is invalid.
    #[error(transparent)]
    Url(#[from] StoreUrlError),
    /// The shared database cannot be used.
    #[error("cannot use the database {database}: {reason}; {remedy}")]
    Postgres {
        /// Address of the database, without its password.
        database: String,
        /// What is wrong.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// The tables of the shared database were made by a newer version of this program.
    #[error(
        "the tables in {database} have version {found}, but this version of interlingua supports version {expected} at \
         most; use a newer version of interlingua"
    )]
    NewerSchema {
        /// Address of the database, without its password.
        database: String,
        /// Version of the tables.
        found: i32,
        /// Version that this program makes.
        expected: i32,
    },
    /// `SQLite` cannot open the database.
    #[error("cannot open the database {path}")]
    Database {
        /// The database file.
        path: PathBuf,
        /// `SQLite`'s error.
        source: rusqlite::Error,
    },
}

/// Why the store refused a request. A refused request has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A session with this id exists.
    #[error("session `{0}` already exists")]
    SessionAlreadyExists(SessionId),
    /// The session does not exist, or was deleted.
    #[error("the session does not exist")]
    SessionNotFound,
    /// The session has more events or messages than the caller knows.
    #[error("the session has changed meanwhile")]
    SessionChanged,
    /// The session has ended; nothing can be added to it.
    #[error("the session has ended")]
    SessionEnded,
    /// The events do not follow the session's last one, or each other.
    #[error("expected the event with sequence {expected}, found {found}")]
    OutOfOrder {
        /// The next sequence of the session.
        expected: u64,
        /// The sequence of the event.
        found: u64,
    },
    /// The disk is full. Stored events can still be read. Writing works again once there is space.
    #[error("the disk is full; nothing was written; free disk space or delete sessions ({0})")]
    DiskFull(String),
    /// The session has reached its maximum size. It can be read, ended and deleted.
    #[error(
        "the session has reached its limit of {limit} bytes (--max-session-bytes); start another session, or raise the \
         limit"
    )]
    SessionLimit {
        /// The limit.
        limit: u64,
    },
    /// The store has reached its maximum size. Sessions can be read, ended and deleted.
    #[error(
        "the store has reached its limit of {limit} bytes (--max-store-bytes); delete sessions, or raise the limit"
    )]
    StoreLimit {
        /// The limit.
        limit: u64,
    },
    /// The cursor of a stream of many sessions does not belong to this store, or is beyond its last event.
    #[error(
        "the cursor does not belong to this store, or is beyond its last event; the data directory may have been \
         replaced; read from the start"
    )]
    CursorGone,
    /// The session would have too many labels.
    #[error("expected at most {MAX_LABELS} labels, found {found}")]
    TooManyLabels {
        /// Number of labels that it would have.
        found: usize,
    },
    /// A search has too many words.
    #[error("expected at most {MAX_QUERY_WORDS} words to search for, found {found}; search for fewer words")]
    TooManyWords {
        /// Number of words of the query.
        found: usize,
    },
    /// An uploaded file has a name that cannot be the name of a file.
    #[error("the name of a file must have 1 to 200 bytes, and no slash, backslash or control character")]
    InvalidFileName,
    /// An uploaded file cannot be written.
    #[error("cannot write the uploaded file {name}: {reason}")]
    Upload {
        /// Name of the file.
        name: String,
        /// What the operating system says.
        reason: String,
    },
    /// Another server owns the session now. What this process does for the session has no effect.
    #[error("another server has taken the session over")]
    LeaseLost,
    /// The shared database cannot be reached, or does not answer. The same request may succeed later.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// The database failed.
    #[error("the database failed: {0}")]
    Database(String),
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// Whether the write was refused because there is no space for it: a full disk, or a limit.
    #[must_use]
    pub fn is_storage_full(&self) -> bool {
        matches!(self, Self::DiskFull(_) | Self::SessionLimit { .. } | Self::StoreLimit { .. })
    }
}
