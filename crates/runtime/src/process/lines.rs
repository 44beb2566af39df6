//! Lines out of bytes of any length and encoding.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// So much is read at once.
const AT_ONCE: usize = 64 << 10;
/// So many lines are given out at once.
const MOST_LINES: usize = 128;
/// So much of a line that is too long is shown.
const SHOWN: usize = 4 << 10;

/// What came before the end of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A line, without its end.
    Text(String),
    /// Something that is no line of text, for this reason.
    Garbled { bytes: Vec<u8>, reason: String },
}

/// Reads lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    from: BufReader<R>,
    longest: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads lines of at most so many bytes. Of longer ones only the beginning is kept.
    pub(super) fn new(from: R, longest: usize) -> Self {
        Self { from: BufReader::with_capacity(AT_ONCE, from), longest }
    }

    /// The next line that is not empty, and those behind it that are there already; none at the end. What stands behind
    /// the last line end counts as a line.
    pub(super) async fn next(&mut self) -> Vec<Line> {
        let mut lines = Vec::new();
        while lines.is_empty() {
            let Some((bytes, length)) = self.read().await else { break };
            lines.extend(self.line(bytes, length));
        }
        while lines.len() < MOST_LINES
            && let Some(bytes) = self.at_hand()
        {
            let length = bytes.len();
            lines.extend(self.line(bytes, length));
        }
        lines
    }

    /// The bytes of the next line, if all of it is there already.
    fn at_hand(&mut self) -> Option<Vec<u8>> {
        let found = self.from.buffer();
        let end = memchr::memchr(b'\n', found)?;
        let line = found[..end].to_vec();
        self.from.consume(end + 1);
        Some(line)
    }

    /// What so many bytes are, of which only the first were kept if they are too many; nothing if they are blank.
    fn line(&self, mut line: Vec<u8>, length: usize) -> Option<Line> {
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if length > self.longest {
            line.truncate(SHOWN);
            let reason =
                format!("a line of {length} bytes, of at most {} expected: only its beginning is kept", self.longest);
            return Some(Line::Garbled { bytes: line, reason });
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        Some(match String::from_utf8(line) {
            Ok(line) => Line::Text(line),
            Err(error) => {
                let reason = format!("a line that is not UTF-8: {}", error.utf8_error());
                Line::Garbled { bytes: error.into_bytes(), reason }
            }
        })
    }

    /// The bytes up to the next line end, and how many there were; fewer are kept of a line that is too long. `None`
    /// when nothing is left.
    async fn read(&mut self) -> Option<(Vec<u8>, usize)> {
        let mut line = Vec::new();
        let mut length = 0;
        loop {
            // A pipe that cannot be read is a pipe that has ended.
            let found = self.from.fill_buf().await.unwrap_or_default();
            if found.is_empty() {
                return (length > 0).then_some((line, length));
            }
            let end = memchr::memchr(b'\n', found);
            let piece = &found[..end.unwrap_or(found.len())];
            length += piece.len();
            if length <= self.longest {
                line.extend_from_slice(piece);
            } else {
                line.truncate(SHOWN);
                line.shrink_to_fit();
            }
            let used = end.map_or(found.len(), |end| end + 1);
            self.from.consume(used);
            if end.is_some() {
                return Some((line, length));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use tokio::io::AsyncWriteExt as _;

    async fn read(bytes: &[u8], longest: usize) -> Vec<Line> {
        let mut lines = Lines::new(bytes, longest);
        let mut read = Vec::new();
        loop {
            let batch = lines.next().await;
            if batch.is_empty() {
                return read;
            }
            read.extend(batch);
        }
    }

    fn text(line: &str) -> Line {
        Line::Text(line.to_owned())
    }

    #[tokio::test]
    async fn lines_end_with_the_line_or_with_the_file() {
        assert_eq!(read(b"one\ntwo\r\n\n \nhalf", 100).await, [text("one"), text("two"), text("half")]);
    }

    #[tokio::test]
    async fn a_line_of_fifty_megabytes_is_a_line() {
        let long = "x".repeat(50 << 20);
        let read = read(format!("{long}\nnext\n").as_bytes(), super::super::LONGEST_LINE).await;
        assert!(read == [Line::Text(long), text("next")], "{} lines", read.len());
    }

    #[tokio::test]
    async fn of_a_line_that_is_too_long_the_beginning_is_kept_and_the_next_is_read() {
        let long = "x".repeat(AT_ONCE * 2);
        let read = read(format!("{long}\nnext\n").as_bytes(), AT_ONCE).await;
        let [Line::Garbled { bytes, reason }, next] = read.as_slice() else { panic!("{} lines", read.len()) };
        assert_eq!((bytes.len(), next), (SHOWN, &text("next")));
        assert!(reason.contains("131072 bytes"), "{reason}");
    }

    #[tokio::test]
    async fn bytes_that_are_no_text_are_kept_as_they_are() {
        let read = read(b"\xff\xfe\nnext\n", 100).await;
        let [Line::Garbled { bytes, reason }, next] = read.as_slice() else { panic!("{read:?}") };
        assert_eq!((bytes.as_slice(), next), (&b"\xff\xfe"[..], &text("next")));
        assert!(reason.contains("not UTF-8"), "{reason}");
    }

    #[tokio::test]
    async fn lines_that_are_there_come_together_and_none_is_waited_for() {
        let (mut agent, pipe) = tokio::io::duplex(1 << 20);
        let mut lines = Lines::new(pipe, 1000);
        agent.write_all(b"one\n\ntwo\nthr").await.unwrap();
        assert_eq!(lines.next().await, [text("one"), text("two")]);
        agent.write_all(b"ee\n").await.unwrap();
        assert_eq!(lines.next().await, [text("three")]);
        agent.write_all("x\n".repeat(MOST_LINES + 1).as_bytes()).await.unwrap();
        assert_eq!(lines.next().await.len(), MOST_LINES);
        assert_eq!(lines.next().await, [text("x")]);
        drop(agent);
        assert_eq!(lines.next().await, []);
    }
}
