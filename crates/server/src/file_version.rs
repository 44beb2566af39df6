//! Noticing that a file was replaced.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// What changes when a file is replaced or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileVersion {
    inode: u64,
    modified: (i64, i64),
    size: u64,
}

impl FileVersion {
    /// The version of a file; `None` if it does not exist.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        Some(Self { inode: metadata.ino(), modified, size: metadata.size() })
    }
}
