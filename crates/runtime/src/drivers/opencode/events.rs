//! The event stream: payloads, one after the other.

use memchr::memchr;

/// The longest event. What is longer is not read.
const LONGEST: usize = 256 << 20;

/// The events of a directory, as they come.
pub(super) struct Events {
    response: reqwest::Response,
    lines: Lines,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Text(String),
    Garbled { bytes: Vec<u8>, reason: String },
}

impl Events {
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self { response, lines: Lines::default() }
    }

    /// The next event; `None` when the stream has ended. Can be cancelled without losing anything.
    pub(super) async fn next(&mut self) -> Option<Payload> {
        loop {
            if let Some(payload) = self.at_hand() {
                return Some(payload);
            }
            if let Some(bytes) = self.lines.too_long() {
                return Some(Payload::Garbled { bytes, reason: format!("an event of more than {LONGEST} bytes") });
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.lines.add(&chunk),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next event, if it came together with the last one.
    pub(super) fn at_hand(&mut self) -> Option<Payload> {
        while let Some(line) = self.lines.next() {
            // OpenCode says everything in one line, and nothing but data.
            if let Some(payload) = payload(line) {
                return Some(payload);
            }
        }
        None
    }
}

/// Lines, from pieces of any size.
#[derive(Default)]
struct Lines {
    buffer: Vec<u8>,
    /// Where the next line begins: what is before it was given out. It is let go of when more comes, so that a line does
    /// not cost what is behind it.
    begin: usize,
    /// Up to where there is no end of that line.
    searched: usize,
}

impl Lines {
    fn add(&mut self, piece: &[u8]) {
        self.buffer.drain(..self.begin);
        self.searched -= self.begin;
        self.begin = 0;
        self.buffer.extend_from_slice(piece);
    }

    /// The next line, if it is whole, without its end.
    fn next(&mut self) -> Option<&[u8]> {
        let Some(found) = memchr(b'\n', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched + found;
        let line = &self.buffer[self.begin..end];
        self.begin = end + 1;
        self.searched = self.begin;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }

    /// What there is of a line that is too long, which is then forgotten.
    fn too_long(&mut self) -> Option<Vec<u8>> {
        (self.buffer.len() - self.begin > LONGEST).then(|| {
            let Self { mut buffer, begin, .. } = std::mem::take(self);
            buffer.drain(..begin);
            buffer
        })
    }
}

/// What a line carries; `None` for a comment, or the empty line between events.
fn payload(line: &[u8]) -> Option<Payload> {
    if line.is_empty() || line.starts_with(b":") {
        return None;
    }
    let line = match std::str::from_utf8(line) {
        Ok(line) => line,
        Err(error) => return Some(Payload::Garbled { bytes: line.to_owned(), reason: error.to_string() }),
    };
    let text = match line.strip_prefix("data:") {
        Some(data) => data.strip_prefix(' ').unwrap_or(data),
        // Whatever it is, it is no event.
        None => line,
    };
    Some(Payload::Text(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_line_of_data_whatever_the_pieces_it_came_in() {
        let mut lines = Lines::default();
        let mut events = Vec::new();
        for piece in [&b"data: {\"a\""[..], b":1}\r\n", b"\n: hello\nda", b"ta:x\n\ndata: \xff\n"] {
            lines.add(piece);
            while let Some(line) = lines.next() {
                events.extend(payload(line));
            }
        }
        assert_eq!(events[..2], [Payload::Text(r#"{"a":1}"#.to_owned()), Payload::Text("x".to_owned())]);
        assert!(matches!(&events[2], Payload::Garbled { bytes, .. } if bytes == b"data: \xff"));
    }
}
