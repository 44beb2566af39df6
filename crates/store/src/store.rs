//! The store: its public methods.

mod reads;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use interlingua_schema::SessionId;

use crate::global_cursor::Position;
use crate::notifier::Tail;
use crate::postgres::{PostgresStore, StoredRuns};
use crate::sqlite::{Merge, SqliteStore};
use crate::{
    Acquired, Append, Batch, Enqueued, EventReader, Fleet, GlobalReader, GlobalStart, Lease, MessageId, MessageRecord,
    NewMessage, NewSession, OpenError, PendingWrite, PostgresOptions, QueuedMessage, RawPayloads, ReadLimits,
    SearchQuery, SearchResults, Session, SessionChanges, SessionFilter, SessionKey, StoreError, StoreOptions,
    StoreProbe, StoreStats, StoreUsage, StoredSessionPage, StoredState,
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
    Postgres(PostgresStore),
}

/// The stored events of many sessions, while they are being read.
#[derive(Debug)]
pub(crate) enum StoredEvents {
    Sqlite(Merge),
    Postgres(StoredRuns),
}

impl StoredEvents {
    /// Position after the last event, and after those that were filtered out. `durable` is the position after the last append
    /// that was durable before the events were looked up.
    pub(crate) fn end(&self, durable: Position) -> Position {
        match self {
            Self::Sqlite(merge) => merge.end().max(durable),
            // Reading has moved past what was filtered out.
            Self::Postgres(runs) => runs.end(),
        }
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

    /// Whether a data directory has a store.
    #[must_use]
    pub fn exists(data_dir: &Path) -> bool {
        SqliteStore::exists(data_dir)
    }

    /// Connects to a store in a Postgres database, which any number of servers share. Creates its tables if they do not
    /// exist.
    ///
    /// # Errors
    ///
    /// If the database cannot be reached or used, or a newer version of this program has made its tables.
    pub async fn connect(options: PostgresOptions) -> Result<Self, OpenError> {
        let store = PostgresStore::connect(options).await?;
        Ok(Self { backend: Backend::Postgres(store) })
    }

    /// The servers that share the store, as this one sees them. `None` for a store of one process, and if this process is
    /// not a server.
    #[must_use]
    pub fn fleet(&self) -> Option<Fleet> {
        match &self.backend {
            Backend::Sqlite(_) => None,
            Backend::Postgres(store) => Fleet::new(store),
        }
    }

    /// Name of the database behind the store: `sqlite` or `postgres`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.backend {
            Backend::Sqlite(_) => "sqlite",
            Backend::Postgres(_) => "postgres",
        }
    }

    /// Takes the lease of a session, which appends show. In a store of one process, it is always there.
    ///
    /// # Errors
    ///
    /// [`StoreError::SessionNotFound`] or [`StoreError::SessionEnded`], or if the database fails.
    pub async fn acquire(&self, session: SessionKey) -> Result<Acquired, StoreError> {
        match &self.backend {
            Backend::Sqlite(_) => Ok(Acquired::Lease(Lease::exclusive(session))),
            Backend::Postgres(store) => store.acquire(session).await,
        }
    }

    /// Gives a lease back, after the appends that were made before. It is done in the background.
    pub fn release(&self, lease: &Lease) {
        match &self.backend {
            Backend::Sqlite(_) => {}
            Backend::Postgres(store) => drop(store.release(lease)),
        }
    }

    /// Creates a session.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::SessionAlreadyExists`] if the id is taken.
    pub fn create(&self, session: NewSession) -> PendingWrite<Session> {
        match &self.backend {
            Backend::Sqlite(store) => store.create(session),
            Backend::Postgres(store) => store.create(session),
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
            Backend::Postgres(store) => store.append(session, append),
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
            Backend::Postgres(store) => store.enqueue(session, message),
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
            Backend::Postgres(store) => store.cancel_message(session, message),
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
            Backend::Postgres(store) => store.update_session(session, changes),
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
            Backend::Postgres(store) => store.save_upload(session, name, content).await,
        }
    }

    /// The path of an uploaded file on this host, if `path` is that of a file which was uploaded to another server.
    ///
    /// # Errors
    ///
    /// If the database fails, or the file cannot be written.
    pub async fn fetch_upload(&self, session: SessionKey, path: &Path) -> Result<Option<PathBuf>, StoreError> {
        match &self.backend {
            Backend::Sqlite(_) => Ok(None),
            Backend::Postgres(store) => store.fetch_upload(session, path).await,
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
            Backend::Postgres(store) => store.delete(session),
        }
    }

    /// Deletes a session as [`delete`](Self::delete) does, but only if it was not used: it has this number of events,
    /// and never had a message or an uploaded file. So an import can replace what it has stored.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::SessionChanged`] if it was used, [`StoreError::SessionNotFound`] if it does not exist.
    pub fn delete_unchanged(&self, session: SessionKey, event_count: u64) -> PendingWrite<()> {
        match &self.backend {
            Backend::Sqlite(store) => store.delete_unchanged(session, event_count),
            Backend::Postgres(store) => store.delete_unchanged(session, event_count),
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
            Backend::Postgres(store) => store.session(id).await,
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
            Backend::Postgres(store) => store.sessions(filter, limit, from).await,
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
            Backend::Postgres(store) => store.count_sessions(filter).await,
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
            Backend::Postgres(store) => store.interrupted_sessions().await,
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
            Backend::Postgres(store) => store.load_state(session).await,
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
            Backend::Postgres(store) => store.next_message(session).await,
        }
    }

    /// The queued messages of a session, oldest first: those after a message, until their texts have this size. At least
    /// one, unless there are no more.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn queued_messages(
        &self,
        session: SessionKey,
        after: Option<MessageId>,
        max_bytes: usize,
    ) -> Result<Vec<QueuedMessage>, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.queued_messages(session, after, max_bytes).await,
            Backend::Postgres(store) => store.queued_messages(session, after, max_bytes).await,
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
            Backend::Postgres(store) => store.find_message(session, public_id).await,
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
            Backend::Postgres(store) => store.read(session, after, limits, raw).await,
        }
    }

    /// A cursor after the event with sequence `after`; 0 is the beginning of the session.
    #[must_use]
    pub fn reader(&self, session: SessionKey, after: u64, raw: RawPayloads) -> EventReader {
        let subscription = match &self.backend {
            Backend::Sqlite(store) => store.subscribe(session),
            Backend::Postgres(store) => store.subscribe(session),
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
        let (store_id, last_append, (subscription, end)) = match &self.backend {
            Backend::Sqlite(store) => (store.store_id(), store.last_append(), store.subscribe_to_all()),
            Backend::Postgres(store) => {
                let (subscription, end) = store.subscribe_to_all().await?;
                (store.store_id(), end, (subscription, end))
            }
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
        let end = Position::end_of(end);
        Ok(GlobalReader::new(self.clone(), store_id, (subscription, end), start, filter, raw))
    }

    /// Searches the text of all events. The index is filled after events are durable; a search waits a short time for
    /// what it lacks.
    ///
    /// # Errors
    ///
    /// If the query has too many words, or the database fails.
    pub async fn search(&self, query: SearchQuery) -> Result<SearchResults, StoreError> {
        query.check()?;
        match &self.backend {
            Backend::Sqlite(store) => store.search(query).await,
            Backend::Postgres(store) => store.search(&query).await,
        }
    }

    /// Commits what is queued and closes the database: the file of a data directory is then complete without other files,
    /// and leases are given back. Everything after this fails with [`StoreError::Closed`].
    pub async fn close(&self) {
        match &self.backend {
            Backend::Sqlite(store) => {
                let store = store.clone();
                // The task ends only with a panic, which is logged.
                let _ = tokio::task::spawn_blocking(move || store.close()).await;
            }
            Backend::Postgres(store) => store.close().await,
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
            Backend::Postgres(store) => store.probe().await,
        }
    }

    /// What the store contains. `complete` are the sessions of which all values that may be secret are known.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn usage(&self, complete: BTreeSet<SessionKey>) -> Result<StoreUsage, StoreError> {
        match &self.backend {
            Backend::Sqlite(store) => store.usage(complete).await,
            Backend::Postgres(store) => store.usage(complete).await,
        }
    }

    /// Counters since the store was opened.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        match &self.backend {
            Backend::Sqlite(store) => store.stats(),
            Backend::Postgres(store) => store.stats(),
        }
    }
}
