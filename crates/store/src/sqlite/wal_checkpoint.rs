//! Checkpoints of `SQLite`'s write-ahead log, on a separate thread.
//!
//! A commit is durable once it is in the write-ahead log (WAL). A checkpoint copies the log into the database file. It
//! waits for the disk twice, so it runs on a separate thread and no commit has to wait for it. It also costs about half
//! as much as the commits did, so the thread waits for a pause of the writer, in which the log can also restart from
//! its beginning. Without a pause for a long time the checkpoint runs anyway, and if that is not enough the writer
//! itself does the rest.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags};

use crate::OpenError;

/// Size of the log (4 MiB) from which it is checkpointed in the next pause.
const CHECKPOINT_PAGES: i32 = 1024;
/// Size of the log (64 MiB) from which it is checkpointed without waiting for a pause.
const FORCED_CHECKPOINT_PAGES: i32 = 16 * CHECKPOINT_PAGES;
/// Size of the log (128 MiB) from which the writer runs the checkpoint itself, so that the log can restart.
const WRITER_CHECKPOINT_PAGES: i32 = 2 * FORCED_CHECKPOINT_PAGES;
/// Size to which the log file is truncated after a checkpoint. Overwriting a file costs less than growing it.
pub(crate) const JOURNAL_SIZE_LIMIT: i64 = 64 * 1024 * 1024;
/// Time without a commit that counts as a pause of the writer.
const WRITER_PAUSE: Duration = Duration::from_millis(50);

/// Size of the log in pages, and the number of commits so far.
#[derive(Debug, Default)]
struct WalState {
    pages: AtomicI32,
    commits: AtomicU64,
}

/// Starts the checkpoint thread for the log of this connection. The thread ends when the connection is closed.
pub(crate) fn start(
    writer: &mut Connection,
    file: &Path,
    is_reserve_released: Arc<AtomicBool>,
) -> Result<JoinHandle<()>, OpenError> {
    // With a capacity of one, a waiting request stands for all that follow while it waits.
    let (request, requests) = sync_channel(1);
    let state = Arc::new(WalState::default());
    let thread = thread::Builder::new()
        .name("store-checkpoint".to_owned())
        .spawn({
            let (file, state) = (file.to_owned(), Arc::clone(&state));
            move || run_checkpoints(&file, &state, &requests, &is_reserve_released)
        })
        .map_err(|source| OpenError::Directory { path: file.to_owned(), source })?;
    let on_commit = move |wal: &mut Wal, pages: i32| {
        state.pages.store(pages, Ordering::Relaxed);
        state.commits.fetch_add(1, Ordering::Relaxed);
        if pages >= CHECKPOINT_PAGES {
            // If the channel is full, the thread has a request to handle already.
            let _ = request.try_send(());
        }
        if pages >= WRITER_CHECKPOINT_PAGES
            && let Err(error) = wal.checkpoint()
        {
            tracing::debug!(%error, pages, "the writer could not checkpoint the write-ahead log");
        }
        Ok(())
    };
    writer.wal_hook(Some(on_commit)).map_err(|source| OpenError::Database { path: file.to_owned(), source })?;
    Ok(thread)
}

/// Runs a checkpoint after each request, in the next pause of the writer.
fn run_checkpoints(file: &Path, state: &WalState, requests: &Receiver<()>, is_reserve_released: &AtomicBool) {
    let mut connection = None;
    while requests.recv().is_ok() {
        loop {
            let commits_before = state.commits.load(Ordering::Relaxed);
            thread::sleep(WRITER_PAUSE);
            let is_paused = state.commits.load(Ordering::Relaxed) == commits_before;
            if is_paused || state.pages.load(Ordering::Relaxed) >= FORCED_CHECKPOINT_PAGES {
                break;
            }
        }
        // On a full disk, the database file must not grow into the space for ending and deleting sessions.
        if is_reserve_released.load(Ordering::SeqCst) {
            continue;
        }
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
        Some(connection) => connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())),
        None => Ok(()),
    }
}
