//! Moving what the write-ahead log holds to where it belongs, beside the writer.
//!
//! A commit is durable when it is in the log. To move it on waits for the disk, twice, so a thread of its own does that,
//! and no commit has to wait. It also costs about half as much as the commits did; so the thread waits for a pause of the
//! writer, in which the log can begin anew, too. If there is none for long it begins without one, and if even that does
//! not suffice the writer moves what is missing.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags};

use crate::OpenError;

/// From so many pages on (4 MiB) the log is moved in the next pause,
const ENOUGH: i32 = 1024;
/// from so many on (64 MiB) at once,
const MANY: i32 = 16 * ENOUGH;
/// and from so many on (128 MiB) the writer helps, and the log begins anew.
const TOO_MANY: i32 = 2 * MANY;
/// So much of the log's file is kept: to write over a file costs less than to make it grow.
pub(crate) const BYTES_KEPT: i64 = 64 * 1024 * 1024;
/// A pause is so long.
const PAUSE: Duration = Duration::from_millis(50);

/// How the log stands.
#[derive(Debug, Default)]
struct Log {
    pages: AtomicI32,
    commits: AtomicU64,
}

/// Has the log of this connection moved by a thread, which ends when the connection is closed.
pub(crate) fn start(writer: &mut Connection, file: &Path) -> Result<JoinHandle<()>, OpenError> {
    // One request that waits stands for all that come while it does, and costs them nothing.
    let (request, requests) = sync_channel(1);
    let log = Arc::new(Log::default());
    let thread = thread::Builder::new()
        .name("store-checkpoint".to_owned())
        .spawn({
            let (file, log) = (file.to_owned(), Arc::clone(&log));
            move || attend(&file, &log, &requests)
        })
        .map_err(|source| OpenError::Directory { path: file.to_owned(), source })?;
    let committed = move |wal: &mut Wal, pages: i32| {
        log.pages.store(pages, Ordering::Relaxed);
        log.commits.fetch_add(1, Ordering::Relaxed);
        if pages >= ENOUGH {
            // Either it is told, or it will look again anyway.
            let _ = request.try_send(());
        }
        if pages >= TOO_MANY
            && let Err(error) = wal.checkpoint()
        {
            tracing::debug!(%error, "the log stays long");
        }
        Ok(())
    };
    writer.wal_hook(Some(committed)).map_err(|source| OpenError::Database { path: file.to_owned(), source })?;
    Ok(thread)
}

/// Moves the log whenever it is asked to, in the next pause.
fn attend(file: &Path, log: &Log, requests: &Receiver<()>) {
    let mut connection = None;
    while requests.recv().is_ok() {
        loop {
            let before = log.commits.load(Ordering::Relaxed);
            thread::sleep(PAUSE);
            if log.commits.load(Ordering::Relaxed) == before || log.pages.load(Ordering::Relaxed) >= MANY {
                break;
            }
        }
        if let Err(error) = move_log(&mut connection, file) {
            // What is not moved stays in the log, and is as durable there.
            tracing::warn!(%error, "the write-ahead log cannot be moved into the database");
        }
    }
}

fn move_log(connection: &mut Option<Connection>, file: &Path) -> rusqlite::Result<()> {
    if connection.is_none() {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        *connection = Some(Connection::open_with_flags(file, flags)?);
    }
    match connection {
        Some(connection) => connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())),
        None => Ok(()),
    }
}
