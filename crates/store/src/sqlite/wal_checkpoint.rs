//! Checkpoints of `SQLite`'s write-ahead log, on a separate thread.
//!
//! A commit is durable once it is in the write-ahead log (WAL). A checkpoint copies the log into the database file. It
//! waits for the disk twice, so it runs on a separate thread and no commit has to wait for it. It also costs about half
//! as much as the commits did, so the thread waits for a pause of the writer, in which the log can also restart from
//! its beginning. Without a pause for a long time the checkpoint runs anyway, and if that is not enough the writer
//! itself does the rest. When the writer has nothing to do, a small log is copied too.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags};

use crate::OpenError;
use crate::sqlite::reserve::free_bytes;

/// Size of the log (4 MiB) from which it is checkpointed in the next pause.
const CHECKPOINT_PAGES: i32 = 1024;
/// Size of the log (64 MiB) from which it is checkpointed without waiting for a pause.
const FORCED_CHECKPOINT_PAGES: i32 = 16 * CHECKPOINT_PAGES;
/// Size of the log (128 MiB) from which the writer runs the checkpoint itself, so that the log can restart.
const WRITER_CHECKPOINT_PAGES: i32 = 2 * FORCED_CHECKPOINT_PAGES;
/// Size to which the log file is truncated after a checkpoint. Overwriting a file costs less than growing it, but the space
/// is lost for other things.
pub(crate) const JOURNAL_SIZE_LIMIT: i64 = 16 * 1024 * 1024;
/// Time without a commit that counts as a pause of the writer.
const WRITER_PAUSE: Duration = Duration::from_millis(50);
/// Time without a commit after which also a small log is checkpointed: if the disk fills up then, the log can be written
/// again from its beginning, which needs no space.
const WRITER_IDLE: Duration = Duration::from_secs(1);

/// What the thread and the writer share.
#[derive(Debug, Default)]
struct Shared {
    log: Mutex<LogState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LogState {
    /// Size of the log.
    pages: i32,
    /// Whether there were commits since the thread last looked.
    has_commits: bool,
    /// Size of the log from which a commit wakes up the thread.
    wakes_at: i32,
    is_closing: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called by the writer, so it has to be fast.
    fn observe_commit(&self, pages: i32) {
        let mut log = self.lock();
        log.pages = pages;
        log.has_commits = true;
        if pages >= log.wakes_at {
            self.changed.notify_one();
        }
    }

    /// Waits for commits, and then for the time of the next checkpoint. False if the database is closed.
    fn wait_for_checkpoint(&self) -> bool {
        let mut log = self.lock();
        log.wakes_at = 0;
        let has_nothing = |log: &mut LogState| !log.has_commits && !log.is_closing;
        log = self.changed.wait_while(log, has_nothing).unwrap_or_else(PoisonError::into_inner);
        while log.has_commits && !log.is_closing {
            log.has_commits = false;
            let pause;
            (pause, log.wakes_at) = match log.pages {
                CHECKPOINT_PAGES.. => (WRITER_PAUSE, i32::MAX),
                _ => (WRITER_IDLE, CHECKPOINT_PAGES),
            };
            let may_wait = |log: &mut LogState| log.pages < log.wakes_at && !log.is_closing;
            log = self.changed.wait_timeout_while(log, pause, may_wait).unwrap_or_else(PoisonError::into_inner).0;
            if log.pages >= FORCED_CHECKPOINT_PAGES {
                break;
            }
        }
        !log.is_closing
    }
}

/// The thread that runs the checkpoints.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl Checkpoints {
    /// Starts the thread for the log of this connection.
    pub(crate) fn start(writer: &mut Connection, file: &Path) -> Result<Self, OpenError> {
        let shared = Arc::new(Shared::default());
        let thread = thread::Builder::new()
            .name("store-checkpoint".to_owned())
            .spawn({
                let (file, shared) = (file.to_owned(), Arc::clone(&shared));
                move || run_checkpoints(&file, &shared)
            })
            .map_err(|source| OpenError::Directory { path: file.to_owned(), source })?;
        let observer = Arc::clone(&shared);
        let on_commit = move |wal: &mut Wal, pages: i32| {
            observer.observe_commit(pages);
            if pages >= WRITER_CHECKPOINT_PAGES
                && let Err(error) = wal.checkpoint()
            {
                tracing::debug!(%error, pages, "the writer could not checkpoint the write-ahead log");
            }
            Ok(())
        };
        writer.wal_hook(Some(on_commit)).map_err(|source| OpenError::Database { path: file.to_owned(), source })?;
        Ok(Self { shared, thread })
    }

    /// Ends the thread. Call it before the log is emptied.
    pub(crate) fn stop(self) {
        self.shared.lock().is_closing = true;
        self.shared.changed.notify_one();
        if self.thread.join().is_err() {
            tracing::error!("the checkpoint thread of the store panicked");
        }
    }
}

/// Runs checkpoints until the database is closed.
fn run_checkpoints(file: &Path, shared: &Shared) {
    let mut connection = None;
    while shared.wait_for_checkpoint() {
        if let Err(error) = checkpoint(&mut connection, file) {
            // Nothing is lost: commits that are not copied stay in the log, where they are durable.
            tracing::warn!(%error, file = %file.display(), "cannot checkpoint the write-ahead log");
        }
    }
}

fn checkpoint(connection: &mut Option<Connection>, file: &Path) -> rusqlite::Result<()> {
    if connection.is_none() {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        *connection = Some(Connection::open_with_flags(file, flags)?);
    }
    match connection {
        Some(connection) => restart_log(connection, file).map(drop),
        None => Ok(()),
    }
}

/// Copies the log to the database file, as far as readers allow. The next commit then writes the log from its beginning.
/// False if some of it could not be copied.
pub(crate) fn restart_log(connection: &Connection, file: &Path) -> rusqlite::Result<bool> {
    if missing_space(connection, file)? > 0 {
        // A part would take up space without freeing any.
        return Ok(false);
    }
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok(!row.get::<_, bool>(0)? && row.get::<_, i64>(1)? == row.get::<_, i64>(2)?)
    })
}

/// Number of bytes that the disk lacks for the database file to grow in a checkpoint.
pub(crate) fn missing_space(connection: &Connection, file: &Path) -> rusqlite::Result<u64> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).map(i64::cast_unsigned);
    let needed = pragma("page_count")?.saturating_mul(pragma("page_size")?);
    let has = std::fs::metadata(file).map(|file| file.len()).unwrap_or_default();
    let growth = needed.saturating_sub(has);
    // If the free space is not known, it is tried.
    Ok(if growth == 0 { 0 } else { free_bytes(file).map_or(0, |free| growth.saturating_sub(free)) })
}
