//! A file that reserves space, so that sessions can be ended and deleted while the disk is full.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Size of the file: enough for the ends of some hundred sessions.
const RESERVE_BYTES: usize = 1024 * 1024;
/// The file is only created if this many times its size is free.
const MIN_FREE_FACTOR: u64 = 3;

/// The file that reserves space. It is removed when an essential write finds the disk full.
#[derive(Debug)]
pub(crate) struct Reserve {
    file: PathBuf,
    is_released: Arc<AtomicBool>,
}

impl Reserve {
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self { file: data_dir.join("reserve"), is_released: Arc::default() }
    }

    /// Whether the space is in use. No checkpoint may take it for the database file then.
    pub(crate) fn is_released(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_released)
    }

    /// Creates the file, unless it exists or there is little space.
    pub(crate) fn fill(&self) {
        self.is_released.store(false, Ordering::Relaxed);
        if let Err(error) = self.try_fill() {
            tracing::debug!(%error, file = %self.file.display(), "cannot reserve space for ending sessions on a full disk");
            // A part of the file would only take up space.
            let _ = fs::remove_file(&self.file);
        }
    }

    fn try_fill(&self) -> io::Result<()> {
        if fs::metadata(&self.file).is_ok_and(|file| file.len() == RESERVE_BYTES as u64) {
            return Ok(());
        }
        let disk = rustix::fs::statvfs(self.file.parent().unwrap_or(Path::new(".")))?;
        if disk.f_bavail.saturating_mul(disk.f_frsize) < MIN_FREE_FACTOR * RESERVE_BYTES as u64 {
            return Ok(());
        }
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&self.file)?;
        // Written, not only extended: a file with holes reserves nothing.
        file.write_all(&vec![0; RESERVE_BYTES])
    }

    /// Frees the reserved space. False if nothing was reserved.
    pub(crate) fn release(&self) -> bool {
        // Set first, so that the space is not taken at once.
        self.is_released.store(true, Ordering::SeqCst);
        let released = fs::remove_file(&self.file).is_ok();
        if released {
            tracing::warn!(bytes = RESERVE_BYTES, "the disk is full; using reserved space to end and delete sessions");
        }
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_space_is_released_once_and_reserved_again() {
        let dir = tempfile::tempdir().unwrap();
        let reserve = Reserve::new(dir.path());
        assert!(!reserve.release());
        reserve.fill();
        assert_eq!(fs::metadata(&reserve.file).unwrap().len(), RESERVE_BYTES as u64);
        assert!(reserve.release() && !reserve.release());
        reserve.fill();
        assert!(reserve.release());
    }
}
