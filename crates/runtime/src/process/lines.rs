//! Lines out of bytes of any length and encoding.

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};

/// So much is read at once.
const AT_ONCE: usize = 64 << 10;
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

    /// The next line that is not empty; `None` at the end. What stands behind the last line end counts as a line.
    pub(super) async fn next(&mut self) -> Option<Line> {
        loop {
            let (mut line, length) = self.read().await?;
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if length > self.longest {
                line.truncate(SHOWN);
                let reason = format!(
                    "a line of {length} bytes, of at most {} expected: only its beginning is kept",
                    self.longest
                );
                return Some(Line::Garbled { bytes: line, reason });
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            return Some(match String::from_utf8(line) {
                Ok(line) => Line::Text(line),
                Err(error) => {
                    let reason = format!("a line that is not UTF-8: {}", error.utf8_error());
                    Line::Garbled { bytes: error.into_bytes(), reason }
                }
            });
        }
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

    async fn read(bytes: &[u8], longest: usize) -> Vec<Line> {
        let mut lines = Lines::new(bytes, longest);
        let mut read = Vec::new();
        while let Some(line) = lines.next().await {
            read.push(line);
        }
        read
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
}
