//! The store in a data directory: one `SQLite` database, one process.
//!
//! One thread does all writing. It commits everything that was queued since its last commit as one transaction
//! ([`group_commit`]). Readers have connections of their own ([`pool`]).

mod append_counter;
mod backup;
mod check;
mod damaged;
mod database;
mod error;
mod events;
mod global_merge;
mod group_commit;
mod limits;
mod log_marker;
mod message;
mod migration;
mod pool;
mod publisher;
mod purge;
mod rebuild;
mod reserve;
mod schema;
mod search;
mod session;
mod session_filter;
mod store;
mod summary;
mod wal_checkpoint;
mod write;
mod writer;

pub(crate) use global_merge::Merge;
pub(crate) use store::SqliteStore;

pub use backup::backup;
pub use check::{CheckReport, check, repair};
