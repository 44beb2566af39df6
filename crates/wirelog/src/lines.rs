//! Lines out of bytes that come in chunks, however long or broken.

use std::io::{self, BufRead};

/// The longest line that is read, from a live agent or from a file. A longer one is
/// [unreadable](crate::Input::Unreadable).
pub const MAX_LINE_BYTES: usize = 64 << 20;
/// How much is kept of a line that is too long.
pub const LONG_LINE_PREFIX: usize = 4 << 10;

/// A buffer that grew beyond this for one long line gives the memory back before the next.
const MAX_REUSED_CAPACITY: usize = 1 << 20;

/// Assembles one line from chunks. Of a line that is longer than the limit, only the first bytes are kept.
#[derive(Debug)]
pub struct LineBuffer {
    limit: usize,
    bytes: Vec<u8>,
    /// How many bytes the line has, kept or not.
    length: usize,
}

impl LineBuffer {
    /// An empty buffer for lines of at most `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { limit, bytes: Vec::new(), length: 0 }
    }

    /// Adds a chunk up to its first line break. `Some` if there is one: how many bytes of the chunk were used, and the
    /// line is complete. Otherwise all of the chunk belongs to the line, which goes on.
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
        line_break.map(|at| at + 1)
    }

    /// Whether nothing was added since the last line.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The size of the line, if that is more than the limit.
    #[must_use]
    pub fn excess_length(&self) -> Option<usize> {
        (self.length > self.limit).then_some(self.length)
    }

    /// The line, without a carriage return at its end.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.strip_suffix(b"\r").unwrap_or(&self.bytes)
    }

    /// Whether the line has nothing but white space. One that is too long is never blank.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        self.length <= self.limit && self.bytes.iter().all(u8::is_ascii_whitespace)
    }

    /// Takes the line, without a carriage return at its end, and begins the next.
    #[must_use]
    pub fn take(&mut self) -> Vec<u8> {
        self.length = 0;
        let mut line = std::mem::take(&mut self.bytes);
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        line
    }

    /// Begins the next line in the same memory.
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
    /// Whether another whole line has been read from the input already.
    has_more: bool,
}

/// How a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With a line break.
    Break,
    /// With the input, so it may be half a line.
    Input,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, number: 0, has_more: false }
    }

    /// The number of the line read last; the first is 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the next line can be had without waiting for the input.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Reads the next line into `line`, without its line break. `None` at the end of the input.
    pub(crate) fn read(&mut self, line: &mut LineBuffer) -> io::Result<Option<End>> {
        line.clear();
        let mut any = false;
        let end = loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break End::Input;
            }
            any = true;
            let complete = line.push(chunk);
            let used = complete.unwrap_or(chunk.len());
            self.has_more = memchr::memchr(b'\n', &chunk[used..]).is_some();
            self.input.consume(used);
            if complete.is_some() {
                break End::Break;
            }
        };
        if !any {
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
    fn of_a_line_that_is_too_long_the_beginning_and_the_size_are_kept() {
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
