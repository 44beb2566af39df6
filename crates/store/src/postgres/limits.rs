//! Limits of what the store takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::{SessionKey, StoreError, StoreOptions};

/// Limits of what the store takes. Cloning it copies a pointer to the size of the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    max_session_bytes: Option<u64>,
    max_store_bytes: Option<u64>,
    /// Size of the store when it was measured last, and what was added since.
    store_size: Arc<AtomicU64>,
}

impl Limits {
    pub(crate) fn new(options: &StoreOptions) -> Self {
        Self {
            max_session_bytes: options.max_session_bytes,
            max_store_bytes: options.max_store_bytes,
            store_size: Arc::default(),
        }
    }

    /// Whether the size of the store has to be measured from time to time.
    pub(crate) fn needs_store_size(&self) -> bool {
        self.max_store_bytes.is_some()
    }

    /// Sets the size of the store, as it was measured.
    pub(crate) fn set_store_size(&self, bytes: u64) {
        self.store_size.store(bytes, Ordering::Relaxed);
    }

    /// Refuses a write that adds this number of bytes to the store. They are counted if it does not.
    pub(crate) fn check_store(&self, added: usize) -> Result<(), StoreError> {
        let Some(limit) = self.max_store_bytes else { return Ok(()) };
        let add = |used: u64| used.checked_add(added as u64).filter(|used| *used <= limit);
        let counted = self.store_size.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        counted.map(drop).map_err(|_| StoreError::StoreLimit { limit })
    }

    /// Refuses a message or a file of this size if the session would exceed its limit: its events, its queued messages
    /// and its uploaded files.
    pub(crate) async fn check_addition(
        &self,
        client: &DbClient,
        session: SessionKey,
        added: usize,
    ) -> Result<(), DbError> {
        const MEASURE: &str = "SELECT s.stored_bytes \
             + (SELECT coalesce(sum(octet_length(text) + coalesce(octet_length(attachments), 0)), 0)::bigint \
                FROM messages WHERE session = s.key AND state = 0) \
             + (SELECT coalesce(sum(octet_length(content)), 0)::bigint FROM uploads WHERE session = s.key) \
             FROM sessions AS s WHERE s.key = $1";
        if self.max_session_bytes.is_none() {
            return Ok(());
        }
        let Some(row) = client.query_opt(MEASURE, &[&session.0]).await? else { return Ok(()) };
        Ok(self.check_session(row.get::<_, i64>(0).cast_unsigned(), added)?)
    }

    /// Refuses a write that adds this number of bytes to a session that has `stored` bytes.
    pub(crate) fn check_session(&self, stored: u64, added: usize) -> Result<(), StoreError> {
        match self.max_session_bytes {
            Some(limit) if stored.saturating_add(added as u64) > limit => Err(StoreError::SessionLimit { limit }),
            _ => Ok(()),
        }
    }
}
