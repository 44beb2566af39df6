//! Reads the lines of a file, with their position.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use interlingua_wirelog::{LineBuffer, MAX_LINE_BYTES};

use crate::HistoryError;
use crate::zstd::ZstdReader;

/// Size of the read buffer.
const BUFFER_BYTES: usize = 1 << 16;

/// One line of a file.
#[derive(Debug)]
pub(crate) struct Record {
    /// Number of the line, from 1.
    pub(crate) number: u64,
    /// The text, or what is wrong with it.
    pub(crate) text: Result<String, DamagedText>,
    /// Whether a line break ends the line. The last line may still be written.
    pub(crate) is_terminated: bool,
}

/// A line that is not text, or the rest of a file that cannot be read.
#[derive(Debug)]
pub(crate) struct DamagedText {
    pub(crate) bytes: Vec<u8>,
    pub(crate) reason: String,
}

/// Whether a file is compressed with zstd, by its name.
pub(crate) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// Reads the lines of a file. Blank lines are left out.
pub(crate) struct RecordReader {
    path: PathBuf,
    input: Box<dyn BufRead>,
    line: LineBuffer,
    number: u64,
    has_failed: bool,
}

impl RecordReader {
    pub(crate) fn open(path: &Path) -> Result<Self, HistoryError> {
        let file = File::open(path).map_err(HistoryError::read(path))?;
        let input: Box<dyn Read> = if is_compressed(path) { Box::new(ZstdReader::new(file)) } else { Box::new(file) };
        Ok(Self {
            path: path.to_owned(),
            input: Box::new(BufReader::with_capacity(BUFFER_BYTES, input)),
            line: LineBuffer::new(MAX_LINE_BYTES),
            number: 0,
            has_failed: false,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The next line; `None` at the end of the file. A rest that cannot be read is a damaged line.
    pub(crate) fn next(&mut self) -> Option<Record> {
        while !self.has_failed {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.has_failed = true;
                    self.number += 1;
                    let reason = format!("expected more lines, found that the rest cannot be read: {error}");
                    let text = Err(DamagedText { bytes: self.line.take(), reason });
                    return Some(Record { number: self.number, text, is_terminated: true });
                }
            };
            if chunk.is_empty() {
                return self.take(false);
            }
            let length = chunk.len();
            match self.line.push(chunk) {
                Some(used) => {
                    self.input.consume(used);
                    if let Some(record) = self.take(true) {
                        return Some(record);
                    }
                }
                None => self.input.consume(length),
            }
        }
        None
    }

    /// Takes the line in the buffer, unless it is blank.
    fn take(&mut self, is_terminated: bool) -> Option<Record> {
        if !is_terminated && self.line.is_empty() {
            return None;
        }
        self.number += 1;
        let is_blank = self.line.is_blank();
        let excess = self.line.excess_length();
        let bytes = self.line.take();
        if is_blank {
            return None;
        }
        let text = match excess {
            Some(length) => {
                let reason = format!("expected at most {MAX_LINE_BYTES} bytes, found {length}");
                Err(DamagedText { bytes, reason })
            }
            None => String::from_utf8(bytes).map_err(|error| {
                let reason = format!("expected UTF-8, found other bytes at {}", error.utf8_error().valid_up_to());
                DamagedText { bytes: error.into_bytes(), reason }
            }),
        };
        Some(Record { number: self.number, text, is_terminated })
    }
}
