//! The durable log of sessions and events.
//!
//! One `SQLite` database in a data folder holds every session, its messages that wait for the agent, and its events.
//! All writing goes through one thread, which commits whatever has been queued since its last commit as one
//! transaction and only then answers: what the store has acknowledged survives `kill -9`, and with [`Durability::Full`] the
//! loss of power too. Nobody sees an event before that.
//!
//! A reader is a cursor. [`Store::reader`] starts one after any event; [`EventReader::next`] gives what follows, a small
//! batch at a time, and sleeps when there is nothing. However far it falls behind, it costs its own few bytes: there
//! is no buffer that it could overrun. Those that keep up are handed the text of the last appends, all of them the same;
//! the others read from the database. A session that nobody reads or writes costs nothing but its rows.
//!
//! Events are kept as the JSON text that clients get. The native payload an event was made from is kept apart, once
//! for the events of an append that were made from it, and is put in its place only for readers that ask for it. The
//! events of an append lie in few rows, many in each: a row costs more than an event.
//!
//! ```
//! use interlingua_schema::{EventData, Origin, SessionStarted, Timestamp, UniversalEvent};
//! use interlingua_store::{Append, NewSession, RawPayloads, Store, StoreOptions};
//!
//! # let folder = tempfile::tempdir()?;
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let store = Store::open(folder.path(), StoreOptions::default())?;
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
mod checkpoint;
mod chunk;
mod database;
mod error;
mod events;
mod group;
mod job;
mod lock;
mod message;
mod options;
mod pool;
mod reader;
mod schema;
mod session;
mod store;
mod watchers;
mod writer;

pub use append::Append;
pub use error::{OpenError, StoreError};
pub use events::{Batch, RawPayloads, ReadLimits};
pub use message::{MessageId, QueuedMessage};
pub use options::{Durability, StoreOptions};
pub use reader::EventReader;
pub use session::{NewSession, Session, SessionKey, StoredSessionPage, StoredState};
pub use store::{PendingWrite, Store, StoreStats};
