//! Moving what the write-ahead log holds to where it belongs, beside the writer.
//!
//! A commit is durable when it is in the log. To move it on waits for the disk, twice, so a thread of its own does that
//! and no commit has to wait for it. The log begins anew when all of it was moved and nothing was added meanwhile, which
//! the writer's next pause sees to. If there is none for long, the writer moves the little that is missing itself.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::hooks::Wal;
use rusqlite::{Connection, OpenFlags};

use crate::OpenError;

/// From so many pages on (4 MiB) the log is moved.
const ENOUGH: i32 = 1024;
/// From so many pages on (16 MiB) the writer helps.
const TOO_MANY: i32 = 4 * ENOUGH;

/// Has the log of this connection moved by a thread, which ends when the connection is closed.
pub(crate) fn start(writer: &mut Connection, file: &Path) -> Result<JoinHandle<()>, OpenError> {
    // One request that waits stands for all that come while it does.
    let (request, requests) = sync_channel(1);
    let path = file.to_owned();
    let thread = thread::Builder::new()
        .name("store-checkpoint".to_owned())
        .spawn(move || attend(path, &requests))
        .map_err(|source| OpenError::Folder { path: file.to_owned(), source })?;
    let committed = move |log: &mut Wal, pages: i32| {
        if pages >= ENOUGH {
            // Either it is told, or it is about to look anyway.
            let _ = request.try_send(());
        }
        if pages >= TOO_MANY
            && let Err(error) = log.checkpoint()
        {
            tracing::debug!(%error, "the log stays long");
        }
        Ok(())
    };
    writer.wal_hook(Some(committed)).map_err(|source| OpenError::Database { path: file.to_owned(), source })?;
    Ok(thread)
}

/// Moves the log whenever it is asked to.
fn attend(file: PathBuf, requests: &Receiver<()>) {
    let mut connection = None;
    while requests.recv().is_ok() {
        if let Err(error) = move_log(&mut connection, &file) {
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
