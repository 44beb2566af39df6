//! Files that reserve space, so that sessions can be ended and deleted while the disk is full.
//!
//! An end or a deletion needs some dozen pages of the write-ahead log, and space in the database file when the log is
//! copied to it. The log can then be written again from its beginning, so the reserved space lasts for many of them. The
//! second file is for deletions alone: they make space, so they must work when ends have used up the first.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The files, and their sizes. The first is also for the ends of sessions, the others are for deletions alone.
const FILES: [(&str, u64); 2] = [("reserve", 2 * 1024 * 1024), ("reserve-delete", 1024 * 1024)];
/// The most that a deletion can use.
pub(crate) const RESERVED_BYTES: u64 = FILES[0].1 + FILES[1].1;
/// Space that has to be free besides a file for it to be created.
const MIN_FREE_BYTES: u64 = 2 * 1024 * 1024;

/// The files that reserve space. They are removed when an essential write finds the disk full.
#[derive(Debug)]
pub(crate) struct Reserve {
    data_dir: PathBuf,
    is_released: Arc<AtomicBool>,
}

impl Reserve {
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self { data_dir: data_dir.to_owned(), is_released: Arc::default() }
    }

    /// Whether some of the space is in use. Nothing else may take it then.
    pub(crate) fn released_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_released)
    }

    /// Whether some of the space is in use, after an attempt to reserve it again.
    pub(crate) fn is_in_use(&self) -> bool {
        if self.is_released.load(Ordering::SeqCst) {
            self.fill();
        }
        self.is_released.load(Ordering::SeqCst)
    }

    /// Creates the files that are missing, as far as there is space.
    pub(crate) fn fill(&self) {
        match self.try_fill() {
            Ok(true) => self.is_released.store(false, Ordering::SeqCst),
            Ok(false) => {}
            Err(error) => {
                tracing::debug!(%error, dir = %self.data_dir.display(), "cannot reserve space for ending sessions on a full disk");
            }
        }
    }

    /// Whether all files exist in the end. The one for deletions comes first.
    fn try_fill(&self) -> io::Result<bool> {
        for (name, bytes) in FILES.into_iter().rev() {
            let file = self.data_dir.join(name);
            if fs::metadata(&file).is_ok_and(|file| file.len() == bytes) {
                continue;
            }
            if free_bytes(&self.data_dir)? < bytes + MIN_FREE_BYTES {
                return Ok(false);
            }
            let created = create(&file, bytes);
            if created.is_err() {
                // A part of the file would only take up space.
                let _ = fs::remove_file(&file);
            }
            created?;
        }
        Ok(true)
    }

    /// Frees reserved space, for deletions more than for ends. False if there is none left.
    pub(crate) fn release(&self, is_deletion: bool) -> bool {
        // Set first, so that the space is not taken at once.
        self.is_released.store(true, Ordering::SeqCst);
        let usable = if is_deletion { &FILES[..] } else { &FILES[..1] };
        let released = usable.iter().find(|(name, _)| fs::remove_file(self.data_dir.join(name)).is_ok());
        if let Some((file, bytes)) = released {
            tracing::warn!(file, bytes, "the disk is full; using reserved space to end and delete sessions");
        }
        released.is_some()
    }
}

/// Writes a file of this size: a file with holes reserves nothing.
fn create(file: &Path, bytes: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    io::copy(&mut io::Read::take(io::repeat(0), bytes), &mut file)?;
    file.flush()
}

/// Free space on the disk of a directory or file.
pub(crate) fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_space_is_released_in_parts_and_reserved_again() {
        let dir = tempfile::tempdir().unwrap();
        let reserve = Reserve::new(dir.path());
        assert!(!reserve.release(true));
        for _ in 0..2 {
            reserve.fill();
            for (name, bytes) in FILES {
                assert_eq!(fs::metadata(dir.path().join(name)).unwrap().len(), bytes);
            }
            assert!(!reserve.released_flag().load(Ordering::SeqCst));
            assert!(reserve.release(false) && !reserve.release(false), "the rest is for deletions");
            assert!(reserve.released_flag().load(Ordering::SeqCst));
            assert!(reserve.release(true) && !reserve.release(true));
        }
        assert!(!reserve.is_in_use(), "there is space again");
    }
}
