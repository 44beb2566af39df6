//! The durable log of sessions and events.
//!
//! One `SQLite` database in a data directory holds every session, its queued messages and its events. One thread does
//! all writing. It commits everything that was queued since its last commit as one transaction, and answers only then:
//! an acknowledged write survives `kill -9`, and with [`Durability::Full`] a power failure too. No reader gets an event
//! before it is durable.
//!
//! A reader is a cursor. [`Store::reader`] starts one after any event. [`EventReader::next`] returns the events that
//! follow, in small batches, and waits when there are none. A slow reader costs a few bytes, however far it falls
//! behind: there is no buffer that it could overrun. Readers that keep up share the text of the most recent appends in
//! memory; the others read from the database. A session without readers and writers costs nothing but its rows.
//!
//! [`Store::global_reader`] is a cursor into the events of many sessions, in the order in which they were committed.
//! [`Store::search`] finds events by the words in their text, with an index that is filled in the background.
//!
//! Events are stored as the JSON text that clients receive. The native payload that an event was made from is stored
//! separately, once for all events of an append that share it, and is inserted only for readers that ask for it. Many
//! events of an append share a row, because a row costs more than an event.
//!
//! ```
//! use interlingua_schema::{EventData, Origin, SessionStarted, Timestamp, UniversalEvent};
//! use interlingua_store::{Append, NewSession, RawPayloads, Store, StoreOptions};
//!
//! # let data_dir = tempfile::tempdir()?;
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let store = Store::open(data_dir.path(), StoreOptions::default())?;
//! let session = store.create(NewSession::new("s1", "mock")).await?;
//!
//! let data = EventData::SessionStarted(SessionStarted::default());
//! let event = UniversalEvent::new("evt_1", 1, Timestamp::EPOCH, "s1", Origin::DAEMON, data);
//! store.append(session.key, Append::events([event])).await?;
//!
//! let mut reader = store.reader(session.key, 0, RawPayloads::Omit);
//! let batch = reader.next().await?.expect("the session is still open");
//! let (sequence, json) = batch.iter().next().expect("a batch is never empty");
//! assert_eq!(sequence, 1);
//! assert!(json.starts_with(r#"{"event_id":"evt_1","sequence":1"#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod append;
mod chunk;
mod damaged;
mod error;
mod events;
#[cfg(fuzzing)]
pub mod fuzzing;
mod global_cursor;
mod global_feed;
mod global_reader;
mod lease;
mod lock;
mod message;
mod notifier;
mod options;
mod payload_delta;
mod pending_write;
mod postgres;
mod reader;
mod search;
mod session;
mod session_filter;
mod sqlite;
mod stats;
mod store;
mod stored_chunk;
mod summary;
mod uploads;

pub use append::Append;
pub use error::{OpenError, StoreError};
pub use events::{Batch, EventText, RawPayloads, ReadLimits};
pub use global_cursor::{GlobalCursor, ParseCursorError};
pub use global_reader::{GlobalBatch, GlobalReader, GlobalStart};
pub use lease::{Acquired, AgentPlace, Lease, LeaseHolder};
pub use message::{Enqueued, MessageId, MessageRecord, MessageState, NewMessage, QueuedMessage};
pub use options::{Durability, StoreOptions};
pub use pending_write::PendingWrite;
pub use postgres::{
    CommandAnswer, Fleet, FleetStatus, PostgresOptions, ServerIdentity, StoreUrl, StoreUrlError, TakenCommand,
};
pub use reader::EventReader;
pub use search::{MAX_QUERY_BYTES, MAX_QUERY_WORDS, SearchHit, SearchQuery, SearchResults};
pub use session::{
    ANY_SERVER, MAX_LABELS, NewSession, Session, SessionChanges, SessionKey, StoredSessionPage, StoredState,
};
pub use session_filter::{SessionFilter, SessionState, StateFilter};
pub use sqlite::{CheckReport, backup, check, repair};
pub use stats::{StoreProbe, StoreStats, StoreUsage};
pub use store::Store;
