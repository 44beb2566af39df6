//! What is known about a store: counters, its state and its content.

use std::time::Duration;

use crate::SessionState;

/// Counters of a store since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreStats {
    /// Number of appended events.
    pub events: u64,
    /// Number of committed transactions.
    pub commits: u64,
    /// Number of writes that failed because of the database or a full disk.
    pub failures: u64,
}

/// The state of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreProbe {
    /// Time from the call to the commit.
    pub lag: Duration,
    /// Free space on the disk, in bytes.
    pub free_bytes: u64,
}

/// What a store contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreUsage {
    /// Number of sessions with each agent in each state.
    pub sessions: Vec<(String, SessionState, u64)>,
    /// Number of messages whose turns have not begun.
    pub queued_messages: u64,
    /// Size of the database and the search index on the disk, in bytes.
    pub bytes: u64,
}
