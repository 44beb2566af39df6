//! The store: its public methods.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use interlingua_schema::SessionId;
use tokio::sync::oneshot;

use crate::global_cursor::Position;
use crate::global_feed::Run;
use crate::notifier::Tail;
use crate::sqlite::{Merge, SqliteStore};
use crate::{
    Append, Batch, Enqueued, EventReader, GlobalReader, GlobalStart, MessageId, MessageRecord, NewMessage, NewSession,
    OpenError, QueuedMessage, RawPayloads, ReadLimits, SearchQuery, SearchResults, Session, SessionChanges,
    SessionFilter, SessionKey, StoreError, StoreOptions, StoredSessionPage, StoredState,
};

/// The durable log of sessions and events. Cloning it copies a pointer.
///
/// Dropping the last clone commits what is queued, closes the database and releases the data directory for the next
/// process. [`close`](Self::close) does the first two while there are clones.
#[derive(Clone)]
pub struct Store {
    backend: Backend,
}

/// The database behind a store. Both keep the same promises, which the tests of this crate check for both.
#[derive(Clone)]
enum Backend {
    Sqlite(SqliteStore),
}

/// The stored events of many sessions, while they are being read.
#[derive(Debug)]
pub(crate) enum StoredEvents {
    Sqlite(Merge),
}

impl StoredEvents {
    /// Position after the last event.
    pub(crate) fn end(&self) -> Position {
        match self {
            Self::Sqlite(merge) => merge.end(),
        }
    }
}

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

/// A write that was queued. It resolves when the write is durable, or to the reason why it was refused.
///
/// Writes are executed in the order of the calls. Dropping a `PendingWrite` does not cancel the write.
#[must_use = "a write is not durable until this resolves"]
#[derive(Debug)]
pub struct PendingWrite<T>(oneshot::Receiver<Result<T, StoreError>>);

impl<T> PendingWrite<T> {
    pub(crate) fn new(result: oneshot::Receiver<Result<T, StoreError>>) -> Self {
        Self(result)
    }
}

impl<T> Future for PendingWrite<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // The sender is dropped without a result only when the writer is gone.
        Pin::new(&mut self.0).poll(context).map(|result| result.unwrap_or(Err(StoreError::Closed)))
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}

impl Store {
    /// Opens the store in a data directory. Creates the directory if it does not exist.
    ///
    /// # Errors
    ///
    /// If the directory or its database cannot be used, or another process has it open.
    pub fn open(data_dir: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        let store = SqliteStore::open(data_dir, options)?;
        Ok(Self { backend: Backend::Sqlite(store) })
    }

    /// Creates a session.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::SessionAlreadyExists`] if the id is taken.
    pub fn create(&self, session: NewSession) -> PendingWrite<Session> {
        match &self.backend {
            Backend::Sqlite(store) => store.create(session),
        }
    }

    /// Appends events to a session, together with the changes that belong to them.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::OutOfOrder`] if the events do not follow the session's last one,
    /// [`StoreError::SessionEnded`] if the session has ended, [`StoreError::SessionNotFound`] if it was deleted. If
    /// there is no space, an error for which [`StoreError::is_storage_full`] is true.
    pub fn append(&self, session: SessionKey, append: Append) -> PendingWrite<()> {
        match &self.backend {
            Backend::Sqlite(store) => store.append(session, append),
        }
    }

    /// Adds a message to the end of a session's queue, unless the session has a message with the same public id.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::SessionEnded`] or [`StoreError::SessionNotFound`] if the session can take no messages.
    pub fn enqueue(&self, session: SessionKey, message: NewMessage) -> PendingWrite<Enqueued> {
        match &self.backend {
            Backend::Sqlite(store) => store.enqueue(session, message),
        }
    }

    /// Removes a message from a session's queue. Resolves to false if it is not queued any more.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub fn cancel_message(&self, session: SessionKey, message: MessageId) -> PendingWrite<bool> {
        match &self.backend {
            Backend::Sqlite(store) => store.cancel_message(session, message),
        }
    }

    /// Changes what a session was created with. Resolves to the changed session.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::SessionNotFound`] if it does not exist.
    pub fn update_session(&self, session: SessionKey, changes: SessionChanges) -> PendingWrite<Session> {
        match &self.backend {
            Backend::Sqlite(store) => store.update_session(session, changes),
        }
    }

    /// Writes a file that a client attaches to messages of a session, and returns its path. Deleting the session removes
    /// it.
    ///
    /// # Errors
    ///
    /// If the name is not the name of a file, the disk is full, or the file cannot be written.
    pub async fn save_upload(
        &self,
        session: SessionKey,
        name: String,
        content: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<PathBuf, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.save_upload(session, name, content).await,
        }
    }

    /// Deletes a session with all its events, messages and uploaded files.
    ///
    /// The session is gone at once, whether the result is awaited or not. It resolves when its data is removed from the
    /// files; if that is not possible yet, a warning is logged, and it is tried again later.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::SessionNotFound`] if it does not exist.
    pub fn delete(&self, session: SessionKey) -> PendingWrite<()> {
        match &self.backend {
            Backend::Sqlite(store) => store.delete(session),
        }
    }

    /// The session with this id.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.session(id).await,
        }
    }

    /// At most `limit` sessions that pass a filter, newest first. `from` is the [`next`](StoredSessionPage::next) of the
    /// previous page.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn sessions(
        &self,
        filter: &SessionFilter,
        limit: usize,
        from: Option<SessionKey>,
    ) -> Result<StoredSessionPage, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.sessions(filter, limit, from).await,
        }
    }

    /// Number of sessions that pass a filter.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn count_sessions(&self, filter: &SessionFilter) -> Result<u64, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.count_sessions(filter).await,
        }
    }

    /// Sessions that were busy when the last process ended, or have queued messages; oldest first.
    ///
    /// Meant to be called once, before the process starts anything new.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn interrupted_sessions(&self) -> Result<Vec<Session>, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.interrupted_sessions().await,
        }
    }

    /// What the runtime stored with a session.
    ///
    /// # Errors
    ///
    /// [`StoreError::SessionNotFound`] if the session does not exist, or if the database fails.
    pub async fn load_state(&self, session: SessionKey) -> Result<StoredState, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.load_state(session).await,
        }
    }

    /// The oldest queued message of a session; `None` when the queue is empty.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn next_message(&self, session: SessionKey) -> Result<Option<QueuedMessage>, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.next_message(session).await,
        }
    }

    /// The queued messages of a session, oldest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn queued_messages(&self, session: SessionKey) -> Result<Vec<QueuedMessage>, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.queued_messages(session).await,
        }
    }

    /// What is stored of a message, whether it still waits or not.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn find_message(
        &self,
        session: SessionKey,
        public_id: &str,
    ) -> Result<Option<MessageRecord>, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.find_message(session, public_id).await,
        }
    }

    /// Reads the stored events with a sequence higher than `after`, up to the limits.
    ///
    /// # Errors
    ///
    /// If the database fails. A session that does not exist has no events.
    pub async fn read(
        &self,
        session: SessionKey,
        after: u64,
        limits: ReadLimits,
        raw: RawPayloads,
    ) -> Result<Batch, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.read(session, after, limits, raw).await,
        }
    }

    /// A cursor after the event with sequence `after`; 0 is the beginning of the session.
    #[must_use]
    pub fn reader(&self, session: SessionKey, after: u64, raw: RawPayloads) -> EventReader {
        let subscription = match &self.backend {
            Backend::Sqlite(store) => store.subscribe(session),
        };
        EventReader::new(self.clone(), subscription, session, after, raw)
    }

    /// A cursor into the events of the sessions that pass a filter. The state of sessions is not part of the filter.
    ///
    /// # Errors
    ///
    /// [`StoreError::CursorGone`] if the cursor is not one of this store, or if the database fails.
    pub async fn global_reader(
        &self,
        start: GlobalStart,
        filter: SessionFilter,
        raw: RawPayloads,
    ) -> Result<GlobalReader, StoreError> {
        let (store_id, last_append, subscription) = match &self.backend {
            Backend::Sqlite(store) => (store.store_id(), store.last_append(), store.subscribe_to_all()),
        };
        if let GlobalStart::After(cursor) = start {
            let position = cursor.position;
            let tail = self.load_tail(position.session).await?;
            let is_beyond = match tail {
                Tail::Open { last } | Tail::Ended { last } => position.sequence > last,
                Tail::Deleted | Tail::Unknown => false,
            };
            if cursor.store_id != store_id || position.append > last_append || is_beyond {
                return Err(StoreError::CursorGone);
            }
        }
        Ok(GlobalReader::new(self.clone(), store_id, subscription, start, filter, raw))
    }

    /// Searches the text of all events. The index is filled after events are durable; a search waits a short time for
    /// what it lacks.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn search(&self, query: SearchQuery) -> Result<SearchResults, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.search(query).await,
        }
    }

    /// Commits what is queued and closes the database: its file is then complete without other files. Everything after
    /// this fails with [`StoreError::Closed`]. Blocks the thread until it is done.
    pub fn close(&self) {
        match &self.backend {
            Backend::Sqlite(store) => store.close(),
        }
    }

    /// Commits nothing, after the writes that wait, to find out how long a commit takes.
    ///
    /// # Errors
    ///
    /// If the database or its disk fails.
    pub async fn probe(&self) -> Result<StoreProbe, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.probe().await,
        }
    }

    /// Counters since the store was opened.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        match &self.backend {
            Backend::Sqlite(store) => store.stats(),
        }
    }

    pub(crate) async fn load_tail(&self, session: SessionKey) -> Result<Tail, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.load_tail(session).await,
        }
    }

    /// Begins to read the stored events after a position, of the sessions that pass the filter.
    pub(crate) async fn load_stored(
        &self,
        filter: &SessionFilter,
        position: Position,
    ) -> Result<StoredEvents, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.load_merge(filter, position).await.map(StoredEvents::Sqlite),
        }
    }

    /// Reads the next events up to the limits; none at the end.
    pub(crate) async fn read_stored(
        &self,
        stored: StoredEvents,
        limits: ReadLimits,
        raw: RawPayloads,
    ) -> Result<(StoredEvents, Vec<Run>), StoreError> {
        match (&self.backend, stored) {
            (Backend::Sqlite(store), StoredEvents::Sqlite(merge)) => {
                let (merge, runs) = store.read_merge(merge, limits, raw).await?;
                Ok((StoredEvents::Sqlite(merge), runs))
            }
        }
    }

    /// Those of the sessions that pass a filter.
    pub(crate) async fn filter_sessions(
        &self,
        filter: &SessionFilter,
        sessions: Vec<SessionKey>,
    ) -> Result<Vec<SessionKey>, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.filter_sessions(filter, sessions).await,
        }
    }

    /// Reads the events of appends again, with their payloads.
    pub(crate) async fn read_payloads(&self, runs: Vec<Run>) -> Result<Vec<Run>, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.read_payloads(runs).await,
        }
    }
}
