//! Reads the lines of a process, of any length and encoding.

use interlingua_convert::Input;
use interlingua_wirelog::{InvalidLineReason, LineBuffer};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// Size of the buffer for a pipe.
const READ_BUFFER_BYTES: usize = 64 << 10;
/// Maximum number of lines that are returned at once.
const MAX_LINES_PER_READ: usize = 128;

/// The pipe that lines come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Stdout,
    Stderr,
}

/// Reads the lines of a pipe as inputs.
#[derive(Debug)]
pub(super) struct Lines<R> {
    pipe: BufReader<R>,
    line: LineBuffer,
    max_line_bytes: usize,
    source: Source,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of at most `max_line_bytes`. Of a longer line, only the start is kept.
    pub(super) fn new(pipe: R, max_line_bytes: usize, source: Source) -> Self {
        let pipe = BufReader::with_capacity(READ_BUFFER_BYTES, pipe);
        Self { pipe, line: LineBuffer::new(max_line_bytes), max_line_bytes, source }
    }

    /// Waits for the next line that is not blank, and returns it with the complete lines after it that are buffered.
    /// None at the end of the pipe. Text after the last line break counts as a line. Cancellation loses nothing.
    pub(super) async fn next(&mut self) -> Vec<Input> {
        let mut lines = Vec::new();
        loop {
            if !lines.is_empty() && (lines.len() == MAX_LINES_PER_READ || !self.has_line()) {
                return lines;
            }
            // A read error counts as the end of the pipe.
            let chunk = self.pipe.fill_buf().await.unwrap_or_default();
            if chunk.is_empty() {
                lines.extend(self.take_line());
                return lines;
            }
            let complete = self.line.push(chunk);
            let used = complete.unwrap_or(chunk.len());
            self.pipe.consume(used);
            if complete.is_some() {
                lines.extend(self.take_line());
            }
        }
    }

    /// Reads and discards the rest.
    pub(super) async fn drain(mut self) {
        loop {
            let length = self.pipe.fill_buf().await.unwrap_or_default().len();
            if length == 0 {
                return;
            }
            self.pipe.consume(length);
        }
    }

    /// Whether the buffer holds a complete line.
    fn has_line(&self) -> bool {
        memchr::memchr(b'\n', self.pipe.buffer()).is_some()
    }

    /// Takes the collected line as an input; `None` if it is blank.
    fn take_line(&mut self) -> Option<Input> {
        if self.line.is_blank() {
            drop(self.line.take());
            return None;
        }
        let excess_length = self.line.excess_length();
        let bytes = self.line.take();
        Some(match (self.source, excess_length) {
            (Source::Stderr, _) => Input::Stderr(match String::from_utf8(bytes) {
                Ok(line) => line,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            }),
            (Source::Stdout, Some(length)) => {
                let error = InvalidLineReason::TooLong { length, limit: self.max_line_bytes }.to_string();
                Input::Unreadable { bytes, error }
            }
            (Source::Stdout, None) => match String::from_utf8(bytes) {
                Ok(line) => Input::Received(line),
                Err(error) => {
                    let reason = format!("the line is not UTF-8: {}", error.utf8_error());
                    Input::Unreadable { bytes: error.into_bytes(), error: reason }
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use interlingua_wirelog::{LONG_LINE_PREFIX, MAX_LINE_BYTES};
    use tokio::io::AsyncWriteExt as _;

    async fn read(bytes: &[u8], max_line_bytes: usize) -> Vec<Input> {
        let mut lines = Lines::new(bytes, max_line_bytes, Source::Stdout);
        let mut read = Vec::new();
        loop {
            let batch = lines.next().await;
            if batch.is_empty() {
                return read;
            }
            read.extend(batch);
        }
    }

    fn text(line: &str) -> Input {
        Input::Received(line.to_owned())
    }

    #[tokio::test]
    async fn lines_end_at_a_line_break_or_at_the_end_of_the_pipe() {
        assert_eq!(read(b"one\ntwo\r\n\n \nhalf", 100).await, [text("one"), text("two"), text("half")]);
    }

    #[tokio::test]
    async fn a_line_of_fifty_megabytes_is_read() {
        let long = "x".repeat(50 << 20);
        let read = read(format!("{long}\nnext\n").as_bytes(), MAX_LINE_BYTES).await;
        assert!(read == [Input::Received(long), text("next")], "{} lines", read.len());
    }

    #[tokio::test]
    async fn the_start_of_a_too_long_line_is_kept_and_the_next_line_is_read() {
        let long = "x".repeat(READ_BUFFER_BYTES * 2);
        let read = read(format!("{long}\nnext\n").as_bytes(), READ_BUFFER_BYTES).await;
        let [Input::Unreadable { bytes, error }, next] = read.as_slice() else { panic!("{} lines", read.len()) };
        assert_eq!((bytes.len(), next), (LONG_LINE_PREFIX, &text("next")));
        assert_eq!(error, "expected a line of at most 65536 bytes, found one of 131072 bytes");
    }

    #[tokio::test]
    async fn bytes_that_are_not_utf8_are_kept_unchanged() {
        let read = read(b"\xff\xfe\nnext\n", 100).await;
        let [Input::Unreadable { bytes, error }, next] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!((bytes.as_slice(), next), (&b"\xff\xfe"[..], &text("next")));
        assert!(error.contains("not UTF-8"), "{error}");
    }

    #[tokio::test]
    async fn buffered_lines_are_returned_together_without_waiting() {
        let (mut agent, pipe) = tokio::io::duplex(1 << 20);
        let mut lines = Lines::new(pipe, 1000, Source::Stderr);
        let text = |line: &str| Input::Stderr(line.to_owned());
        agent.write_all(b"one\n\ntwo\nthr").await.unwrap();
        assert_eq!(lines.next().await, [text("one"), text("two")]);
        agent.write_all(b"ee\n").await.unwrap();
        assert_eq!(lines.next().await, [text("three")]);
        agent.write_all("x\n".repeat(MAX_LINES_PER_READ + 1).as_bytes()).await.unwrap();
        assert_eq!(lines.next().await.len(), MAX_LINES_PER_READ);
        assert_eq!(lines.next().await, [text("x")]);
        drop(agent);
        assert_eq!(lines.next().await, []);
    }

    #[tokio::test]
    async fn half_a_line_survives_cancellation() {
        let (mut agent, pipe) = tokio::io::duplex(1 << 20);
        let mut lines = Lines::new(pipe, 1000, Source::Stdout);
        agent.write_all(b"half").await.unwrap();
        let cancelled = tokio::time::timeout(std::time::Duration::from_millis(10), lines.next()).await;
        assert!(cancelled.is_err());
        agent.write_all(b" a line\n").await.unwrap();
        assert_eq!(lines.next().await, [text("half a line")]);
    }
}
