//! Reading a log as it streams by.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufRead};

use crate::lines::{End, Lines};
use crate::{Header, Record, Wire};

/// Lines longer than this are not kept whole unless [`Reader::limit_lines`] says otherwise.
const DEFAULT_LIMIT: usize = 64 << 20;

/// One line of a log.
#[derive(Debug, PartialEq)]
pub enum Entry<'a> {
    /// What crossed the wire.
    Record(Record<'a>),
    /// A line that cannot be read; the next may be fine.
    Bad(BadLine<'a>),
}

/// A line that cannot be read. Displays as `line 17: expected …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine<'a> {
    /// Its number in the file; the first is 1.
    pub number: u64,
    /// Its bytes, or the first of them when it is too long.
    pub bytes: &'a [u8],
    /// What is wrong with it.
    pub problem: Problem,
}

impl fmt::Display for BadLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.number, self.problem)
    }
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// It is not a record, for this reason.
    NotARecord(String),
    /// The input ended in the middle of it.
    HalfALine,
    /// It is not UTF-8.
    NotUtf8,
    /// It is longer than the limit, which is this many bytes.
    TooLong(usize),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecord(reason) => write!(f, "expected a wirelog record: {reason}"),
            Self::HalfALine => f.write_str("expected a wirelog record, found half a line at the end of the input"),
            Self::NotUtf8 => f.write_str("expected UTF-8, found other bytes"),
            Self::TooLong(limit) => write!(f, "expected a line of at most {limit} bytes, found a longer one"),
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
    /// Lines that were read ahead, with their numbers.
    ahead: VecDeque<(u64, End, Vec<u8>)>,
    line: Vec<u8>,
}

impl<R: BufRead> Reader<R> {
    /// Opens a log and reads its header, if it has one.
    ///
    /// # Errors
    ///
    /// When the input cannot be read.
    pub fn new(input: R) -> io::Result<Self> {
        let mut reader = Self {
            lines: Lines::new(input, DEFAULT_LIMIT),
            limit: DEFAULT_LIMIT,
            header: None,
            format: Format::Plain,
            ahead: VecDeque::new(),
            line: Vec::new(),
        };
        reader.open()?;
        Ok(reader)
    }

    /// Keeps no more than this many bytes of a line; a longer one is a [`Problem::TooLong`]. 64 MiB unless set.
    #[must_use]
    pub fn limit_lines(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self.lines.set_limit(bytes);
        self
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
    pub fn peek(&mut self, lines: usize) -> io::Result<impl Iterator<Item = Cow<'_, str>>> {
        while self.ahead.len() < lines {
            let mut line = Vec::new();
            let Some(end) = self.lines.read(&mut line)? else {
                break;
            };
            self.ahead.push_back((self.lines.number(), end, line));
        }
        let format = self.format;
        Ok(self.ahead.iter().take(lines).filter_map(move |(_, _, line)| match format {
            Format::Plain => std::str::from_utf8(line).ok().map(Cow::Borrowed),
            Format::Wirelog => match Record::read(line).ok()?.wire {
                Wire::Received { line } => Some(line),
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
    // Not an `Iterator`: an entry borrows the line it was read from.
    #[allow(clippy::should_implement_trait, reason = "an entry borrows from the reader")]
    pub fn next(&mut self) -> io::Result<Option<Entry<'_>>> {
        let (number, end) = loop {
            let (number, end) = if let Some((number, end, line)) = self.ahead.pop_front() {
                self.line = line;
                (number, end)
            } else {
                match self.lines.read(&mut self.line)? {
                    Some(end) => (self.lines.number(), end),
                    None => return Ok(None),
                }
            };
            if !self.line.iter().all(u8::is_ascii_whitespace) {
                break (number, end);
            }
        };
        let bytes = self.line.as_slice();
        let bad = |problem| Entry::Bad(BadLine { number, bytes, problem });
        Ok(Some(match (end, self.format) {
            (End::Limit, _) => bad(Problem::TooLong(self.limit)),
            (_, Format::Plain) => match std::str::from_utf8(bytes) {
                Ok(line) => Entry::Record(Record { t: None, wire: Wire::Received { line: line.into() } }),
                Err(_) => bad(Problem::NotUtf8),
            },
            (end, Format::Wirelog) => match Record::read(bytes) {
                Ok(record) => Entry::Record(record),
                Err(_) if std::str::from_utf8(bytes).is_err() => bad(Problem::NotUtf8),
                Err(_) if end == End::Input => bad(Problem::HalfALine),
                Err(reason) => bad(Problem::NotARecord(reason)),
            },
        }))
    }

    /// Decides from the first line with anything on it what the log is.
    fn open(&mut self) -> io::Result<()> {
        loop {
            let mut line = Vec::new();
            let Some(end) = self.lines.read(&mut line)? else {
                return Ok(());
            };
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            self.header = Header::read(&line);
            if self.header.is_some() {
                self.format = Format::Wirelog;
                return Ok(());
            }
            // A header that was cut or garbled, or records without one, still make a wirelog.
            if line.starts_with(b"{\"wirelog\"") || Record::read(&line).is_ok() {
                self.format = Format::Wirelog;
            }
            self.ahead.push_back((self.lines.number(), end, line));
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(log: &[u8]) -> Vec<String> {
        let mut reader = Reader::new(log).unwrap().limit_lines(200);
        let mut seen = Vec::new();
        while let Some(entry) = reader.next().unwrap() {
            seen.push(match entry {
                Entry::Record(Record { t, wire }) => format!("{t:?} {wire:?}"),
                Entry::Bad(bad) => bad.to_string(),
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
                r#"Some(445) Sent { line: "{\"method\": 1}" }"#,
                r#"Some(608) Received { line: "plain" }"#,
                r#"Some(610) Stderr { line: "oops" }"#,
                r#"Some(700) Request { call: 1, method: "POST", path: "/session", body: Some(RawValue({"a" : 1.0})) }"#,
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
            [
                r#"None Received { line: "{\"type\":\"init\"}" }"#,
                r#"None Received { line: "not json" }"#,
                r#"None Received { line: "{\"half" }"#,
            ]
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
                "line 6: expected a line of at most 200 bytes, found a longer one",
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
