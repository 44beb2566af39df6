//! Incremental decoder for server-sent events.
//!
//! [`Decoder::push`] takes bytes as they arrive, [`Decoder::next_frame`] returns complete frames. The result does not
//! depend on how the bytes are split into chunks. The decoder does no I/O.
//!
//! It follows the [specification](https://html.spec.whatwg.org/multipage/server-sent-events.html) (LF, CR and CRLF
//! line ends, a byte order mark, multi-line data) and differs from it in three ways:
//!
//! * Data is bytes. The caller decides whether it must be UTF-8.
//! * Comments and unknown lines are returned as frames, because a caller may need them.
//! * A frame has a maximum size. A longer frame is reported as [`FrameTooLong`] and skipped.
//!
//! ```
//! use interlingua_sse::{Decoder, Frame};
//!
//! let mut decoder = Decoder::new(1024);
//! decoder.push(b"id: 7\ndata: {\"a\":");
//! assert!(decoder.next_frame().is_none());
//! decoder.push(b"1}\n\n");
//! let Some(Ok(Frame::Event(event))) = decoder.next_frame() else { panic!("expected an event") };
//! assert_eq!((event.id.as_deref(), event.data.as_slice()), (Some("7"), &b"{\"a\":1}"[..]));
//! ```

use std::ops::Range;
use std::time::Duration;

use memchr::{memchr, memchr2};

/// Optional at the start of a stream; not part of the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Maximum size of a frame for [`Decoder::default`]: 256 MiB.
pub const DEFAULT_MAX_FRAME_SIZE: usize = 256 << 20;

/// Interval at which Interlingua's server sends [`HEARTBEAT`] on an idle stream.
///
/// Clients derive from it after which silence they treat the connection as dead.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);

/// The comment that keeps an idle connection alive.
pub const HEARTBEAT: &[u8] = b": keep-alive\n\n";

/// One frame of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// An event: lines of fields, followed by an empty line.
    Event(Event),
    /// An `id` field without data: the position of the stream, from which a client that reconnects continues.
    Id(String),
    /// A comment line, without the colon. Servers send comments to keep a connection alive.
    Comment(Vec<u8>),
    /// A line that is not a field of the format. The specification ignores such lines.
    UnknownLine(Vec<u8>),
}

/// An event that has data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The `id` field; `None` if the event has none.
    pub id: Option<String>,
    /// The `event` field; `None` if the event has none, which means `message`.
    pub event_type: Option<String>,
    /// The `data` fields, joined by line feeds.
    pub data: Vec<u8>,
}

/// Error: a frame is longer than the limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a server-sent event has {length} bytes, but at most {limit} are allowed")]
#[non_exhaustive]
pub struct FrameTooLong {
    /// The limit.
    pub limit: usize,
    /// Size of the frame up to the end of the line that exceeds the limit.
    pub length: usize,
    /// The line that exceeds the limit, truncated at the limit.
    pub line: Vec<u8>,
}

/// Decodes a stream of server-sent events.
#[derive(Debug)]
pub struct Decoder {
    max_frame_size: usize,
    buffer: Vec<u8>,
    /// Offset of the first byte in `buffer` that is not consumed yet.
    start: usize,
    /// Offset up to which `buffer` has no line end.
    searched: usize,
    /// Whether nothing was decoded yet, so a byte order mark is still possible.
    at_stream_start: bool,
    /// Whether the last line ended with CR, so a following LF belongs to it.
    after_cr: bool,
    event: PartialEvent,
    skip: Skip,
}

/// The fields of the event that is being received.
#[derive(Debug, Default)]
struct PartialEvent {
    id: Option<String>,
    event_type: Option<String>,
    data: Option<Vec<u8>>,
}

/// What to skip of a frame that is too long.
#[derive(Debug)]
enum Skip {
    Nothing,
    /// The rest of the current line; then report the error and skip the rest of the frame.
    Line(FrameTooLong),
    /// The rest of the frame. `in_line` if the start of the current line was dropped already.
    Frame {
        in_line: bool,
    },
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_FRAME_SIZE)
    }
}

impl Decoder {
    /// A decoder for frames of at most `max_frame_size` bytes.
    #[must_use]
    pub fn new(max_frame_size: usize) -> Self {
        Self {
            max_frame_size,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            at_stream_start: true,
            after_cr: false,
            event: PartialEvent::default(),
            skip: Skip::Nothing,
        }
    }

    /// Adds received bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        // Consumed bytes are removed here, once per chunk instead of once per frame.
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame; `None` until more bytes are pushed.
    ///
    /// # Errors
    ///
    /// If a frame is longer than the limit. The decoder skips the rest of that frame and stays usable.
    pub fn next_frame(&mut self) -> Option<Result<Frame, FrameTooLong>> {
        loop {
            let Some(line) = self.next_line() else {
                self.check_partial_line();
                return None;
            };
            match std::mem::replace(&mut self.skip, Skip::Nothing) {
                Skip::Nothing => {}
                Skip::Line(mut error) => {
                    self.skip = Skip::Frame { in_line: false };
                    error.length += line.len();
                    return Some(Err(error));
                }
                Skip::Frame { in_line } => {
                    if in_line || !line.is_empty() {
                        self.skip = Skip::Frame { in_line: false };
                    }
                    continue;
                }
            }
            if self.is_too_long(line.len()) {
                self.skip = Skip::Frame { in_line: false };
                let line = self.buffer[line].to_vec();
                return Some(Err(self.frame_too_long(line)));
            }
            if let Some(frame) = self.event.decode_line(&self.buffer[line]) {
                return Some(Ok(frame));
            }
        }
    }

    /// Ends the stream. Returns the incomplete event at its end; `None` if the stream ended after a complete frame.
    ///
    /// The specification discards an incomplete event. The decoder can be used for another stream afterwards.
    pub fn finish(&mut self) -> Option<Event> {
        let mut ended = std::mem::replace(self, Self::new(self.max_frame_size));
        if matches!(ended.skip, Skip::Nothing) && ended.start < ended.buffer.len() {
            // A comment or unknown line is not part of the event.
            let _ = ended.event.decode_line(&ended.buffer[ended.start..]);
        }
        ended.event.take()
    }

    /// Consumes the next line. Returns its range in the buffer without the line end.
    fn next_line(&mut self) -> Option<Range<usize>> {
        if self.at_stream_start {
            let rest = &self.buffer[self.start..];
            if rest.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(rest) {
                return None;
            }
            if rest.starts_with(BYTE_ORDER_MARK) {
                self.consume_to(self.start + BYTE_ORDER_MARK.len());
            }
            self.at_stream_start = false;
        }
        if self.after_cr {
            let next = *self.buffer.get(self.start)?;
            self.after_cr = false;
            if next == b'\n' {
                self.consume_to(self.start + 1);
            }
        }
        let Some(length) = memchr2(b'\n', b'\r', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let line = self.start..self.searched + length;
        self.after_cr = self.buffer[line.end] == b'\r';
        self.consume_to(line.end + 1);
        Some(line)
    }

    fn consume_to(&mut self, offset: usize) {
        self.start = offset;
        self.searched = offset;
    }

    /// Drops the incomplete line if it is skipped or already too long, so that it is not buffered any further.
    fn check_partial_line(&mut self) {
        let length = self.buffer.len() - self.start;
        let is_too_long = self.is_too_long(length);
        match &mut self.skip {
            Skip::Nothing if is_too_long => {
                let line = self.take_partial_line();
                self.skip = Skip::Line(self.frame_too_long(line));
            }
            Skip::Line(error) => {
                error.length += length;
                self.take_partial_line();
            }
            Skip::Frame { in_line } if length > 0 => {
                *in_line = true;
                self.take_partial_line();
            }
            Skip::Nothing | Skip::Frame { .. } => {}
        }
    }

    fn take_partial_line(&mut self) -> Vec<u8> {
        let mut line = std::mem::take(&mut self.buffer);
        line.drain(..self.start);
        self.consume_to(0);
        line
    }

    fn is_too_long(&self, line_length: usize) -> bool {
        self.event.data_size() + line_length > self.max_frame_size
    }

    /// Drops the current event. The line is truncated at the limit, so that the error does not depend on how the line
    /// was split into chunks.
    fn frame_too_long(&mut self, mut line: Vec<u8>) -> FrameTooLong {
        let length = self.event.data_size() + line.len();
        line.truncate(self.max_frame_size - self.event.data_size());
        self.event = PartialEvent::default();
        FrameTooLong { limit: self.max_frame_size, length, line }
    }
}

impl PartialEvent {
    fn data_size(&self) -> usize {
        self.data.as_ref().map_or(0, Vec::len)
    }

    /// Adds a line. Returns a frame if the line is or completes one.
    fn decode_line(&mut self, line: &[u8]) -> Option<Frame> {
        if line.is_empty() {
            return self.take_frame();
        }
        let (field, value) = match memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"" => return Some(Frame::Comment(value.to_vec())),
            b"data" => match &mut self.data {
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
                None => self.data = Some(value.to_vec()),
            },
            b"event" => self.event_type = Some(text(value)),
            // The specification ignores an id with NUL, because it could not be sent back in a header.
            b"id" if !value.contains(&0) => self.id = Some(text(value)),
            // The client decides how long it waits before it reconnects.
            b"id" | b"retry" => {}
            _ => return Some(Frame::UnknownLine(line.to_vec())),
        }
        None
    }

    /// Completes the frame; `None` if it has neither data nor an id.
    fn take_frame(&mut self) -> Option<Frame> {
        if self.data.is_none() {
            return std::mem::take(self).id.map(Frame::Id);
        }
        self.take().map(Frame::Event)
    }

    /// Completes the event; `None` if it has no data.
    fn take(&mut self) -> Option<Event> {
        let Self { id, event_type, data } = std::mem::take(self);
        data.map(|data| Event { id, event_type, data })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
