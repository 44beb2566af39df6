//! The event stream: payloads, one after the other.

use interlingua_convert::Input;
use interlingua_wirelog::{LineBuffer, MAX_LINE_BYTES, Problem};

/// The events of a directory, as they come.
pub(super) struct Events {
    response: reqwest::Response,
    lines: Lines,
}

impl Events {
    pub(super) fn new(response: reqwest::Response) -> Self {
        Self { response, lines: Lines::default() }
    }

    /// The next event; `None` when the stream has ended. Can be cancelled without losing anything.
    pub(super) async fn next(&mut self) -> Option<Input> {
        loop {
            if let Some(event) = self.at_hand() {
                return Some(event);
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.lines.add(&chunk),
                Ok(None) | Err(_) => return None,
            }
        }
    }

    /// The next event, if it came together with the last one.
    pub(super) fn at_hand(&mut self) -> Option<Input> {
        self.lines.next_event()
    }
}

/// Lines, from chunks of any size.
struct Lines {
    chunk: Vec<u8>,
    /// How much of the chunk was used.
    used: usize,
    line: LineBuffer,
}

impl Default for Lines {
    fn default() -> Self {
        Self { chunk: Vec::new(), used: 0, line: LineBuffer::new(MAX_LINE_BYTES) }
    }
}

impl Lines {
    /// Adds a chunk, when the last one is used up.
    fn add(&mut self, chunk: &[u8]) {
        self.used = 0;
        self.chunk.clear();
        self.chunk.extend_from_slice(chunk);
    }

    /// The next event whose line is whole.
    fn next_event(&mut self) -> Option<Input> {
        loop {
            let rest = &self.chunk[self.used..];
            let Some(used) = self.line.push(rest) else {
                self.used = self.chunk.len();
                return None;
            };
            self.used += used;
            let excess_length = self.line.excess_length();
            let line = self.line.take();
            // OpenCode says everything in one line, and nothing but data. The others are comments, or empty.
            if !line.is_empty() && !line.starts_with(b":") {
                return Some(event(line, excess_length));
            }
        }
    }
}

/// What a line carries.
fn event(line: Vec<u8>, excess_length: Option<usize>) -> Input {
    if let Some(length) = excess_length {
        let error = Problem::TooLong { length, limit: MAX_LINE_BYTES }.to_string();
        return Input::Unreadable { bytes: line, error };
    }
    match String::from_utf8(line) {
        Err(error) => {
            let reason = error.utf8_error().to_string();
            Input::Unreadable { bytes: error.into_bytes(), error: reason }
        }
        Ok(mut line) => {
            // A line without data is no event, whatever it is.
            if let Some(data) = line.strip_prefix("data:") {
                let start = line.len() - data.strip_prefix(' ').unwrap_or(data).len();
                line.drain(..start);
            }
            Input::Received(line)
        }
    }
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
            while let Some(event) = lines.next_event() {
                events.push(event);
            }
        }
        assert_eq!(events[..2], [Input::Received(r#"{"a":1}"#.to_owned()), Input::Received("x".to_owned())]);
        assert!(matches!(&events[2], Input::Unreadable { bytes, .. } if bytes == b"data: \xff"));
    }
}
