//! The store: its public methods.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use interlingua_schema::SessionId;
use tokio::sync::oneshot;

use crate::append_counter::AppendCounter;
use crate::limits::Limits;
use crate::notifier::{Notifier, Tail};
use crate::pool::ReadPool;
use crate::search::{self, Indexer, IndexerHandle};
use crate::uploads::Uploads;
use crate::write::{
    AppendEvents, CancelMessage, CreateSession, DeleteSession, EnqueueMessage, Probe, StoreWrite, UpdateSession,
};
use crate::writer::Writer;
use crate::{
    Append, Batch, Enqueued, EventReader, GlobalReader, GlobalStart, MessageId, MessageRecord, NewMessage, NewSession,
    OpenError, QueuedMessage, RawPayloads, ReadLimits, SearchQuery, SearchResults, Session, SessionChanges,
    SessionFilter, SessionKey, StoreError, StoreOptions, StoredSessionPage, StoredState, database, events, message,
    schema, session,
};

/// How long a search waits for the index to be complete.
const INDEX_TIMEOUT: Duration = Duration::from_secs(1);

/// The durable log of sessions and events. Cloning it copies a pointer.
///
/// Dropping the last clone commits what is queued, closes the database and releases the data directory for the next
/// process. [`close`](Self::close) does the first two while there are clones.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    // Fields are dropped in this order: the writer closes the database when no connection reads any more.
    pool: ReadPool,
    writer: Writer,
    notifier: Arc<Notifier>,
    limits: Limits,
    counter: AppendCounter,
    store_id: u32,
    search_file: PathBuf,
    uploads: Uploads,
    _lock: crate::lock::DirLock,
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
        let lock = database::lock(data_dir)?;
        let database = database::open(data_dir, options)?;
        let open_error = |source| OpenError::from_sqlite(&database.file, source);
        let counter = AppendCounter::load(&database.connection).map_err(open_error)?;
        let store_id = schema::load_store_id(&database.connection).map_err(open_error)?;
        let (handle, commands) = IndexerHandle::new();
        let notifier = Arc::new(Notifier::new(counter.last(), handle.clone()));
        let pool = ReadPool::new(database.file.clone());
        let (feed, is_reserve_released) = (Arc::clone(notifier.global()), database.reserve.is_released());
        let indexer = Indexer::start(handle, commands, &database.file, store_id, feed, is_reserve_released);
        let indexer = indexer.map_err(|source| OpenError::Directory { path: data_dir.to_owned(), source })?;
        let search_file = search::search_file(&database.file);
        let writer = Writer::start(database, Arc::clone(&notifier), indexer)?;
        let limits = Limits::new(&options);
        let uploads = Uploads::new(data_dir);
        Ok(Self {
            shared: Arc::new(Shared {
                pool,
                writer,
                notifier,
                limits,
                counter,
                store_id,
                search_file,
                uploads,
                _lock: lock,
            }),
        })
    }

    /// Creates a session.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::SessionAlreadyExists`] if the id is taken.
    pub fn create(&self, session: NewSession) -> PendingWrite<Session> {
        self.write(CreateSession::new(session, self.shared.limits))
    }

    /// Appends events to a session, together with the changes that belong to them.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::OutOfOrder`] if the events do not follow the session's last one,
    /// [`StoreError::SessionEnded`] if the session has ended, [`StoreError::SessionNotFound`] if it was deleted. If
    /// there is no space, an error for which [`StoreError::is_storage_full`] is true.
    pub fn append(&self, session: SessionKey, append: Append) -> PendingWrite<()> {
        let counter = self.shared.counter.clone();
        self.write(AppendEvents::new(session, append, self.shared.limits, counter))
    }

    /// Adds a message to the end of a session's queue, unless the session has a message with the same public id.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::SessionEnded`] or [`StoreError::SessionNotFound`] if the session can take no messages.
    pub fn enqueue(&self, session: SessionKey, message: NewMessage) -> PendingWrite<Enqueued> {
        self.write(EnqueueMessage::new(session, message, self.shared.limits))
    }

    /// Removes a message from a session's queue. Resolves to false if it is not queued any more.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub fn cancel_message(&self, session: SessionKey, message: MessageId) -> PendingWrite<bool> {
        self.write(CancelMessage { session, message })
    }

    /// Changes what a session was created with. Resolves to the changed session.
    ///
    /// # Errors
    ///
    /// Resolves to [`StoreError::SessionNotFound`] if it does not exist.
    pub fn update_session(&self, session: SessionKey, changes: SessionChanges) -> PendingWrite<Session> {
        self.write(UpdateSession::new(session, changes))
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
        let shared = Arc::clone(&self.shared);
        let saved = tokio::task::spawn_blocking(move || shared.uploads.save(session, &name, content.as_ref())).await;
        saved.unwrap_or(Err(StoreError::Closed))
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
        self.shared.uploads.remove(session);
        self.write(DeleteSession::new(session, self.shared.counter.clone()))
    }

    /// The session with this id.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let id = id.clone();
        self.shared.pool.read_row(move |connection| session::find_by_id(connection, &id)).await
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
        let filter = filter.clone();
        self.shared.pool.read(move |connection| session::load_page(connection, &filter, limit, from)).await
    }

    /// Number of sessions that pass a filter.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn count_sessions(&self, filter: &SessionFilter) -> Result<u64, StoreError> {
        let filter = filter.clone();
        self.shared.pool.read(move |connection| session::count(connection, &filter)).await
    }

    /// Sessions that were busy when the last process ended, or have queued messages; oldest first.
    ///
    /// Meant to be called once, before the process starts anything new.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn interrupted_sessions(&self) -> Result<Vec<Session>, StoreError> {
        self.shared.pool.read(session::load_interrupted).await
    }

    /// What the runtime stored with a session.
    ///
    /// # Errors
    ///
    /// [`StoreError::SessionNotFound`] if the session does not exist, or if the database fails.
    pub async fn load_state(&self, session: SessionKey) -> Result<StoredState, StoreError> {
        self.shared.pool.read_row(move |connection| session::load_state(connection, session)).await
    }

    /// The oldest queued message of a session; `None` when the queue is empty.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn next_message(&self, session: SessionKey) -> Result<Option<QueuedMessage>, StoreError> {
        let next = self.shared.pool.read_row(move |connection| message::next_small(connection, session)).await?;
        match next {
            message::NextMessage::Small(message) => Ok(message),
            message::NextMessage::Large => {
                self.shared.pool.read(move |connection| message::next(connection, session)).await
            }
        }
    }

    /// The queued messages of a session, oldest first.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn queued_messages(&self, session: SessionKey) -> Result<Vec<QueuedMessage>, StoreError> {
        self.shared.pool.read(move |connection| message::load(connection, session, usize::MAX)).await
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
        let public_id = public_id.to_owned();
        self.shared.pool.read_row(move |connection| message::find(connection, session, &public_id)).await
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
        self.shared.pool.read(move |connection| events::read(connection, session, after, limits, raw)).await
    }

    /// A cursor after the event with sequence `after`; 0 is the beginning of the session.
    #[must_use]
    pub fn reader(&self, session: SessionKey, after: u64, raw: RawPayloads) -> EventReader {
        EventReader::new(self.clone(), self.shared.notifier.subscribe(session), session, after, raw)
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
        if let GlobalStart::After(cursor) = start {
            let position = cursor.position;
            let tail = self.load_tail(position.session).await?;
            let is_beyond = match tail {
                Tail::Open { last } | Tail::Ended { last } => position.sequence > last,
                Tail::Deleted | Tail::Unknown => false,
            };
            if cursor.store_id != self.shared.store_id || position.append > self.shared.counter.last() || is_beyond {
                return Err(StoreError::CursorGone);
            }
        }
        let subscription = self.shared.notifier.global().subscribe();
        Ok(GlobalReader::new(self.clone(), self.shared.store_id, subscription, start, filter, raw))
    }

    /// Searches the text of all events. The index is filled after events are durable; a search waits a short time for
    /// what it lacks.
    ///
    /// # Errors
    ///
    /// If the database fails.
    pub async fn search(&self, query: SearchQuery) -> Result<SearchResults, StoreError> {
        let last = self.shared.notifier.global().last();
        let is_complete = self.shared.notifier.indexer().wait_for(last, INDEX_TIMEOUT).await;
        let file = self.shared.search_file.clone();
        let results = self.shared.pool.read(move |connection| search::search(connection, &file, &query)).await?;
        Ok(SearchResults { is_complete: results.is_complete && is_complete, ..results })
    }

    pub(crate) fn pool(&self) -> &ReadPool {
        &self.shared.pool
    }

    /// Commits what is queued and closes the database: its file is then complete without other files. Everything after
    /// this fails with [`StoreError::Closed`]. Blocks the thread until it is done.
    pub fn close(&self) {
        self.shared.pool.close();
        self.shared.writer.close();
    }

    /// Commits nothing, after the writes that wait, to find out how long a commit takes.
    ///
    /// # Errors
    ///
    /// If the database or its disk fails.
    pub async fn probe(&self) -> Result<StoreProbe, StoreError> {
        let started = Instant::now();
        self.write(Probe).await?;
        let lag = started.elapsed();
        Ok(StoreProbe { lag, free_bytes: self.shared.pool.free_bytes()? })
    }

    /// Counters since the store was opened.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        self.shared.writer.stats()
    }

    pub(crate) async fn load_tail(&self, session: SessionKey) -> Result<Tail, StoreError> {
        self.shared.pool.read_row(move |connection| session::load_tail(connection, session)).await
    }

    fn write<W: StoreWrite>(&self, write: W) -> PendingWrite<W::Output> {
        let (sender, receiver) = oneshot::channel();
        self.shared.writer.send(write, sender);
        PendingWrite(receiver)
    }
}
