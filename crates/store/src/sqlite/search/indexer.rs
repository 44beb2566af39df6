//! The thread that fills the index.
//!
//! It works when the writer has paused, like the thread that runs checkpoints. While appends never pause, it takes a
//! small share of one processor. A search that waits for it goes first. A deletion is answered when the documents of the
//! session are gone too.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::database;
use super::index::{IndexError, OpenIndex};
use crate::global_cursor::Position;
use crate::global_feed::GlobalFeed;
use crate::sqlite::group_commit::DelayedReply;
use crate::sqlite::log_marker;
use crate::{SessionKey, StoreError};

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
/// Delay before deleted text is removed from the files after that failed.
const CLEAN_RETRY_DELAY: Duration = Duration::from_secs(5);
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
    /// Whether the thread looks at the number of commits by itself, because it has work or is woken up already.
    is_awake: AtomicBool,
    /// Number of commands that interrupt a step: all but [`Command::Wake`].
    interrupts: AtomicUsize,
    /// Number of searches that wait.
    waiting: AtomicUsize,
    /// Whether many events are being indexed. Searches do not wait for it then.
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
            is_awake: AtomicBool::new(true),
            interrupts: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            is_backlogged: AtomicBool::new(false),
            indexed: watch::Sender::new(i64::MIN),
        });
        (Self { commands, shared: Arc::clone(&shared) }, IndexerCommands { received, shared })
    }

    /// Events were committed. Called by the writer, so it has to be fast.
    pub(crate) fn observe_commit(&self) {
        self.shared.commits.fetch_add(1, Ordering::SeqCst);
        if !self.shared.is_awake.swap(true, Ordering::SeqCst) {
            self.wake();
        }
    }

    fn wake(&self) {
        // The thread is gone only when the store is closed.
        let _ = self.commands.send(Command::Wake);
    }

    /// A session was deleted.
    pub(crate) fn remove(&self, session: SessionKey) {
        let _ = self.interrupt(Command::Remove(session));
    }

    /// Sends replies once the documents of deleted sessions are removed.
    pub(crate) fn reply_after_removal(&self, replies: Vec<DelayedReply>) {
        if let Err(Command::Reply(replies)) = self.interrupt(Command::Reply(replies)) {
            send_replies(replies);
        }
    }

    /// Sends a command that interrupts a step. Returns it if the thread is gone.
    fn interrupt(&self, command: Command) -> Result<(), Command> {
        self.shared.interrupts.fetch_add(1, Ordering::SeqCst);
        self.commands.send(command).map_err(|mpsc::SendError(command)| command)
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
            clean_at: None,
            seen_commits: 0,
            busy_since: None,
            next_step: Instant::now() + WRITER_PAUSE,
            progress: None,
            is_remade: false,
        };
        let thread =
            thread::Builder::new().name("store-indexer".to_owned()).spawn(move || worker.run(&commands.received))?;
        Ok(Self { handle, thread })
    }

    /// Ends the thread, after it has sent the replies that it was given.
    pub(crate) fn stop(self) {
        let _ = self.handle.interrupt(Command::Stop);
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
    /// When the files are cleaned of removed documents; `None` if they have none.
    clean_at: Option<Instant>,
    seen_commits: u64,
    /// Since when the writer has not paused.
    busy_since: Option<Instant>,
    next_step: Instant,
    progress: Option<Progress>,
    /// Whether the index was damaged and is being made again.
    is_remade: bool,
}

/// How much of many events is indexed.
struct Progress {
    total: u64,
    indexed: u64,
    logged_at: Instant,
}

impl Worker {
    fn run(mut self, commands: &Receiver<Command>) {
        // What earlier processes have left is looked at first.
        let mut has_work = true;
        loop {
            has_work = has_work || self.has_new_events();
            let wakes_at = has_work.then_some(self.next_step).into_iter().chain(self.clean_at).min();
            let command = match wakes_at {
                Some(at) => commands.recv_timeout(at.saturating_duration_since(Instant::now())),
                None => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            if !matches!(command, Ok(Command::Wake) | Err(_)) {
                self.shared.interrupts.fetch_sub(1, Ordering::SeqCst);
            }
            match command {
                Ok(Command::Wake) => {
                    if !has_work || self.is_urgent() {
                        self.schedule_step();
                    }
                    has_work = true;
                }
                Ok(Command::Remove(session)) => self.remove(session),
                Ok(Command::Reply(replies)) => {
                    self.clean_files();
                    send_replies(replies);
                }
                Ok(Command::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.clean_files();
                    break;
                }
                Err(RecvTimeoutError::Timeout) => {
                    if has_work && self.next_step <= Instant::now() {
                        let (has_more, delay) = self.index_when_due();
                        self.next_step = Instant::now() + delay;
                        has_work = has_more;
                    }
                    if self.clean_at.is_some_and(|at| at <= Instant::now()) {
                        self.clean_files();
                    }
                }
            }
        }
    }

    /// Whether there were commits since the last step. If not, the next one wakes the thread up.
    fn has_new_events(&mut self) -> bool {
        self.shared.is_awake.store(false, Ordering::SeqCst);
        let has_new = self.shared.commits.load(Ordering::SeqCst) != self.seen_commits;
        if has_new {
            self.shared.is_awake.store(true, Ordering::SeqCst);
            self.schedule_step();
        }
        has_new
    }

    /// Schedules the first step for new events: after a pause of the writer, or at once if a search waits.
    fn schedule_step(&mut self) {
        let delay = if self.is_urgent() { Duration::ZERO } else { WRITER_PAUSE };
        self.next_step = Instant::now() + delay;
    }

    fn is_urgent(&self) -> bool {
        self.shared.waiting.load(Ordering::Acquire) > 0
    }

    /// Takes a step unless the writer is busy. Returns whether there is more to do, and the delay before that.
    fn index_when_due(&mut self) -> (bool, Duration) {
        let commits = self.shared.commits.load(Ordering::SeqCst);
        let is_paused = commits == self.seen_commits;
        self.seen_commits = commits;
        let is_free = is_paused || self.is_urgent();
        let busy_since = *self.busy_since.get_or_insert_with(Instant::now);
        if is_paused {
            self.busy_since = None;
        }
        if !is_free && busy_since.elapsed() < MAX_DELAY {
            return (true, WRITER_PAUSE);
        }
        if self.is_reserve_released.load(Ordering::SeqCst) {
            return (true, RETRY_DELAY);
        }
        let start = Instant::now();
        match self.step(if is_free { STEP_DURATION } else { BUSY_STEP_DURATION }) {
            Ok(has_more) => (has_more, if is_free { Duration::ZERO } else { BUSY_DELAY_FACTOR * start.elapsed() }),
            Err(error) => {
                tracing::warn!(%error, "cannot index stored events for the search; trying again later");
                (true, RETRY_DELAY)
            }
        }
    }

    /// Indexes events for about this long. Returns whether there are more.
    fn step(&mut self, duration: Duration) -> Result<bool, StoreError> {
        let shared = Arc::clone(&self.shared);
        let is_interrupted = move || shared.interrupts.load(Ordering::SeqCst) > 0;
        let stepped = self.open().and_then(|open| open.index_for(duration, is_interrupted));
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
            let complete = if is_done { open.position().append } else { open.position().append - 1 };
            self.shared.indexed.send_replace(complete);
        }
        self.is_remade &= !is_done;
        self.log_progress(indexed, is_done);
        Ok(!is_done)
    }

    fn open(&mut self) -> Result<&mut OpenIndex, IndexError> {
        let open = self.take_or_open()?;
        let open = self.open.insert(open);
        if open.is_caught_up() {
            // Sessions that were deleted while the index could not be changed.
            if open.remove_deleted()? {
                self.clean_at.get_or_insert_with(Instant::now);
            }
            let total = open.load_new(self.feed.last())?;
            if self.progress.is_none() && total >= LOGGED_EVENTS {
                tracing::info!(events = total, "indexing stored events for the search, in the background");
                self.shared.is_backlogged.store(true, Ordering::Release);
                self.progress = Some(Progress { total, indexed: 0, logged_at: Instant::now() });
            }
        }
        Ok(open)
    }

    fn take_or_open(&mut self) -> Result<OpenIndex, IndexError> {
        if let Some(open) = self.open.take() {
            return Ok(open);
        }
        if log_marker::has_log(&self.index_file) {
            // A process was killed, maybe before it cleaned the files.
            self.clean_at = Some(Instant::now());
        }
        let open = OpenIndex::open(&self.index_file, &self.store_file, self.store_id)?;
        if open.position() == Position::START || open.position() <= Position::end_of(self.feed.last()) {
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
        if self.open.is_none() && !self.index_file.exists() {
            return;
        }
        let removed = self.take_or_open().and_then(|open| self.open.insert(open).remove(session));
        match removed {
            // Cleaned before the reply, or when that failed.
            Ok(true) => self.clean_at = Some(Instant::now()),
            Ok(false) => {}
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
        if self.clean_at.take().is_none() {
            return;
        }
        let Some(open) = &self.open else { return };
        match database::remove_traces(open.connection()) {
            Ok(true) => {}
            Ok(false) => {
                self.clean_at = Some(Instant::now() + CLEAN_RETRY_DELAY);
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
