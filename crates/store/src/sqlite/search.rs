//! Full-text search over the stored events.
//!
//! The index is a database of its own, `search.db`, beside the store. A thread of its own fills it, after events are
//! durable and when the writer pauses, so that no append waits for it. It reads the events as any reader of many
//! sessions does, and stores its position with what it has indexed: after a crash it continues there. The index has
//! nothing that the store does not have. If it is damaged, or was written by another version, it is made again.

mod database;
mod documents;
mod event_reader;
mod index;
mod indexer;
mod match_expression;
mod query;
mod shards;

pub(crate) use database::search_file;
pub(crate) use indexer::{Indexer, IndexerHandle};
pub(crate) use query::search;
