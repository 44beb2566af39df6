//! Errors that prevent a history from being read.

use std::io;
use std::path::PathBuf;

/// A history that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// A file or folder cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why it cannot be read.
        source: io::Error,
    },
    /// A database cannot be read.
    #[error("cannot read the database {}", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// Why it cannot be read.
        source: rusqlite::Error,
    },
    /// A database has no tables that this version knows.
    #[error("cannot read the database {}: {}", path.display(), unknown_schema(found))]
    UnknownSchema {
        /// The database.
        path: PathBuf,
        /// Names of its tables.
        found: String,
    },
    /// The events cannot be written.
    #[error("cannot write the events")]
    Write(#[source] io::Error),
}

fn unknown_schema(found: &str) -> String {
    let found = if found.is_empty() { "none" } else { found };
    format!("expected the tables session, message and part of OpenCode, found {found}")
}

impl HistoryError {
    pub(crate) fn read(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Read { path, source }
    }

    /// What is wrong, without the path.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::Read { source, .. } => format!("cannot be read: {source}"),
            Self::Database { source, .. } => format!("cannot be read: {source}"),
            Self::UnknownSchema { found, .. } => unknown_schema(found),
            Self::Write(source) => source.to_string(),
        }
    }

    /// The file or folder that it is about.
    pub(crate) fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Read { path, .. } | Self::Database { path, .. } | Self::UnknownSchema { path, .. } => Some(path),
            Self::Write(_) => None,
        }
    }
}
