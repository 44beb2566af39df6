//! Errors of `SQLite`.

use std::path::Path;

use crate::{OpenError, StoreError};

impl OpenError {
    pub(crate) fn from_sqlite(file: &Path, source: rusqlite::Error) -> Self {
        match source.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => Self::ForeignFile { path: file.to_owned() },
            _ => Self::Database { path: file.to_owned(), source },
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DiskFull) => Self::DiskFull(error.to_string()),
            _ => Self::Database(error.to_string()),
        }
    }
}
