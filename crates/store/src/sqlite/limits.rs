//! Limits of what the store takes, so that neither a session nor the store can fill the disk.

use rusqlite::Connection;

use crate::{StoreError, StoreOptions};

/// Limits of what the store takes. Essential appends are not limited.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) max_session_bytes: Option<u64>,
    max_store_bytes: Option<u64>,
}

impl Limits {
    pub(crate) fn new(options: &StoreOptions) -> Self {
        Self { max_session_bytes: options.max_session_bytes, max_store_bytes: options.max_store_bytes }
    }

    /// No limits.
    pub(crate) const NONE: Self = Self { max_session_bytes: None, max_store_bytes: None };

    /// Refuses a write that adds this number of bytes if the database would exceed its limit.
    pub(crate) fn check_store(&self, connection: &Connection, added: usize) -> Result<(), StoreError> {
        let Some(limit) = self.max_store_bytes else { return Ok(()) };
        let used = used_bytes(connection)?;
        if used.saturating_add(added as u64) > limit { Err(StoreError::StoreLimit { limit }) } else { Ok(()) }
    }

    /// Refuses a write that adds this number of bytes to a session that has `stored` bytes.
    pub(crate) fn check_session(&self, stored: u64, added: usize) -> Result<(), StoreError> {
        match self.max_session_bytes {
            Some(limit) if stored.saturating_add(added as u64) > limit => Err(StoreError::SessionLimit { limit }),
            _ => Ok(()),
        }
    }
}

/// Size of the database's pages that are in use.
fn used_bytes(connection: &Connection) -> Result<u64, StoreError> {
    let pragma = |name: &str| -> rusqlite::Result<u64> {
        connection.prepare_cached(name)?.query_row([], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
    };
    let pages = pragma("PRAGMA page_count")?.saturating_sub(pragma("PRAGMA freelist_count")?);
    Ok(pages * pragma("PRAGMA page_size")?)
}
