//! Numbering of the appends of all sessions.
//!
//! Appends are numbered in the order in which they are committed. There is one writer, so a reader that sees an append
//! sees every append with a lower number too: no append becomes visible behind a reader that has passed its number. A
//! number that belongs to a failed transaction is not used again.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use rusqlite::Connection;

/// The number of the last append. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct AppendCounter(Arc<AtomicI64>);

impl AppendCounter {
    /// Continues after the appends of a database, also after those of sessions that were deleted.
    pub(crate) fn load(connection: &Connection) -> rusqlite::Result<Self> {
        let last = connection.query_row(
            "SELECT max(coalesce((SELECT max(last_append) FROM sessions), 0), \
             coalesce((SELECT last_append FROM store_state), 0))",
            [],
            |row| row.get(0),
        )?;
        Ok(Self(Arc::new(AtomicI64::new(last))))
    }

    /// The number for an append. Only the writer calls it, inside the transaction of the append.
    pub(crate) fn next(&self) -> i64 {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// The number that was assigned last.
    pub(crate) fn last(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    /// Stores the number, because the session that has it is being deleted.
    pub(crate) fn save(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection
            .prepare_cached("UPDATE store_state SET last_append = max(last_append, ?1)")?
            .execute([self.last()])?;
        Ok(())
    }
}
