//! Errors that prevent a history from being read.

use std::io;
use std::path::PathBuf;

/// A history that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why it cannot be read.
        source: io::Error,
    },
    /// A database cannot be read.
    #[error("cannot read the database {}: {source}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// Why it cannot be read.
        source: rusqlite::Error,
    },
    /// A database has no tables that this version knows.
    #[error("cannot read the database {}: expected the tables session, message and part of OpenCode, found {found}", path.display())]
    UnknownSchema {
        /// The database.
        path: PathBuf,
        /// Names of its tables.
        found: String,
    },
    /// The events cannot be written.
    #[error("cannot write the events: {0}")]
    Write(#[source] io::Error),
}

impl HistoryError {
    pub(crate) fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Read { path, source }
    }
}
