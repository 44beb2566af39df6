//! The end of a file, for lists that must not read all of it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use interlingua_schema::Timestamp;

use crate::HistoryError;
use crate::json::line_time;
use crate::record_reader::is_compressed;

/// Number of bytes that are read.
const TAIL_BYTES: u64 = 64 << 10;

/// The last lines of a file.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    text: String,
    modified: Option<Timestamp>,
}

impl Tail {
    /// Reads the end of a file. That of a compressed file cannot be read without all of it.
    pub(crate) fn read(path: &Path) -> Result<Self, HistoryError> {
        let mut file = File::open(path).map_err(HistoryError::read(path))?;
        let metadata = file.metadata().map_err(HistoryError::read(path))?;
        let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        let modified = modified.and_then(|time| i64::try_from(time.as_millis()).ok()).map(Timestamp::from_millis);
        if is_compressed(path) {
            return Ok(Self { text: String::new(), modified });
        }
        let start = metadata.len().saturating_sub(TAIL_BYTES);
        file.seek(SeekFrom::Start(start)).map_err(HistoryError::read(path))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes).map_err(HistoryError::read(path))?;
        Ok(Self { text: String::from_utf8_lossy(&bytes).into_owned(), modified })
    }

    /// The lines, last one first.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.text.lines().rev()
    }

    /// Time of the last line with a time, or else of the last change of the file.
    pub(crate) fn last_activity(&self) -> Option<Timestamp> {
        self.lines().find_map(line_time).or(self.modified)
    }
}
