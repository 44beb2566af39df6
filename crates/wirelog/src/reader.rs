//! Reading a wirelog or plain log as a stream.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead};

use crate::lines::{LineBuffer, LineEnd, Lines};
use crate::{Header, Input, MAX_LINE_BYTES, Record};

/// One line of a log.
#[derive(Debug, PartialEq, Eq)]
pub enum Entry {
    /// An input with its time.
    Record(Record),
    /// A line that cannot be read. Reading continues with the next line.
    Invalid(InvalidLine),
}

/// A line that cannot be read. Displays as `line 17: expected …`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidLine {
    /// Line number in the file; the first is 1.
    pub number: u64,
    /// Bytes of the line; the first [`LONG_LINE_PREFIX`](crate::LONG_LINE_PREFIX) if it is too long.
    pub bytes: Vec<u8>,
    /// Why it cannot be read.
    pub reason: InvalidLineReason,
}

impl From<InvalidLine> for Input {
    fn from(line: InvalidLine) -> Self {
        Self::Unreadable { error: line.to_string(), bytes: line.bytes }
    }
}

impl fmt::Display for InvalidLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.number, self.reason)
    }
}

/// Why a line cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidLineReason {
    /// It is not a record. The text says what was expected.
    NotARecord(String),
    /// The input ended in the middle of the line.
    Truncated,
    /// It is not UTF-8.
    NotUtf8,
    /// It is longer than the limit.
    TooLong {
        /// Size of the line in bytes.
        length: usize,
        /// Maximum size of a line in bytes.
        limit: usize,
    },
}

impl fmt::Display for InvalidLineReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecord(reason) => write!(f, "expected a wirelog record: {reason}"),
            Self::Truncated => {
                f.write_str("expected a wirelog record, found an incomplete line at the end of the input")
            }
            Self::NotUtf8 => f.write_str("expected UTF-8, found other bytes"),
            Self::TooLong { length, limit } => {
                write!(f, "expected a line of at most {limit} bytes, found one of {length} bytes")
            }
        }
    }
}

/// Format of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// Each line is a record.
    Wirelog,
    /// Each line is a line of an agent's output.
    Plain,
}

/// Reads a wirelog or a plain log. Holds one line at a time.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    limit: usize,
    header: Option<Header>,
    format: Format,
    /// Lines that were read ahead.
    read_ahead: VecDeque<NumberedLine>,
    line: LineBuffer,
}

/// A line that was read ahead.
#[derive(Debug)]
struct NumberedLine {
    number: u64,
    end: LineEnd,
    line: LineBuffer,
}

impl<R: BufRead> Reader<R> {
    /// Opens a log and reads its header, if it has one.
    ///
    /// # Errors
    ///
    /// If the input cannot be read.
    pub fn new(input: R) -> io::Result<Self> {
        Self::with_max_line_bytes(input, MAX_LINE_BYTES)
    }

    /// Like [`new`](Self::new), with a limit other than [`MAX_LINE_BYTES`] for the size of a line.
    ///
    /// # Errors
    ///
    /// If the input cannot be read.
    pub fn with_max_line_bytes(input: R, limit: usize) -> io::Result<Self> {
        let mut reader = Self {
            lines: Lines::new(input),
            limit,
            header: None,
            format: Format::Plain,
            read_ahead: VecDeque::new(),
            line: LineBuffer::new(limit),
        };
        reader.detect_format()?;
        Ok(reader)
    }

    /// The header; `None` in a plain log.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Whether the log is plain: lines of an agent's output, without times.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.format == Format::Plain
    }

    /// Returns the payloads that the agent sent in the next `lines` lines, without consuming them. This is how the
    /// agent of a plain log is detected.
    ///
    /// # Errors
    ///
    /// If the input cannot be read.
    pub fn peek(&mut self, lines: usize) -> io::Result<impl Iterator<Item = String>> {
        while self.read_ahead.len() < lines
            && let Some(line) = self.read_line_ahead()?
        {
            self.read_ahead.push_back(line);
        }
        let format = self.format;
        Ok(self.read_ahead.iter().take(lines).filter_map(move |NumberedLine { line, .. }| match format {
            Format::Plain => std::str::from_utf8(line.as_bytes()).ok().map(str::to_owned),
            Format::Wirelog => match Record::parse(line.as_bytes()).ok()?.input {
                Input::Received(line) => Some(line),
                _ => None,
            },
        }))
    }

    /// Whether the next entry can be read without waiting for the input.
    #[must_use]
    pub fn has_more(&self) -> bool {
        !self.read_ahead.is_empty() || self.lines.has_more()
    }

    /// Reads the next entry; `None` at the end. Skips blank lines.
    ///
    /// # Errors
    ///
    /// If the input cannot be read.
    // Not an `Iterator`: an I/O error ends the reading, so callers use `?` before they look at the entry.
    #[allow(clippy::should_implement_trait, reason = "reading can fail as a whole")]
    pub fn next(&mut self) -> io::Result<Option<Entry>> {
        let (number, end) = loop {
            let (number, end) = if let Some(NumberedLine { number, end, line }) = self.read_ahead.pop_front() {
                self.line = line;
                (number, end)
            } else {
                match self.lines.read(&mut self.line)? {
                    Some(end) => (self.lines.number(), end),
                    None => return Ok(None),
                }
            };
            if !self.line.is_blank() {
                break (number, end);
            }
        };
        let parsed = match (self.line.excess_length(), self.format) {
            (Some(length), _) => Err(InvalidLineReason::TooLong { length, limit: self.limit }),
            (None, Format::Plain) => match String::from_utf8(self.line.take()) {
                Ok(line) => return Ok(Some(Entry::Record(Record { t: None, input: Input::Received(line) }))),
                Err(error) => {
                    let line = InvalidLine { number, bytes: error.into_bytes(), reason: InvalidLineReason::NotUtf8 };
                    return Ok(Some(Entry::Invalid(line)));
                }
            },
            (None, Format::Wirelog) => Record::parse(self.line.as_bytes()).map_err(|reason| match end {
                _ if std::str::from_utf8(self.line.as_bytes()).is_err() => InvalidLineReason::NotUtf8,
                LineEnd::EndOfInput => InvalidLineReason::Truncated,
                LineEnd::LineBreak => InvalidLineReason::NotARecord(reason),
            }),
        };
        Ok(Some(match parsed {
            Ok(record) => Entry::Record(record),
            Err(reason) => Entry::Invalid(InvalidLine { number, bytes: self.line.take(), reason }),
        }))
    }

    /// Detects the format from the first line that is not blank, and parses the header.
    fn detect_format(&mut self) -> io::Result<()> {
        while let Some(first) = self.read_line_ahead()? {
            if first.line.is_blank() {
                continue;
            }
            let line = first.line.as_bytes();
            self.header = Header::parse(line);
            // A truncated or invalid header, or records without a header, are still a wirelog.
            if self.header.is_some() || line.starts_with(b"{\"wirelog\"") || Record::parse(line).is_ok() {
                self.format = Format::Wirelog;
            }
            if self.header.is_none() {
                self.read_ahead.push_back(first);
            }
            break;
        }
        Ok(())
    }

    fn read_line_ahead(&mut self) -> io::Result<Option<NumberedLine>> {
        let mut line = LineBuffer::new(self.limit);
        let end = self.lines.read(&mut line)?;
        Ok(end.map(|end| NumberedLine { number: self.lines.number(), end, line }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(log: &[u8]) -> Vec<String> {
        let mut reader = Reader::with_max_line_bytes(log, 200).unwrap();
        let mut entries = Vec::new();
        while let Some(entry) = reader.next().unwrap() {
            entries.push(match entry {
                Entry::Record(Record { t, input }) => format!("{t:?} {input:?}"),
                Entry::Invalid(line) => line.to_string(),
            });
        }
        entries
    }

    #[test]
    fn every_kind_of_record_is_read() {
        let log = br#"{"wirelog":1,"agent":"opencode","argv":["opencode","serve"],"host":"x"}
{"t": 445, "dir": "send", "line": "{\"method\": 1}"}
{"dir":"recv","t":608.7,"line":"plain","new":true}
{"t":610,"dir":"stderr","line":"oops"}
{"t":700,"dir":"send","call":1,"method":"POST","path":"/session","body":{"a" : 1.0}}
{"t":731,"dir":"reply","call":1,"status":204,"body":null}

{"t":990,"dir":"close"}
{"t":999,"dir":"exit","code":-9}"#;
        let reader = Reader::new(&log[..]).unwrap();
        let header = reader.header().unwrap();
        assert_eq!(header.argv, ["opencode", "serve"]);
        assert_eq!(header.other["host"], "x");
        assert!(!reader.is_plain());
        assert_eq!(
            entries(log),
            [
                r#"Some(445) Sent("{\"method\": 1}")"#,
                r#"Some(608) Received("plain")"#,
                r#"Some(610) Stderr("oops")"#,
                r#"Some(700) Request { call: 1, method: "POST", path: "/session", body: Some("{\"a\" : 1.0}") }"#,
                "Some(731) Reply { call: 1, status: 204, body: None }",
                "Some(990) Close",
                "Some(999) Exit { code: Some(-9) }",
            ]
        );
    }

    #[test]
    fn each_line_of_a_plain_log_is_a_received_line() {
        let log = b"\xEF\xBB\xBF{\"type\":\"init\"}\r\n\nnot json\n{\"half";
        assert!(Reader::new(&log[..]).unwrap().is_plain());
        assert_eq!(
            entries(log),
            [r#"None Received("{\"type\":\"init\"}")"#, r#"None Received("not json")"#, r#"None Received("{\"half")"#,]
        );
        assert_eq!(entries(b"ok\n\xFF\xFE\nok\n")[1], "line 2: expected UTF-8, found other bytes");
    }

    #[test]
    fn invalid_lines_are_reported_with_number_and_reason_and_the_rest_is_read() {
        let too_long = format!("{{\"t\":1,\"dir\":\"recv\",\"line\":\"{}\"}}", "x".repeat(300));
        let mut log = b"{\"wirelog\":1}\nnot json\n{\"t\":1,\"dir\":\"sideways\"}\n{\"dir\":\"recv\"}\n\xFF\n".to_vec();
        log.extend_from_slice(too_long.as_bytes());
        log.extend_from_slice(b"\n{\"t\":1,\"dir\":\"close\"}\n{\"t\":2,\"dir\":\"re");
        assert_eq!(
            entries(&log),
            [
                "line 2: expected a wirelog record: expected ident at line 1 column 2",
                "line 3: expected a wirelog record: expected \"dir\" to be send, recv, stderr, reply, close or exit, found \"sideways\"",
                "line 4: expected a wirelog record: expected a \"line\" in a recv record",
                "line 5: expected UTF-8, found other bytes",
                "line 6: expected a line of at most 200 bytes, found one of 330 bytes",
                "Some(1) Close",
                "line 8: expected a wirelog record, found an incomplete line at the end of the input",
            ]
        );
    }

    #[test]
    fn an_invalid_header_does_not_make_the_log_plain() {
        assert!(!Reader::new(&b"{\"wirelog\": 1, \"agen\n{\"t\":1,\"dir\":\"close\"}\n"[..]).unwrap().is_plain());
        assert!(!Reader::new(&b"{\"t\":1,\"dir\":\"close\"}\n"[..]).unwrap().is_plain());
        let damaged = Reader::new(&b"{\"wirelog\":1,\"agent\":7,\"argv\":\"x\"}"[..]).unwrap();
        assert_eq!(damaged.header().unwrap().agent, None);
    }

    #[test]
    fn peeking_consumes_nothing() {
        let mut reader = Reader::new(&b"one\ntwo\nthree\n"[..]).unwrap();
        assert_eq!(reader.peek(2).unwrap().collect::<Vec<_>>(), ["one", "two"]);
        let mut count = 0;
        while reader.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 3);
    }

    #[test]
    fn an_empty_input_is_an_empty_log() {
        assert!(entries(b"").is_empty());
        assert!(entries(b"\n\n").is_empty());
    }
}
