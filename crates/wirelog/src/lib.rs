//! Recorded transcripts: what crossed the wire between a host and a coding agent, in order.
//!
//! A wirelog has one JSON object per line. The first one is the [`Header`], every other one is a [`Record`]: an
//! [`Input`] with its time.
//!
//! ```text
//! {"wirelog":1,"agent":"codex","version":"0.166.0","scenario":"exec_basic","argv":["codex","app-server"]}
//! {"t":445,"dir":"send","line":"{\"method\":\"initialized\"}"}
//! {"t":608,"dir":"recv","line":"{\"method\":\"turn/started\"}"}
//! {"t":999,"dir":"exit","code":0}
//! ```
//!
//! A file without a header is a plain log, the output of an agent: each line is one received line.
//!
//! The [`Reader`] streams: it holds one line of at most [`MAX_LINE_BYTES`] at a time. A line that it cannot read becomes an
//! [`Entry::Invalid`] with its number and the reason, and reading continues with the next line.
//!
//! ```
//! use interlingua_wirelog::{Entry, Input, Reader};
//!
//! let log = br#"{"wirelog": 1, "agent": "amp"}
//! {"t": 5, "dir": "recv", "line": "{\"type\":\"result\"}"}
//! {"t": 7, "dir": "exit", "code": -9}
//! "#;
//! let mut reader = Reader::new(&log[..])?;
//! assert_eq!(reader.header().and_then(|header| header.agent.as_deref()), Some("amp"));
//! while let Some(entry) = reader.next()? {
//!     match entry {
//!         Entry::Record(record) => match record.input {
//!             Input::Received(line) => assert_eq!(line, r#"{"type":"result"}"#),
//!             input => assert_eq!(input, Input::Exit { code: Some(-9) }),
//!         },
//!         Entry::Invalid(line) => eprintln!("{line}"),
//!     }
//! }
//! # Ok::<(), std::io::Error>(())
//! ```

mod header;
mod input;
mod lines;
mod reader;
mod record;
mod writer;

pub use header::Header;
pub use input::{Input, InputRef};
pub use lines::{LONG_LINE_PREFIX, LineBuffer, MAX_LINE_BYTES};
pub use reader::{Entry, InvalidLine, InvalidLineReason, Reader};
pub use record::Record;
pub use writer::Writer;
