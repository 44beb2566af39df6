//! Assembling lines from chunks of bytes, with a size limit.

use std::io::{self, BufRead};

/// Maximum size of a line, from a live agent or a file. A longer line is [unreadable](crate::Input::Unreadable).
pub const MAX_LINE_BYTES: usize = 64 << 20;
/// Number of bytes that are kept of a line that is too long.
pub const LONG_LINE_PREFIX: usize = 4 << 10;

/// Maximum capacity of a buffer that is reused. A buffer that grew beyond it for one long line is shrunk before the
/// next.
const MAX_REUSED_CAPACITY: usize = 1 << 20;

/// Assembles one line from chunks. Only the first bytes of a line that exceeds the limit are kept.
#[derive(Debug)]
pub struct LineBuffer {
    limit: usize,
    bytes: Vec<u8>,
    /// Size of the line, including bytes that were not kept.
    length: usize,
}

impl LineBuffer {
    /// An empty buffer for lines of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, bytes: Vec::new(), length: 0 }
    }

    /// Adds a chunk up to its first line break. Returns the number of bytes that were used if the line is complete;
    /// `None` if the chunk has no line break, so all of it was used and the line continues.
    pub fn push(&mut self, chunk: &[u8]) -> Option<usize> {
        let line_break = memchr::memchr(b'\n', chunk);
        let piece = &chunk[..line_break.unwrap_or(chunk.len())];
        self.length += piece.len();
        if self.length <= self.limit {
            self.bytes.extend_from_slice(piece);
        } else {
            let missing = self.limit.min(LONG_LINE_PREFIX).saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(&piece[..missing.min(piece.len())]);
            self.bytes.truncate(LONG_LINE_PREFIX);
            self.bytes.shrink_to(LONG_LINE_PREFIX);
        }
        line_break.map(|position| position + 1)
    }

    /// Whether nothing was added since the last complete line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Size of the line if it exceeds the limit.
    #[must_use]
    pub fn excess_length(&self) -> Option<usize> {
        (self.length > self.limit).then_some(self.length)
    }

    /// The line without a trailing carriage return.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.strip_suffix(b"\r").unwrap_or(&self.bytes)
    }

    /// Whether the line has only white space. A line that is too long is never blank.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.length <= self.limit && self.bytes.iter().all(u8::is_ascii_whitespace)
    }

    /// Takes the line without a trailing carriage return, and starts the next one.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        self.length = 0;
        let mut line = std::mem::take(&mut self.bytes);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        line
    }

    /// Starts the next line in the same memory.
    fn clear(&mut self) {
        self.length = 0;
        self.bytes.clear();
        self.bytes.shrink_to(MAX_REUSED_CAPACITY);
    }
}

/// Reads the lines of a file.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    number: u64,
    /// Whether the input's buffer contains another complete line.
    has_more: bool,
}

/// What ended a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// A line break.
    LineBreak,
    /// The end of the input, so the line may be incomplete.
    EndOfInput,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, number: 0, has_more: false }
    }

    /// Number of the last line that was read; the first is 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the next line can be read without waiting for the input.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Reads the next line into `line`, without its line break. `None` at the end of the input.
    pub(crate) fn read(&mut self, line: &mut LineBuffer) -> io::Result<Option<LineEnd>> {
        line.clear();
        let mut has_bytes = false;
        let end = loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break LineEnd::EndOfInput;
            }
            has_bytes = true;
            let complete = line.push(chunk);
            let used = complete.unwrap_or(chunk.len());
            self.has_more = memchr::memchr(b'\n', &chunk[used..]).is_some();
            self.input.consume(used);
            if complete.is_some() {
                break LineEnd::LineBreak;
            }
        };
        if !has_bytes {
            return Ok(None);
        }
        self.number += 1;
        if self.number == 1 && line.bytes.starts_with(b"\xEF\xBB\xBF") {
            line.bytes.drain(..3);
        }
        Ok(Some(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_assembled_from_chunks() {
        let mut line = LineBuffer::new(10);
        assert_eq!((line.push(b"ab"), line.push(b"c\r\nrest")), (None, Some(3)));
        assert_eq!((line.as_bytes(), line.excess_length()), (&b"abc"[..], None));
        assert_eq!((line.take(), line.is_empty()), (b"abc".to_vec(), true));
    }

    #[test]
    fn a_line_that_is_too_long_keeps_its_beginning_and_its_size() {
        let chunk = [b'x'; 3000];
        let mut line = LineBuffer::new(5000);
        for _ in 0..100 {
            assert_eq!(line.push(&chunk), None);
            assert!(line.bytes.capacity() <= 2 * 5000, "{}", line.bytes.capacity());
        }
        assert_eq!((line.excess_length(), line.take().len()), (Some(300_000), LONG_LINE_PREFIX));
        let mut line = LineBuffer::new(10);
        assert_eq!(line.push(b"0123456789abc\n"), Some(14));
        assert_eq!((line.excess_length(), line.as_bytes()), (Some(13), &b"0123456789"[..]));
    }
}
