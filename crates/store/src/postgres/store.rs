//! The store's operations on a shared database.

use std::collections::BTreeSet;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use interlingua_schema::{SessionId, Timestamp};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::global_cursor::Position;
use crate::global_feed::{FeedSubscription, Run};
use crate::lock::DirLock;
use crate::notifier::{Notifier, Subscription, Tail};
use crate::postgres::append::{AppendJob, AppendRules};
use crate::postgres::connection::Connector;
use crate::postgres::error::{DbError, open_error};
use crate::postgres::follower::Follower;
use crate::postgres::global_tail::GlobalTail;
use crate::postgres::heartbeat::Heartbeat;
use crate::postgres::lane::{LaneContext, LaneJob, LaneWrite, Lanes};
use crate::postgres::lease::{HeldLeases, LeaseKey};
use crate::postgres::limits::Limits;
use crate::postgres::listener::{self, Inbox};
use crate::postgres::member::Member;
use crate::postgres::message::EncodedMessage;
use crate::postgres::options::PostgresOptions;
use crate::postgres::outbox::Outbox;
use crate::postgres::pool::Pool;
use crate::postgres::positions::{StoreState, StoredRuns};
use crate::postgres::publisher::Publisher;
use crate::postgres::search::SearchIndex;
use crate::postgres::tls::Tls;
use crate::postgres::uploads::StoredUploads;
use crate::postgres::writes::{
    AcquireAnswer, AcquireLease, CancelMessage, CreateSession, DeleteSession, EnqueueMessage, Probe, ReleaseLease,
    UpdateSession,
};
use crate::postgres::{events, member_file, message, purge, schema, session, session_filter};
use crate::{
    Acquired, Append, Batch, Enqueued, Lease, MessageId, MessageRecord, NewMessage, NewSession, OpenError,
    PendingWrite, QueuedMessage, RawPayloads, ReadLimits, SearchQuery, SearchResults, Session, SessionChanges,
    SessionFilter, SessionKey, StoreError, StoreOptions, StoreProbe, StoreStats, StoreUsage, StoredSessionPage,
    StoredState,
};

/// How long closing the store waits for what is queued.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// A store in a database that servers share. Cloning it copies a pointer.
#[derive(Clone)]
pub(crate) struct PostgresStore {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) pool: Arc<Pool>,
    /// `None` when the store is closed.
    lanes: Mutex<Option<Lanes>>,
    lanes_ended: Mutex<Option<mpsc::Receiver<()>>>,
    context: Arc<LaneContext>,
    pub(crate) publisher: Publisher,
    notifier: Arc<Notifier>,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) outbox: Outbox,
    pub(crate) leases: Arc<HeldLeases>,
    /// `None` if this process is not a server.
    pub(crate) heartbeat: Option<Arc<Heartbeat>>,
    search: Arc<SearchIndex>,
    limits: Limits,
    state: StoreState,
    uploads: StoredUploads,
    data_dir: PathBuf,
    tasks: Vec<AbortHandle>,
    lock: Mutex<Option<DirLock>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl PostgresStore {
    /// Connects to the database, and brings its schema up to date.
    pub(crate) async fn connect(mut options: PostgresOptions) -> Result<Self, OpenError> {
        let lock = match &options.server {
            Some(_) => Some(DirLock::create(&options.data_dir)?),
            None => None,
        };
        options.url.load_password()?;
        let url = options.url.clone();
        let tls = Tls::new(&url.ssl).map_err(|reason| OpenError::Postgres {
            database: url.to_string(),
            reason,
            remedy: "correct sslrootcert in --store".to_owned(),
        })?;
        let connector = Arc::new(Connector::new(url.clone(), tls));
        let failed = |error: DbError| open_error(&url, &error);
        let client = connector.connect().await.map_err(failed)?;
        schema::prepare(&client, &url).await?;
        tracing::info!(database = %url, "connected to the store");
        let state = StoreState::load(&client).await.map_err(failed)?;
        let member = match &options.server {
            Some(server) => {
                let member = Member {
                    id: 0,
                    name: server.name.clone(),
                    home: server.home.clone(),
                    lease: options.lease,
                    absence_limit: options.absence_limit,
                };
                Some(member_file::register(&client, member, state.store_id, &options.data_dir).await.map_err(failed)?)
            }
            None => None,
        };
        drop(client);
        let store = Self::start(options, &connector, state, member, lock);
        let measured = purge::measure(&store.shared.pool, &store.shared.limits).await;
        measured.map_err(|error| failed(error.into()))?;
        Ok(store)
    }

    fn start(
        options: PostgresOptions,
        connector: &Arc<Connector>,
        state: StoreState,
        member: Option<Member>,
        lock: Option<DirLock>,
    ) -> Self {
        let (lane_count, pool_size) = options.lanes_and_pool();
        let offset = state.position_offset;
        let channel = format!("interlingua_{:08x}", state.store_id);
        let limits = Limits::new(
            &StoreOptions::default()
                .max_session_bytes(options.max_session_bytes)
                .max_store_bytes(options.max_store_bytes),
        );
        let pool = Arc::new(Pool::new(Arc::clone(connector), pool_size));
        let uploads = StoredUploads::new(&options.data_dir, state.store_id, Arc::clone(&pool), limits.clone());
        let notifier = Arc::new(Notifier::new(0));
        let outbox = Outbox::start(Arc::clone(connector), channel.clone());
        let leases = Arc::new(HeldLeases::default());
        let publisher = Publisher::new(Arc::clone(&notifier), outbox.clone(), Arc::clone(&leases));
        let rules = AppendRules { limits: limits.clone(), is_fenced: options.is_fenced, position_offset: offset };
        let context = Arc::new(LaneContext {
            connector: Arc::clone(connector),
            rules,
            publisher: publisher.clone(),
            is_closing: AtomicBool::new(false),
        });
        let (lanes, lanes_ended) = Lanes::start(&context, lane_count);
        let follower = Follower::new(Arc::clone(&pool), Arc::clone(&notifier));
        let global_tail = GlobalTail::new(Arc::clone(&pool), Arc::clone(notifier.global()), offset);
        let server = member.as_ref().map_or(0, |member| member.id);
        let inbox = Arc::new(Inbox::new(follower, global_tail, server, options.is_deaf));
        let search = Arc::new(SearchIndex::new(Arc::clone(&pool), offset));
        let heartbeat = member
            .map(|member| Arc::new(Heartbeat::new(member, Arc::clone(connector), Arc::clone(&leases), outbox.clone())));
        let mut tasks = vec![
            spawn({
                let inbox = Arc::clone(&inbox);
                async move { inbox.follower.run().await }
            }),
            spawn({
                let inbox = Arc::clone(&inbox);
                async move { inbox.global_tail.run().await }
            }),
            spawn({
                let (connector, inbox) = (Arc::clone(connector), Arc::clone(&inbox));
                async move { listener::run(&connector, &channel, &inbox).await }
            }),
            spawn({
                let search = Arc::clone(&search);
                async move { search.run().await }
            }),
            spawn(purge::run(Arc::clone(&pool), uploads.clone(), limits.clone())),
        ];
        if let Some(heartbeat) = &heartbeat {
            let (heartbeat, inbox) = (Arc::clone(heartbeat), Arc::clone(&inbox));
            tasks.push(spawn(async move { heartbeat.run(&inbox).await }));
        }
        let shared = Shared {
            uploads,
            pool,
            lanes: Mutex::new(Some(lanes)),
            lanes_ended: Mutex::new(Some(lanes_ended)),
            context,
            publisher,
            notifier,
            inbox,
            outbox,
            leases,
            heartbeat,
            search,
            limits,
            state,
            data_dir: options.data_dir,
            tasks,
            lock: Mutex::new(lock),
        };
        Self { shared: Arc::new(shared) }
    }

    pub(crate) fn create(&self, session: NewSession) -> PendingWrite<Session> {
        let number = RandomState::new().hash_one(session.id.as_str()).cast_signed();
        let nonce = RandomState::new().build_hasher().finish().cast_signed();
        let limits = self.shared.limits.clone();
        self.write(number, CreateSession { session, nonce, limits, time: now() })
    }

    pub(crate) fn append(&self, session: SessionKey, append: Append) -> PendingWrite<()> {
        let (sender, receiver) = oneshot::channel();
        let lease = append.lease_epoch().map(|epoch| LeaseKey { epoch });
        match append.prepare() {
            Ok(append) => {
                let job = AppendJob::new(session, append, lease, sender);
                if let Some(lanes) = &*self.lanes() {
                    lanes.send(session.0, LaneJob::Append(Box::new(job)));
                }
            }
            Err(error) => drop(sender.send(Err(error))),
        }
        PendingWrite::new(receiver)
    }

    pub(crate) fn enqueue(&self, session: SessionKey, message: NewMessage) -> PendingWrite<Enqueued> {
        let limits = self.shared.limits.clone();
        self.write(session.0, EnqueueMessage { session, message: EncodedMessage::new(message, now()), limits })
    }

    pub(crate) fn cancel_message(&self, session: SessionKey, message: MessageId) -> PendingWrite<bool> {
        self.write(session.0, CancelMessage { session, message })
    }

    pub(crate) fn update_session(&self, session: SessionKey, changes: SessionChanges) -> PendingWrite<Session> {
        self.write(session.0, UpdateSession { session, changes, time: now() })
    }

    pub(crate) async fn save_upload(
        &self,
        session: SessionKey,
        name: String,
        content: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<PathBuf, StoreError> {
        self.shared.uploads.save(session, name, content.as_ref()).await
    }

    /// The path of an uploaded file on this host, if the path is that of one on another host.
    pub(crate) async fn fetch_upload(&self, session: SessionKey, path: &Path) -> Result<Option<PathBuf>, StoreError> {
        self.shared.uploads.fetch(session, path).await
    }

    /// Deletes a session. The write resolves when its rows are removed.
    pub(crate) fn delete(&self, session: SessionKey) -> PendingWrite<()> {
        self.delete_if(session, None)
    }

    pub(crate) fn delete_unchanged(&self, session: SessionKey, event_count: u64) -> PendingWrite<()> {
        self.delete_if(session, Some(event_count))
    }

    fn delete_if(&self, session: SessionKey, unchanged_since: Option<u64>) -> PendingWrite<()> {
        let deleted = self.write(session.0, DeleteSession { session, unchanged_since });
        let (pool, limits) = (Arc::clone(&self.shared.pool), self.shared.limits.clone());
        let uploads = self.shared.uploads.clone();
        let (sender, receiver) = oneshot::channel();
        tokio::spawn(async move {
            let mut result = deleted.await;
            if result.is_ok() {
                uploads.remove(session);
                result = purge::remove(&pool, session).await;
                // So that the space can be used at once.
                drop(purge::measure(&pool, &limits).await);
            }
            drop(sender.send(result));
        });
        PendingWrite::new(receiver)
    }

    pub(crate) async fn session(&self, id: &SessionId) -> Result<Option<Session>, StoreError> {
        let client = self.shared.pool.client().await?;
        Ok(session::find_by_id(&client, id).await?)
    }

    pub(crate) async fn sessions(
        &self,
        filter: &SessionFilter,
        limit: usize,
        from: Option<SessionKey>,
    ) -> Result<StoredSessionPage, StoreError> {
        let client = self.shared.pool.client().await?;
        Ok(session::load_page(&client, filter, limit, from).await?)
    }

    pub(crate) async fn count_sessions(&self, filter: &SessionFilter) -> Result<u64, StoreError> {
        let client = self.shared.pool.client().await?;
        Ok(session::count(&client, filter).await?)
    }

    pub(crate) async fn interrupted_sessions(&self) -> Result<Vec<Session>, StoreError> {
        let client = self.shared.pool.client().await?;
        Ok(session::load_interrupted(&client).await?)
    }

    pub(crate) async fn load_state(&self, session: SessionKey) -> Result<StoredState, StoreError> {
        let client = self.shared.pool.client().await?;
        let state = session::load_state(&client, session).await?;
        state.ok_or(StoreError::SessionNotFound)
    }

    pub(crate) async fn next_message(&self, session: SessionKey) -> Result<Option<QueuedMessage>, StoreError> {
        let client = self.shared.pool.client().await?;
        Ok(message::load(&client, session, None, 0).await?.pop())
    }

    pub(crate) async fn queued_messages(
        &self,
        session: SessionKey,
        after: Option<MessageId>,
        max_bytes: usize,
    ) -> Result<Vec<QueuedMessage>, StoreError> {
        let client = self.shared.pool.client().await?;
        Ok(message::load(&client, session, after, max_bytes).await?)
    }

    pub(crate) async fn find_message(
        &self,
        session: SessionKey,
        public_id: &str,
    ) -> Result<Option<MessageRecord>, StoreError> {
        let client = self.shared.pool.client().await?;
        Ok(message::find(&client, session, public_id).await?)
    }

    pub(crate) async fn read(
        &self,
        session: SessionKey,
        after: u64,
        limits: ReadLimits,
        raw: RawPayloads,
    ) -> Result<Batch, StoreError> {
        let client = self.shared.pool.client().await?;
        Ok(events::read(&client, session, after, limits, raw).await?)
    }

    pub(crate) fn subscribe(&self, session: SessionKey) -> Subscription {
        self.shared.notifier.subscribe(session)
    }

    /// Subscribes to the appends of all sessions. Returns the number of the last one that is stored too.
    pub(crate) async fn subscribe_to_all(&self) -> Result<(FeedSubscription, i64), StoreError> {
        let subscription = self.shared.notifier.global().subscribe();
        let tail = &self.shared.inbox.global_tail;
        tail.activate().await?;
        Ok((subscription, tail.last_stored().await?))
    }

    pub(crate) fn store_id(&self) -> u32 {
        self.shared.state.store_id
    }

    /// Begins to read the stored events after a position, of the sessions that pass the filter.
    pub(crate) fn stored_runs(filter: &SessionFilter, position: Position) -> StoredRuns {
        StoredRuns::new(filter.clone(), position)
    }

    /// Reads the next stored events.
    pub(crate) async fn read_runs(
        &self,
        stored: StoredRuns,
        limits: ReadLimits,
        raw: RawPayloads,
    ) -> Result<(StoredRuns, Vec<Run>), StoreError> {
        let offset = self.shared.state.position_offset;
        let client = self.shared.pool.client().await?;
        Ok(stored.read(&client, offset, limits, raw).await?)
    }

    /// Those of the sessions that pass a filter.
    pub(crate) async fn filter_sessions(
        &self,
        filter: &SessionFilter,
        sessions: Vec<SessionKey>,
    ) -> Result<Vec<SessionKey>, StoreError> {
        let client = self.shared.pool.client().await?;
        Ok(session::filter(&client, filter, &sessions).await?)
    }

    /// Reads the events of appends again, with their payloads.
    pub(crate) async fn read_payloads(&self, runs: Vec<Run>) -> Result<Vec<Run>, StoreError> {
        let mut with_payloads = Vec::with_capacity(runs.len());
        for run in runs {
            let Some((first, _)) = run.events.iter().next() else { continue };
            let limits = ReadLimits { max_events: run.events.len(), max_bytes: usize::MAX };
            let events = self.read(run.session, first - 1, limits, RawPayloads::Include).await?;
            // A session that was deleted in the meantime has no events.
            if !events.is_empty() {
                with_payloads.push(Run { events, ..run });
            }
        }
        Ok(with_payloads)
    }

    pub(crate) async fn search(&self, query: &SearchQuery) -> Result<SearchResults, StoreError> {
        self.shared.search.search(query).await
    }

    /// Writes what is queued, gives the leases back, and closes the connections.
    pub(crate) async fn close(&self) {
        self.shared.context.is_closing.store(true, Ordering::SeqCst);
        drop(self.lanes().take());
        let ended = self.shared.lanes_ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut ended) = ended
            && timeout(CLOSE_TIMEOUT, ended.recv()).await.is_err()
        {
            tracing::warn!("the database did not answer; what was not acknowledged may be lost");
        }
        if let Some(heartbeat) = &self.shared.heartbeat {
            heartbeat.leave().await;
        }
        for task in &self.shared.tasks {
            task.abort();
        }
        self.shared.pool.close();
        drop(self.shared.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    pub(crate) async fn probe(&self) -> Result<StoreProbe, StoreError> {
        let started = Instant::now();
        self.write(0, Probe).await?;
        let lag = started.elapsed();
        let disk = rustix::fs::statvfs(&self.shared.data_dir);
        // Without a data directory, its disk is not needed.
        let free_bytes = disk.map_or(u64::MAX, |disk| disk.f_bavail.saturating_mul(disk.f_frsize));
        Ok(StoreProbe { lag, free_bytes })
    }

    pub(crate) async fn usage(&self, complete: BTreeSet<SessionKey>) -> Result<StoreUsage, StoreError> {
        let client = self.shared.pool.client().await?;
        Ok(StoreUsage {
            sessions: session_filter::count_by_state(&client, &complete).await?,
            queued_messages: message::count_queued(&client).await?,
            bytes: purge::size_on_disk(&client).await?,
        })
    }

    pub(crate) fn stats(&self) -> StoreStats {
        self.shared.publisher.stats()
    }

    pub(crate) async fn load_tail(&self, session: SessionKey) -> Result<Tail, StoreError> {
        let client = self.shared.pool.client().await?;
        Ok(session::load_tail(&client, session).await?)
    }

    /// Takes the lease of a session.
    pub(crate) async fn acquire(&self, session: SessionKey) -> Result<Acquired, StoreError> {
        let Some(heartbeat) = &self.shared.heartbeat else {
            return Err(StoreError::Database("this process is not a server: it cannot own sessions".to_owned()));
        };
        let member = heartbeat.member().clone();
        let may_take_over = heartbeat.may_take_over();
        match self.write(session.0, AcquireLease { session, member, may_take_over }).await? {
            AcquireAnswer::Acquired(row) => {
                let place = heartbeat.member().place(&row);
                Ok(Acquired::Lease(self.shared.leases.insert(session, row.epoch, place)))
            }
            AcquireAnswer::HeldBy(holder) => Ok(Acquired::HeldBy(holder)),
        }
    }

    /// Gives a lease back, after the appends that were queued before.
    pub(crate) fn release(&self, lease: &Lease) -> PendingWrite<()> {
        let session = lease.session();
        let epoch = lease.epoch().unwrap_or_default();
        self.shared.leases.remove(session, epoch);
        self.write(session.0, ReleaseLease { session, epoch })
    }

    fn write<W: LaneWrite>(&self, number: i64, write: W) -> PendingWrite<W::Output> {
        let (sender, receiver) = oneshot::channel();
        if let Some(lanes) = &*self.lanes() {
            lanes.send_write(number, write, sender);
        }
        PendingWrite::new(receiver)
    }

    fn lanes(&self) -> std::sync::MutexGuard<'_, Option<Lanes>> {
        self.shared.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn spawn(task: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
    tokio::spawn(task).abort_handle()
}

fn now() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
}
