//! The lock of a data directory: one process at a time.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::OpenError;

/// How long a lock that this process holds itself may take to be released: a program that it is just starting shares
/// its files for a moment.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(300);
const RETRY_DELAY: Duration = Duration::from_millis(10);

/// An exclusive lock of a data directory. The operating system releases it when the process ends, even by a crash.
#[derive(Debug)]
pub(crate) struct DirLock {
    _file: File,
}

impl DirLock {
    /// Locks a data directory, which is created if it does not exist.
    pub(crate) fn create(data_dir: &Path) -> Result<Self, OpenError> {
        let unusable = |source| OpenError::Directory { path: data_dir.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(data_dir).map_err(unusable)?;
        Self::acquire(data_dir)
    }

    fn acquire(data_dir: &Path) -> Result<Self, OpenError> {
        let unusable = |source| OpenError::Directory { path: data_dir.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(data_dir.join("lock"))
            .map_err(unusable)?;
        let deadline = Instant::now() + RELEASE_TIMEOUT;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
            }
            let holder = read_holder(&mut file).map_err(unusable)?;
            if holder != Some(std::process::id()) || Instant::now() >= deadline {
                let holder = holder.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"));
                return Err(OpenError::InUse { path: data_dir.to_owned(), holder });
            }
            thread::sleep(RETRY_DELAY);
        }
        // The process id is for the error message of other processes. It cannot be written when the disk is full, but
        // stored events must still be served then.
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
        if let Err(error) = written {
            tracing::warn!(%error, data_dir = %data_dir.display(), "cannot write the process id into the lock file");
        }
        Ok(Self { _file: file })
    }
}

/// Id of the process that holds the lock, if it is known.
fn read_holder(file: &mut File) -> io::Result<Option<u32>> {
    let mut process = String::new();
    file.rewind()?;
    file.read_to_string(&mut process)?;
    Ok(process.trim().parse().ok())
}
