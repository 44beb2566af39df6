//! Lines of bytes from any input, one at a time, however long or broken.

use std::io::{self, BufRead};

/// A buffer that grew beyond this for one long line gives the memory back before the next.
const KEEP: usize = 1 << 20;

#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    limit: usize,
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
    /// It is longer than the limit; the rest was skipped.
    Limit,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R, limit: usize) -> Self {
        Self { input, limit, number: 0, has_more: false }
    }

    /// The number of the line read last; the first is 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether the next line can be had without waiting for the input.
    pub(crate) fn has_more(&self) -> bool {
        self.has_more
    }

    pub(crate) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Reads the next line into `line`, without its line break. `None` at the end of the input.
    pub(crate) fn read(&mut self, line: &mut Vec<u8>) -> io::Result<Option<End>> {
        line.clear();
        if line.capacity() > KEEP {
            line.shrink_to(KEEP);
        }
        let mut end = End::Input;
        let mut any = false;
        loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            any = true;
            let line_break = memchr::memchr(b'\n', chunk);
            let part = &chunk[..line_break.unwrap_or(chunk.len())];
            let room = self.limit.saturating_sub(line.len());
            if part.len() > room {
                end = End::Limit;
            }
            line.extend_from_slice(&part[..part.len().min(room)]);
            let used = line_break.map_or(chunk.len(), |at| at + 1);
            self.has_more = memchr::memchr(b'\n', &chunk[used..]).is_some();
            self.input.consume(used);
            if line_break.is_some() {
                if end == End::Input {
                    end = End::Break;
                }
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        self.number += 1;
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if self.number == 1 && line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        Ok(Some(end))
    }
}
