//! Reading a log as it streams by.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead};

use crate::lines::{End, LineBuffer, Lines};
use crate::{Header, Input, MAX_LINE_BYTES, Record};

/// One line of a log.
#[derive(Debug, PartialEq, Eq)]
pub enum Entry {
    /// What crossed the wire.
    Record(Record),
    /// A line that cannot be read; the next may be fine.
    Invalid(InvalidLine),
}

/// A line that cannot be read. Displays as `line 17: expected …`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidLine {
    /// Its number in the file; the first is 1.
    pub number: u64,
    /// Its bytes, or the first [`LONG_LINE_PREFIX`](crate::LONG_LINE_PREFIX) of them when it is too long.
    pub bytes: Vec<u8>,
    /// What is wrong with it.
    pub reason: InvalidLineReason,
}

impl From<InvalidLine> for Input {
    fn from(bad: InvalidLine) -> Self {
        Self::Unreadable { error: bad.to_string(), bytes: bad.bytes }
    }
}

impl fmt::Display for InvalidLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.number, self.reason)
    }
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidLineReason {
    /// It is not a record, for this reason.
    NotARecord(String),
    /// The input ended in the middle of it.
    Truncated,
    /// It is not UTF-8.
    NotUtf8,
    /// It is longer than the limit.
    TooLong {
        /// Its size in bytes.
        length: usize,
        /// The most bytes that a line may have.
        limit: usize,
    },
}

impl fmt::Display for InvalidLineReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecord(reason) => write!(f, "expected a wirelog record: {reason}"),
            Self::Truncated => f.write_str("expected a wirelog record, found half a line at the end of the input"),
            Self::NotUtf8 => f.write_str("expected UTF-8, found other bytes"),
            Self::TooLong { length, limit } => {
                write!(f, "expected a line of at most {limit} bytes, found one of {length} bytes")
            }
        }
    }
}

/// What the lines of a log are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// Records.
    Wirelog,
    /// What an agent printed.
    Plain,
}

/// Reads a wirelog, or the plain output of an agent, holding one line at a time.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    limit: usize,
    header: Option<Header>,
    format: Format,
    /// Lines that were read ahead.
    ahead: VecDeque<NumberedLine>,
    line: LineBuffer,
}

/// A line that was read ahead.
#[derive(Debug)]
struct NumberedLine {
    number: u64,
    end: End,
    line: LineBuffer,
}

impl<R: BufRead> Reader<R> {
    /// Opens a log and reads its header, if it has one.
    ///
    /// # Errors
    ///
    /// When the input cannot be read.
    pub fn new(input: R) -> io::Result<Self> {
        Self::with_max_line_bytes(input, MAX_LINE_BYTES)
    }

    /// As [`new`](Self::new), with another limit than [`MAX_LINE_BYTES`] for the length of a line.
    ///
    /// # Errors
    ///
    /// When the input cannot be read.
    pub fn with_max_line_bytes(input: R, limit: usize) -> io::Result<Self> {
        let mut reader = Self {
            lines: Lines::new(input),
            limit,
            header: None,
            format: Format::Plain,
            ahead: VecDeque::new(),
            line: LineBuffer::new(limit),
        };
        reader.open()?;
        Ok(reader)
    }

    /// The header; absent in a plain log.
    #[must_use]
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Whether the log is plain: each line what an agent printed, without times.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.format == Format::Plain
    }

    /// Looks at what the agent sent in the first `lines` lines without using them up, which is how one finds out
    /// whose plain log it is.
    ///
    /// # Errors
    ///
    /// When the input cannot be read.
    pub fn peek(&mut self, lines: usize) -> io::Result<impl Iterator<Item = String>> {
        while self.ahead.len() < lines
            && let Some(line) = self.read_ahead()?
        {
            self.ahead.push_back(line);
        }
        let format = self.format;
        Ok(self.ahead.iter().take(lines).filter_map(move |NumberedLine { line, .. }| match format {
            Format::Plain => std::str::from_utf8(line.as_bytes()).ok().map(str::to_owned),
            Format::Wirelog => match Record::parse(line.as_bytes()).ok()?.input {
                Input::Received(line) => Some(line),
                _ => None,
            },
        }))
    }

    /// Whether the next entry can be had without waiting for the input.
    #[must_use]
    pub fn has_more(&self) -> bool {
        !self.ahead.is_empty() || self.lines.has_more()
    }

    /// The next entry; `None` at the end. Empty lines are passed over.
    ///
    /// # Errors
    ///
    /// When the input cannot be read.
    // Not an `Iterator`: an error of the input ends the reading, so `?` comes before the entry.
    #[allow(clippy::should_implement_trait, reason = "reading can fail as a whole")]
    pub fn next(&mut self) -> io::Result<Option<Entry>> {
        let (number, end) = loop {
            let (number, end) = if let Some(NumberedLine { number, end, line }) = self.ahead.pop_front() {
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
                    let bad = InvalidLine { number, bytes: error.into_bytes(), reason: InvalidLineReason::NotUtf8 };
                    return Ok(Some(Entry::Invalid(bad)));
                }
            },
            (None, Format::Wirelog) => Record::parse(self.line.as_bytes()).map_err(|reason| match end {
                _ if std::str::from_utf8(self.line.as_bytes()).is_err() => InvalidLineReason::NotUtf8,
                End::Input => InvalidLineReason::Truncated,
                End::Break => InvalidLineReason::NotARecord(reason),
            }),
        };
        Ok(Some(match parsed {
            Ok(record) => Entry::Record(record),
            Err(reason) => Entry::Invalid(InvalidLine { number, bytes: self.line.take(), reason }),
        }))
    }

    /// Decides from the first line with anything on it what the log is.
    fn open(&mut self) -> io::Result<()> {
        while let Some(first) = self.read_ahead()? {
            if first.line.is_blank() {
                continue;
            }
            let line = first.line.as_bytes();
            self.header = Header::read(line);
            // A header that was cut or garbled, or records without one, still make a wirelog.
            if self.header.is_some() || line.starts_with(b"{\"wirelog\"") || Record::parse(line).is_ok() {
                self.format = Format::Wirelog;
            }
            if self.header.is_none() {
                self.ahead.push_back(first);
            }
            break;
        }
        Ok(())
    }

    fn read_ahead(&mut self) -> io::Result<Option<NumberedLine>> {
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
        let mut seen = Vec::new();
        while let Some(entry) = reader.next().unwrap() {
            seen.push(match entry {
                Entry::Record(Record { t, input }) => format!("{t:?} {input:?}"),
                Entry::Invalid(bad) => bad.to_string(),
            });
        }
        seen
    }

    #[test]
    fn every_kind_of_record() {
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
    fn a_plain_log_is_received_lines() {
        let log = b"\xEF\xBB\xBF{\"type\":\"init\"}\r\n\nnot json\n{\"half";
        assert!(Reader::new(&log[..]).unwrap().is_plain());
        assert_eq!(
            entries(log),
            [r#"None Received("{\"type\":\"init\"}")"#, r#"None Received("not json")"#, r#"None Received("{\"half")"#,]
        );
        assert_eq!(entries(b"ok\n\xFF\xFE\nok\n")[1], "line 2: expected UTF-8, found other bytes");
    }

    #[test]
    fn bad_lines_say_where_and_why_and_the_rest_is_read() {
        let endless = format!("{{\"t\":1,\"dir\":\"recv\",\"line\":\"{}\"}}", "x".repeat(300));
        let mut log = b"{\"wirelog\":1}\nnot json\n{\"t\":1,\"dir\":\"sideways\"}\n{\"dir\":\"recv\"}\n\xFF\n".to_vec();
        log.extend_from_slice(endless.as_bytes());
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
                "line 8: expected a wirelog record, found half a line at the end of the input",
            ]
        );
    }

    #[test]
    fn a_garbled_header_does_not_make_the_log_plain() {
        assert!(!Reader::new(&b"{\"wirelog\": 1, \"agen\n{\"t\":1,\"dir\":\"close\"}\n"[..]).unwrap().is_plain());
        assert!(!Reader::new(&b"{\"t\":1,\"dir\":\"close\"}\n"[..]).unwrap().is_plain());
        let smudged = Reader::new(&b"{\"wirelog\":1,\"agent\":7,\"argv\":\"x\"}"[..]).unwrap();
        assert_eq!(smudged.header().unwrap().agent, None);
    }

    #[test]
    fn peeking_uses_nothing_up() {
        let mut reader = Reader::new(&b"one\ntwo\nthree\n"[..]).unwrap();
        assert_eq!(reader.peek(2).unwrap().collect::<Vec<_>>(), ["one", "two"]);
        let mut count = 0;
        while reader.next().unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 3);
    }

    #[test]
    fn nothing_is_an_empty_log() {
        assert!(entries(b"").is_empty());
        assert!(entries(b"\n\n").is_empty());
    }
}
