//! The end of a file, for lists that must not read all of it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use interlingua_schema::Timestamp;
use serde::Deserialize;

use crate::HistoryError;
use crate::json::{Field, time};
use crate::record_reader::is_compressed;

/// Number of bytes that are read.
const TAIL_BYTES: u64 = 64 << 10;

#[derive(Default, Deserialize)]
#[serde(default)]
struct TimedLine<'a> {
    #[serde(borrow)]
    timestamp: Field<'a>,
}

/// Time of the last line with a time, or else of the last change of the file.
pub(crate) fn last_activity(path: &Path) -> Result<Option<Timestamp>, HistoryError> {
    let mut file = File::open(path).map_err(HistoryError::read(path))?;
    let metadata = file.metadata().map_err(HistoryError::read(path))?;
    let modified = || {
        let modified = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(modified.as_millis()).ok().map(Timestamp::from_millis)
    };
    // The end of a compressed file cannot be read without all of it.
    if is_compressed(path) {
        return Ok(modified());
    }
    let start = metadata.len().saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start)).map_err(HistoryError::read(path))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes).map_err(HistoryError::read(path))?;
    let text = String::from_utf8_lossy(&bytes);
    let mut times = text.lines().rev().filter_map(|line| serde_json::from_str::<TimedLine<'_>>(line).ok());
    let last = times.find_map(|line| time(line.timestamp));
    Ok(last.or_else(modified))
}
