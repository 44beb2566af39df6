//! The store's operations on its database.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use interlingua_schema::SessionId;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::global_cursor::Position;
use crate::global_feed::{FeedSubscription, Run};
use crate::lock::DirLock;
use crate::notifier::{Notifier, Subscription, Tail};
use crate::sqlite::append_counter::AppendCounter;
use crate::sqlite::global_merge::{self, Merge};
use crate::sqlite::limits::Limits;
use crate::sqlite::pool::ReadPool;
use crate::sqlite::publisher::Publisher;
use crate::sqlite::search::{self, Indexer, IndexerHandle};
use crate::sqlite::write::{
    AppendEvents, CancelMessage, CreateSession, DeleteSession, EnqueueMessage, Probe, StoreWrite, UpdateSession,
};
use crate::sqlite::writer::Writer;
use crate::sqlite::{database, events, message, schema, session, session_filter};
use crate::uploads::{self, Uploads};
use crate::{
    Append, Batch, Enqueued, MessageId, MessageRecord, NewMessage, NewSession, OpenError, PendingWrite, QueuedMessage,
    RawPayloads, ReadLimits, SearchQuery, SearchResults, Session, SessionChanges, SessionFilter, SessionKey,
    StoreError, StoreOptions, StoreProbe, StoreStats, StoreUsage, StoredSessionPage, StoredState,
};

/// How long a search waits for the index to be complete.
const INDEX_TIMEOUT: Duration = Duration::from_secs(1);

/// The store in a data directory. Cloning it copies a pointer.
#[derive(Clone)]
pub(crate) struct SqliteStore {
    shared: Arc<Shared>,
}

struct Shared {
    // Fields are dropped in this order: the writer closes the database when no connection reads any more.
    pool: ReadPool,
    writer: Writer,
    notifier: Arc<Notifier>,
    limits: Limits,
    counter: AppendCounter,
    indexer: IndexerHandle,
    store_id: u32,
    search_file: PathBuf,
    uploads: Uploads,
    upload_turn: tokio::sync::Mutex<()>,
    _lock: DirLock,
}

impl SqliteStore {
    pub(crate) fn open(data_dir: &Path, options: StoreOptions) -> Result<Self, OpenError> {
        let lock = DirLock::create(data_dir)?;
        let database = database::open(data_dir, options)?;
        let open_error = |source| OpenError::from_sqlite(&database.file, source);
        let counter = AppendCounter::load(&database.connection).map_err(open_error)?;
        let store_id = schema::load_store_id(&database.connection).map_err(open_error)?;
        let (indexer_handle, commands) = IndexerHandle::new();
        let notifier = Arc::new(Notifier::new(counter.last()));
        let pool = ReadPool::new(database.file.clone());
        let (feed, is_reserve_released) = (Arc::clone(notifier.global()), database.reserve.released_flag());
        let indexer =
            Indexer::start(indexer_handle.clone(), commands, &database.file, store_id, feed, is_reserve_released);
        let indexer = indexer.map_err(|source| OpenError::Directory { path: data_dir.to_owned(), source })?;
        let search_file = search::search_file(&database.file);
        let publisher = Publisher::new(Arc::clone(&notifier), indexer_handle.clone());
        let uploads = Uploads::open(data_dir.join(uploads::FOLDER_NAME));
        let writer = Writer::start(database, uploads.clone(), publisher, indexer)?;
        let limits = Limits::new(&options, uploads.clone());
        Ok(Self {
            shared: Arc::new(Shared {
                pool,
                writer,
                notifier,
                limits,
                counter,
                indexer: indexer_handle,
                store_id,
                search_file,
                uploads,
                upload_turn: tokio::sync::Mutex::default(),
                _lock: lock,
            }),
        })
    }

    /// Whether a data directory has a database.
    pub(crate) fn exists(data_dir: &Path) -> bool {
        database::file(data_dir).exists()
    }

    pub(crate) fn create(&self, session: NewSession) -> PendingWrite<Session> {
        self.write(CreateSession::new(session, self.shared.limits.clone()))
    }

    pub(crate) fn append(&self, session: SessionKey, append: Append) -> PendingWrite<()> {
        let counter = self.shared.counter.clone();
        self.write(AppendEvents::new(session, append, self.shared.limits.clone(), counter))
    }

    pub(crate) fn enqueue(&self, session: SessionKey, message: NewMessage) -> PendingWrite<Enqueued> {
        self.write(EnqueueMessage::new(session, message, self.shared.limits.clone()))
    }

    pub(crate) fn cancel_message(&self, session: SessionKey, message: MessageId) -> PendingWrite<bool> {
        self.write(CancelMessage { session, message })
    }

    pub(crate) fn update_session(&self, session: SessionKey, changes: SessionChanges) -> PendingWrite<Session> {
        self.write(UpdateSession::new(session, changes))
    }

    pub(crate) async fn save_upload(
        &self,
        session: SessionKey,
        name: String,
        content: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<PathBuf, StoreError> {
        let shared = Arc::clone(&self.shared);
        let bytes = content.as_ref().len();
        // Counted before the limits are checked: other files may be written at the same time.
        let space = self.shared.uploads.take_space(bytes as u64);
        let limits = self.shared.limits.clone();
        let check = move |connection: &Connection| {
            limits.check_store(connection, 0)?;
            limits.check_session(connection, session, bytes)
        };
        // Files of a limited session are checked and written one after the other.
        let turn = match self.shared.limits.max_session_bytes {
            Some(_) => Some(self.shared.upload_turn.lock().await),
            None => None,
        };
        self.shared.pool.read(check).await?;
        let write = move || shared.uploads.save(session, &name, content.as_ref(), space);
        let path = tokio::task::spawn_blocking(write).await.unwrap_or(Err(StoreError::Closed))?;
        drop(turn);
        // A deletion removes the files that exist when it is durable. This one may be younger.
        if matches!(self.load_tail(session).await?, Tail::Deleted) {
            if let Err(error) = self.shared.uploads.remove(session) {
                tracing::warn!(%error, file = %path.display(), "cannot remove a file of a deleted session");
            }
            return Err(StoreError::SessionNotFound);
        }
        Ok(path)
    }

    pub(crate) fn delete(&self, session: SessionKey) -> PendingWrite<()> {
        self.write(DeleteSession::new(session, self.shared.counter.clone()))
    }

    pub(crate) fn delete_unchanged(&self, session: SessionKey, event_count: u64) -> PendingWrite<()> {
        if self.shared.uploads.has_files(session) {
            return PendingWrite::refused(StoreError::SessionChanged);
        }
        self.write(DeleteSession::new(session, self.shared.counter.clone()).if_unchanged(event_count))
    }

    pub(crate) async fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let id = id.clone();
        self.shared.pool.read_row(move |connection| session::find_by_id(connection, &id)).await
    }

    pub(crate) async fn sessions(
        &self,
        filter: &SessionFilter,
        limit: usize,
        from: Option<SessionKey>,
    ) -> Result<StoredSessionPage, StoreError> {
        let filter = filter.clone();
        self.shared.pool.read(move |connection| session::load_page(connection, &filter, limit, from)).await
    }

    pub(crate) async fn count_sessions(&self, filter: &SessionFilter) -> Result<u64, StoreError> {
        let filter = filter.clone();
        self.shared.pool.read(move |connection| session::count(connection, &filter)).await
    }

    pub(crate) async fn interrupted_sessions(&self) -> Result<Vec<Session>, StoreError> {
        self.shared.pool.read(session::load_interrupted).await
    }

    pub(crate) async fn load_state(&self, session: SessionKey) -> Result<StoredState, StoreError> {
        self.shared.pool.read_row(move |connection| session::load_state(connection, session)).await
    }

    pub(crate) async fn next_message(&self, session: SessionKey) -> Result<Option<QueuedMessage>, StoreError> {
        let next = self.shared.pool.read_row(move |connection| message::next_small(connection, session)).await?;
        match next {
            message::NextMessage::Small(message) => Ok(message),
            message::NextMessage::Large => {
                self.shared.pool.read(move |connection| message::next(connection, session)).await
            }
        }
    }

    pub(crate) async fn queued_messages(
        &self,
        session: SessionKey,
        after: Option<MessageId>,
        max_bytes: usize,
    ) -> Result<Vec<QueuedMessage>, StoreError> {
        self.shared.pool.read(move |connection| message::load(connection, session, after, max_bytes)).await
    }

    pub(crate) async fn find_message(
        &self,
        session: SessionKey,
        public_id: &str,
    ) -> Result<Option<MessageRecord>, StoreError> {
        let public_id = public_id.to_owned();
        self.shared.pool.read_row(move |connection| message::find(connection, session, &public_id)).await
    }

    pub(crate) async fn read(
        &self,
        session: SessionKey,
        after: u64,
        limits: ReadLimits,
        raw: RawPayloads,
    ) -> Result<Batch, StoreError> {
        self.shared.pool.read(move |connection| events::read(connection, session, after, limits, raw)).await
    }

    pub(crate) fn subscribe(&self, session: SessionKey) -> Subscription {
        self.shared.notifier.subscribe(session)
    }

    /// Subscribes to the appends of all sessions. Returns the number of the last one that is durable too.
    pub(crate) fn subscribe_to_all(&self) -> (FeedSubscription, i64) {
        let global = self.shared.notifier.global();
        (global.subscribe(), global.last())
    }

    pub(crate) fn store_id(&self) -> u32 {
        self.shared.store_id
    }

    /// Number of the last append, which may not be durable yet.
    pub(crate) fn last_append(&self) -> i64 {
        self.shared.counter.last()
    }

    /// Begins to read the stored events after a position, of the sessions that pass the filter.
    pub(crate) async fn load_merge(&self, filter: &SessionFilter, position: Position) -> Result<Merge, StoreError> {
        let filter = filter.clone();
        self.shared.pool.read(move |connection| Merge::load(connection, &filter, position)).await
    }

    /// Reads the next stored events of a merge.
    pub(crate) async fn read_merge(
        &self,
        mut merge: Merge,
        limits: ReadLimits,
        raw: RawPayloads,
    ) -> Result<(Merge, Vec<Run>), StoreError> {
        let read = self.shared.pool.read(move |connection| {
            let runs = merge.read(connection, limits, raw)?;
            Ok((merge, runs))
        });
        read.await
    }

    /// Those of the sessions that pass a filter.
    pub(crate) async fn filter_sessions(
        &self,
        filter: &SessionFilter,
        sessions: Vec<SessionKey>,
    ) -> Result<Vec<SessionKey>, StoreError> {
        let filter = filter.clone();
        self.shared.pool.read(move |connection| global_merge::filter_sessions(connection, &filter, &sessions)).await
    }

    /// Reads the events of appends again, with their payloads.
    pub(crate) async fn read_payloads(&self, runs: Vec<Run>) -> Result<Vec<Run>, StoreError> {
        self.shared.pool.read(move |connection| global_merge::read_payloads(connection, runs)).await
    }

    pub(crate) async fn search(&self, query: SearchQuery) -> Result<SearchResults, StoreError> {
        let last = self.shared.notifier.global().last();
        let is_complete = self.shared.indexer.wait_for(last, INDEX_TIMEOUT).await;
        let file = self.shared.search_file.clone();
        let results = self.shared.pool.read(move |connection| search::search(connection, &file, &query)).await?;
        Ok(SearchResults { is_complete: results.is_complete && is_complete, ..results })
    }

    pub(crate) fn close(&self) {
        self.shared.pool.close();
        self.shared.writer.close();
    }

    pub(crate) async fn probe(&self) -> Result<StoreProbe, StoreError> {
        let started = Instant::now();
        self.write(Probe).await?;
        let lag = started.elapsed();
        Ok(StoreProbe { lag, free_bytes: self.shared.pool.free_bytes()? })
    }

    pub(crate) async fn usage(&self, complete: BTreeSet<SessionKey>) -> Result<StoreUsage, StoreError> {
        let (database, search) = (self.shared.pool.file().to_owned(), self.shared.search_file.clone());
        let read = move |connection: &Connection| {
            Ok(StoreUsage {
                sessions: session_filter::count_by_state(connection, &complete)?,
                queued_messages: message::count_queued(connection)?,
                bytes: size_on_disk(&database) + size_on_disk(&search),
            })
        };
        self.shared.pool.read(read).await
    }

    pub(crate) fn stats(&self) -> StoreStats {
        self.shared.writer.stats()
    }

    pub(crate) async fn load_tail(&self, session: SessionKey) -> Result<Tail, StoreError> {
        self.shared.pool.read_row(move |connection| session::load_tail(connection, session)).await
    }

    fn write<W: StoreWrite>(&self, write: W) -> PendingWrite<W::Output> {
        let (sender, receiver) = oneshot::channel();
        self.shared.writer.send(write, sender);
        PendingWrite::new(receiver)
    }
}

/// Size of a database with its write-ahead log.
fn size_on_disk(database: &Path) -> u64 {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    let files = [database, Path::new(&log)];
    files.iter().filter_map(|file| std::fs::metadata(file).ok()).map(|metadata| metadata.len()).sum()
}
