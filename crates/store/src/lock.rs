//! One process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::OpenError;

/// The right to use a data folder. The system takes it back when the process is gone, however it went.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    pub(crate) fn take(folder: &Path) -> Result<Self, OpenError> {
        let unusable = |source| OpenError::Directory { path: folder.to_owned(), source };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join("lock"))
            .map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(OpenError::InUse { path: folder.to_owned(), holder: holder(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        // For whoever finds the folder taken. A full disk must not keep us from serving what is there.
        let noted = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
        if let Err(error) = noted {
            tracing::warn!(%error, "cannot note the process id in the lock file");
        }
        Ok(Self { _file: file })
    }
}

fn holder(file: &mut File) -> String {
    let mut process = String::new();
    match file.read_to_string(&mut process) {
        Ok(_) if !process.trim().is_empty() => format!("process {}", process.trim()),
        _ => "another process".to_owned(),
    }
}
