//! The thread that fills the index.
//!
//! It works when the writer has paused, like the thread that runs checkpoints. While appends never pause, it takes a
//! small share of one processor. A search that waits for it goes first. A deletion is answered when the documents of the
//! session are gone too.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use interlingua_schema::UniversalEvent;
use rusqlite::Connection;
use tokio::sync::watch;

use super::documents::{self, Document};
use super::{database, text};
use crate::global_cursor::Position;
use crate::global_feed::GlobalFeed;
use crate::global_merge::Merge;
use crate::group_commit::DelayedReply;
use crate::{RawPayloads, ReadLimits, SessionFilter, SessionKey, StoreError};

/// Time without a commit that counts as a pause of the writer.
const WRITER_PAUSE: Duration = Duration::from_millis(250);
/// Time without a pause after which events are indexed all the same.
const MAX_DELAY: Duration = Duration::from_secs(5);
/// Duration of one transaction of the index, in a pause and without one.
const STEP_DURATION: Duration = Duration::from_millis(200);
const BUSY_STEP_DURATION: Duration = Duration::from_millis(20);
/// While the writer does not pause, this many times the duration of a step passes before the next one: 4 % of a processor.
const BUSY_DELAY_FACTOR: u32 = 24;
/// Delay after a step that failed.
const RETRY_DELAY: Duration = Duration::from_secs(60);
/// How much is read at once.
const READ_LIMITS: ReadLimits = ReadLimits { max_events: 256, max_bytes: 256 * 1024 };
/// Number of documents that are deleted in one transaction.
const DELETED_DOCUMENTS: u32 = 64;
/// Number of events from which the progress is logged, and its interval.
const LOGGED_EVENTS: u64 = 10_000;
const LOG_INTERVAL: Duration = Duration::from_secs(10);

enum Command {
    /// There are new events, or a search waits.
    Wake,
    /// Removes the documents of a deleted session.
    Remove(SessionKey),
    /// Sends replies once everything before is removed from the files.
    Reply(Vec<DelayedReply>),
    Stop,
}

/// What the thread shares with its handles.
#[derive(Debug)]
struct Shared {
    commits: AtomicU64,
    /// Whether a [`Command::Wake`] is on its way.
    is_woken: AtomicBool,
    /// Number of searches that wait.
    waiting: AtomicUsize,
    /// Whether so many events are being indexed that no search waits for it.
    is_backlogged: AtomicBool,
    /// Number of the append up to which the index is complete.
    indexed: watch::Sender<i64>,
}

/// Tells the thread what happens to the store.
#[derive(Clone, Debug)]
pub(crate) struct IndexerHandle {
    commands: Sender<Command>,
    shared: Arc<Shared>,
}

impl IndexerHandle {
    /// A handle, and what [`Indexer::start`] needs.
    pub(crate) fn new() -> (Self, IndexerCommands) {
        let (commands, received) = mpsc::channel();
        let shared = Arc::new(Shared {
            commits: AtomicU64::new(0),
            is_woken: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            is_backlogged: AtomicBool::new(false),
            indexed: watch::Sender::new(i64::MIN),
        });
        (Self { commands, shared: Arc::clone(&shared) }, IndexerCommands { received, shared })
    }

    /// Events were committed. Called by the writer, so it has to be fast.
    pub(crate) fn observe_commit(&self) {
        self.shared.commits.fetch_add(1, Ordering::Relaxed);
        self.wake();
    }

    fn wake(&self) {
        if !self.shared.is_woken.swap(true, Ordering::AcqRel) {
            // The thread is gone only when the store is closed.
            let _ = self.commands.send(Command::Wake);
        }
    }

    /// A session was deleted.
    pub(crate) fn remove(&self, session: SessionKey) {
        let _ = self.commands.send(Command::Remove(session));
    }

    /// Sends replies once the documents of deleted sessions are removed.
    pub(crate) fn reply_after_removal(&self, replies: Vec<DelayedReply>) {
        if let Err(mpsc::SendError(Command::Reply(replies))) = self.commands.send(Command::Reply(replies)) {
            send_replies(replies);
        }
    }

    /// Waits until the index is complete up to an append, or a timeout. Does not wait while it is far behind. Returns whether
    /// it is complete.
    pub(crate) async fn wait_for(&self, append: i64, timeout: Duration) -> bool {
        let mut indexed = self.shared.indexed.subscribe();
        if *indexed.borrow() >= append {
            return true;
        }
        if self.shared.is_backlogged.load(Ordering::Acquire) {
            return false;
        }
        let _waiting = WaitingSearch::new(&self.shared);
        self.wake();
        let waiting = tokio::time::timeout(timeout, indexed.wait_for(|indexed| *indexed >= append));
        matches!(waiting.await, Ok(Ok(_)))
    }
}

fn send_replies(replies: Vec<DelayedReply>) {
    for reply in replies {
        reply();
    }
}

/// Counts as a search that waits until it is dropped.
struct WaitingSearch<'a>(&'a Shared);

impl<'a> WaitingSearch<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.waiting.fetch_add(1, Ordering::AcqRel);
        Self(shared)
    }
}

impl Drop for WaitingSearch<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The receiving end of a handle.
pub(crate) struct IndexerCommands {
    received: Receiver<Command>,
    shared: Arc<Shared>,
}

/// The running thread.
pub(crate) struct Indexer {
    handle: IndexerHandle,
    thread: JoinHandle<()>,
}

impl Indexer {
    /// Starts the thread for the store with this database file. It does not index while `is_reserve_released` is true:
    /// the disk is full.
    pub(crate) fn start(
        handle: IndexerHandle,
        commands: IndexerCommands,
        store_file: &Path,
        store_id: u32,
        feed: Arc<GlobalFeed>,
        is_reserve_released: Arc<AtomicBool>,
    ) -> std::io::Result<Self> {
        let worker = Worker {
            store_file: store_file.to_owned(),
            index_file: database::search_file(store_file),
            store_id,
            feed,
            is_reserve_released,
            shared: commands.shared,
            open: None,
            has_removed: false,
            seen_commits: 0,
            busy_since: None,
            delay: WRITER_PAUSE,
            progress: None,
            is_remade: false,
        };
        let thread =
            thread::Builder::new().name("store-indexer".to_owned()).spawn(move || worker.run(&commands.received))?;
        Ok(Self { handle, thread })
    }

    /// Ends the thread, after it has sent the replies that it was given.
    pub(crate) fn stop(self) {
        let _ = self.handle.commands.send(Command::Stop);
        if self.thread.join().is_err() {
            tracing::error!("the indexer thread of the store panicked");
        }
    }
}

struct Worker {
    store_file: PathBuf,
    index_file: PathBuf,
    store_id: u32,
    feed: Arc<GlobalFeed>,
    is_reserve_released: Arc<AtomicBool>,
    shared: Arc<Shared>,
    /// Opened by the first step.
    open: Option<OpenIndex>,
    /// Whether documents were removed since the files were last cleaned.
    has_removed: bool,
    seen_commits: u64,
    /// Since when the writer has not paused.
    busy_since: Option<Instant>,
    /// Delay before the next step.
    delay: Duration,
    progress: Option<Progress>,
    /// Whether the index was damaged and is being made again.
    is_remade: bool,
}

struct OpenIndex {
    index: Connection,
    store: Connection,
    position: Position,
    /// The events that are being indexed, and the last append when they were looked up.
    merge: Option<(Merge, i64)>,
    agents: HashMap<SessionKey, Option<String>>,
}

/// How much of many events is indexed.
struct Progress {
    total: u64,
    indexed: u64,
    logged_at: Instant,
}

impl Worker {
    fn run(mut self, commands: &Receiver<Command>) {
        // What earlier processes have left is looked at once.
        let mut has_work = true;
        loop {
            let command = if has_work {
                commands.recv_timeout(self.delay)
            } else {
                commands.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match command {
                Ok(Command::Wake) => {
                    self.shared.is_woken.store(false, Ordering::Release);
                    if !has_work || self.is_urgent() {
                        self.delay = if self.is_urgent() { Duration::ZERO } else { WRITER_PAUSE };
                    }
                    has_work = true;
                }
                Ok(Command::Remove(session)) => self.remove(session),
                Ok(Command::Reply(replies)) => {
                    self.clean_files();
                    send_replies(replies);
                }
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => has_work = self.index_when_due(),
            }
        }
    }

    fn is_urgent(&self) -> bool {
        self.shared.waiting.load(Ordering::Acquire) > 0
    }

    /// Takes a step unless the writer is busy. Returns whether there is more to do.
    fn index_when_due(&mut self) -> bool {
        let commits = self.shared.commits.load(Ordering::Relaxed);
        let is_paused = commits == self.seen_commits;
        self.seen_commits = commits;
        let is_free = is_paused || self.is_urgent();
        let busy_since = *self.busy_since.get_or_insert_with(Instant::now);
        if is_paused {
            self.busy_since = None;
        }
        if !is_free && busy_since.elapsed() < MAX_DELAY {
            self.delay = WRITER_PAUSE;
            return true;
        }
        if self.is_reserve_released.load(Ordering::SeqCst) {
            self.delay = RETRY_DELAY;
            return true;
        }
        let start = Instant::now();
        match self.step(if is_free { STEP_DURATION } else { BUSY_STEP_DURATION }) {
            Ok(has_more) => {
                self.delay = if is_free { Duration::ZERO } else { BUSY_DELAY_FACTOR * start.elapsed() };
                has_more
            }
            Err(error) => {
                tracing::warn!(%error, "cannot index stored events for the search; trying again later");
                self.delay = RETRY_DELAY;
                true
            }
        }
    }

    /// Indexes events for about this long. Returns whether there are more.
    fn step(&mut self, duration: Duration) -> Result<bool, StoreError> {
        let stepped = self.open().and_then(|open| open.index_for(duration));
        let (indexed, is_done) = match stepped {
            Ok(stepped) => stepped,
            Err(IndexError::Index(error)) if database::is_damage(&error) && !self.is_remade => {
                tracing::warn!(%error, "the search index is damaged; making it again");
                self.discard()?;
                self.is_remade = true;
                return Ok(true);
            }
            Err(IndexError::Index(error)) => return Err(error.into()),
            Err(IndexError::Store(error)) => return Err(error),
        };
        if let Some(open) = &self.open {
            // Of the append at the position, a part may be missing.
            let complete = if is_done { open.position.append } else { open.position.append - 1 };
            self.shared.indexed.send_replace(complete);
        }
        self.is_remade &= !is_done;
        self.log_progress(indexed, is_done);
        Ok(!is_done)
    }

    fn open(&mut self) -> Result<&mut OpenIndex, IndexError> {
        let open = if let Some(open) = self.open.take() { open } else { self.open_files()? };
        let is_new = open.merge.is_none();
        let open = self.open.insert(open);
        if is_new {
            // Sessions that were deleted while the index could not be changed.
            self.has_removed |= open.remove_deleted()?;
            let last = self.feed.last();
            let merge =
                Merge::load(&open.store, &SessionFilter::default(), open.position).map_err(IndexError::Store)?;
            let total = merge.remaining();
            if self.progress.is_none() && total >= LOGGED_EVENTS {
                tracing::info!(events = total, "indexing stored events for the search, in the background");
                self.shared.is_backlogged.store(true, Ordering::Release);
                self.progress = Some(Progress { total, indexed: 0, logged_at: Instant::now() });
            }
            open.merge = Some((merge, last));
        }
        Ok(open)
    }

    fn open_files(&mut self) -> Result<OpenIndex, IndexError> {
        let open = OpenIndex::open(&self.index_file, &self.store_file, self.store_id)?;
        if open.position == Position::START || open.position <= Position::end_of(self.feed.last()) {
            return Ok(open);
        }
        // The store has lost events, for example in a power failure.
        drop(open);
        self.discard().map_err(IndexError::Store)?;
        OpenIndex::open(&self.index_file, &self.store_file, self.store_id)
    }

    fn log_progress(&mut self, indexed: u64, is_done: bool) {
        let Some(progress) = &mut self.progress else { return };
        progress.indexed += indexed;
        if is_done {
            tracing::info!(events = progress.indexed, "indexed the stored events for the search");
            self.shared.is_backlogged.store(false, Ordering::Release);
            self.progress = None;
        } else if progress.logged_at.elapsed() >= LOG_INTERVAL {
            progress.logged_at = Instant::now();
            let percent = progress.indexed * 100 / progress.total.max(1);
            tracing::info!(events = progress.indexed, total = progress.total, percent, "indexing stored events");
        }
    }

    /// Removes the documents of a deleted session. If that fails, the whole index is made again.
    fn remove(&mut self, session: SessionKey) {
        let removed = match &mut self.open {
            Some(open) => {
                // It may have the session.
                open.merge = None;
                open.remove(session)
            }
            None if !self.index_file.exists() => return,
            None => OpenIndex::open(&self.index_file, &self.store_file, self.store_id).and_then(|open| {
                let open = self.open.insert(open);
                open.remove(session)
            }),
        };
        match removed {
            Ok(has_removed) => self.has_removed |= has_removed,
            Err(error) => {
                tracing::warn!(%error, "cannot remove a deleted session from the search index; making it again");
                if let Err(error) = self.discard() {
                    tracing::error!(%error, file = %self.index_file.display(), "cannot remove the search index, which has text of a deleted session");
                }
            }
        }
    }

    /// Removes what deleted documents have left in the files.
    fn clean_files(&mut self) {
        if !std::mem::take(&mut self.has_removed) {
            return;
        }
        let Some(open) = &self.open else { return };
        match database::remove_traces(&open.index) {
            Ok(true) => {}
            Ok(false) => {
                self.has_removed = true;
                tracing::warn!("cannot remove deleted text from the log of the search index yet, because it is read");
            }
            Err(error) => {
                tracing::warn!(%error, "cannot remove deleted text from the search index; making it again");
                if let Err(error) = self.discard() {
                    tracing::error!(%error, file = %self.index_file.display(), "cannot remove the search index, which has text of a deleted session");
                }
            }
        }
    }

    /// Removes the index, so that it is made again.
    fn discard(&mut self) -> Result<(), StoreError> {
        self.open = None;
        self.shared.indexed.send_replace(i64::MIN);
        database::remove(&self.index_file).map_err(|error| StoreError::Database(error.to_string()))
    }
}

/// Which database failed.
#[derive(Debug, thiserror::Error)]
enum IndexError {
    #[error(transparent)]
    Index(#[from] rusqlite::Error),
    #[error(transparent)]
    Store(StoreError),
}

impl OpenIndex {
    fn open(index_file: &Path, store_file: &Path, store_id: u32) -> Result<Self, IndexError> {
        let index = database::open(index_file, store_id).map_err(IndexError::Store)?;
        let store = crate::database::open_for_reading(store_file).map_err(|error| IndexError::Store(error.into()))?;
        let position = database::load_position(&index)?;
        Ok(Self { index, store, position, merge: None, agents: HashMap::new() })
    }

    /// Indexes events in one transaction. Returns their number, and whether there are no more.
    fn index_for(&mut self, duration: Duration) -> Result<(u64, bool), IndexError> {
        let Some((mut merge, last)) = self.merge.take() else { return Ok((0, true)) };
        let deadline = Instant::now() + duration;
        let transaction = self.index.unchecked_transaction()?;
        let (mut position, mut indexed) = (self.position, 0);
        let is_done = loop {
            let runs = merge.read(&self.store, READ_LIMITS, RawPayloads::Omit).map_err(IndexError::Store)?;
            let Some(last_run) = runs.last() else {
                position = position.max(merge.end()).max(Position::end_of(last));
                break true;
            };
            position = Position {
                append: last_run.append,
                session: last_run.session,
                sequence: last_run.events.last_sequence().unwrap_or_default(),
            };
            for run in &runs {
                let agent = find_agent(&mut self.agents, &self.store, run.session).map_err(IndexError::Store)?;
                // The session was deleted in the meantime.
                let Some(agent) = agent else { continue };
                for (sequence, json) in run.events.iter() {
                    index_event(&transaction, run.session, agent, sequence, json)?;
                    indexed += 1;
                }
            }
            if Instant::now() >= deadline {
                break false;
            }
        };
        database::store_position(&transaction, position)?;
        transaction.commit()?;
        self.position = position;
        if is_done {
            // Idle from now on.
            self.agents.clear();
            self.index.execute_batch("PRAGMA shrink_memory")?;
        } else {
            self.merge = Some((merge, last));
        }
        Ok((indexed, is_done))
    }

    /// Removes the documents of sessions that do not exist any more. Returns whether there were any.
    fn remove_deleted(&mut self) -> Result<bool, IndexError> {
        let mut has_removed = false;
        for session in documents::sessions(&self.index)? {
            let exists = self
                .store
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM sessions WHERE key = ?1)")
                .and_then(|mut statement| statement.query_row([session.0], |row| row.get::<_, bool>(0)))
                .map_err(|error| IndexError::Store(error.into()))?;
            if !exists {
                has_removed |= self.remove(session)?;
            }
        }
        Ok(has_removed)
    }

    /// Removes the documents of a session. Returns whether there were any.
    fn remove(&mut self, session: SessionKey) -> Result<bool, IndexError> {
        let mut has_removed = false;
        loop {
            let before = self.index.total_changes();
            let transaction = self.index.unchecked_transaction()?;
            let has_more = documents::delete_some(&transaction, session, DELETED_DOCUMENTS)?;
            transaction.commit()?;
            has_removed |= self.index.total_changes() > before;
            if !has_more {
                return Ok(has_removed);
            }
        }
    }
}

/// The agent of a session; `None` if it was deleted.
fn find_agent<'a>(
    agents: &'a mut HashMap<SessionKey, Option<String>>,
    store: &Connection,
    session: SessionKey,
) -> Result<Option<&'a str>, StoreError> {
    let agent = match agents.entry(session) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(unknown) => {
            unknown.insert(crate::session::find_by_key(store, session)?.map(|session| session.agent))
        }
    };
    Ok(agent.as_deref())
}

fn index_event(
    index: &Connection,
    session: SessionKey,
    agent: &str,
    sequence: u64,
    json: &str,
) -> rusqlite::Result<()> {
    // Most events are deltas, which have no searchable text. The keys before the type are strings and numbers.
    let kind = json.split_once(r#","type":""#).map(|(_, rest)| rest);
    if kind.is_some_and(|kind| kind.starts_with("item.delta\"")) {
        return Ok(());
    }
    let Ok(event) = serde_json::from_str::<UniversalEvent>(json) else { return Ok(()) };
    for text in text::divide(&text::searchable_text(&event)) {
        documents::insert(index, &Document { session, agent, sequence, time: event.time, text })?;
    }
    Ok(())
}
