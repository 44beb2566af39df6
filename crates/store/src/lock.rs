//! The lock of a data directory: one process at a time.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::OpenError;

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
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::InUse { path: data_dir.to_owned(), holder: read_holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
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

/// The process that holds the lock, for an error message.
fn read_holder(file: &mut File) -> String {
    let mut process = String::new();
    match file.read_to_string(&mut process) {
        Ok(_) if !process.trim().is_empty() => format!("process {}", process.trim()),
        _ => "another process".to_owned(),
    }
}
