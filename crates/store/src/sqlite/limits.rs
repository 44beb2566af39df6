//! Limits of what the store takes, so that neither a session nor the store can fill the disk.

use rusqlite::Connection;

use crate::sqlite::{message, session};
use crate::uploads::Uploads;
use crate::{SessionKey, StoreError, StoreOptions};

/// Limits of what the store takes. Essential appends are not limited.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) max_session_bytes: Option<u64>,
    max_store_bytes: Option<u64>,
    uploads: Uploads,
}

impl Limits {
    pub(crate) fn new(options: &StoreOptions, uploads: Uploads) -> Self {
        let &StoreOptions { max_session_bytes, max_store_bytes, .. } = options;
        Self { max_session_bytes, max_store_bytes, uploads }
    }

    /// No limits.
    pub(crate) fn removed(self) -> Self {
        Self { max_session_bytes: None, max_store_bytes: None, ..self }
    }

    /// Refuses a write that adds this number of bytes if the database and the uploaded files would exceed their limit.
    pub(crate) fn check_store(&self, connection: &Connection, added: usize) -> Result<(), StoreError> {
        let Some(limit) = self.max_store_bytes else { return Ok(()) };
        let used = used_bytes(connection)?.saturating_add(self.uploads.byte_len());
        if used.saturating_add(added as u64) > limit { Err(StoreError::StoreLimit { limit }) } else { Ok(()) }
    }

    /// Refuses a message or a file of this size if the session would exceed its limit: its events, its queued messages
    /// and its uploaded files.
    pub(crate) fn check_session(
        &self,
        connection: &Connection,
        session: SessionKey,
        added: usize,
    ) -> Result<(), StoreError> {
        let Some(limit) = self.max_session_bytes else { return Ok(()) };
        let stored = session::stored_bytes(connection, session)? + message::queued_bytes(connection, session)?;
        let used = stored.saturating_add(self.uploads.session_bytes(session));
        if used.saturating_add(added as u64) > limit { Err(StoreError::SessionLimit { limit }) } else { Ok(()) }
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
