//! A recording, read into memory.

use std::fs::File;
use std::io::{self, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};

use interlingua_wirelog::{Entry, Header, Input, Reader, Record};
use serde::Deserialize;

use crate::Agent;

/// A recording of an agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recording {
    /// The recorded agent.
    pub agent: Agent,
    /// Header of the wirelog.
    pub header: Header,
    /// Records in the order in which they crossed the wire.
    pub records: Vec<Record>,
}

/// Why a file cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The file is not a wirelog.
    #[error("{}: expected a wirelog, found a file without a header; see `interlingua-replay --help`", path.display())]
    NotAWirelog {
        /// Path of the file.
        path: PathBuf,
    },
    /// The header names no known agent.
    #[error("{}: the header's \"agent\": {reason}", path.display())]
    UnknownAgent {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with the name.
        reason: interlingua_agents::UnknownAgent,
    },
    /// A line is not a record.
    #[error("{}, {reason}", path.display())]
    BadLine {
        /// Path of the file.
        path: PathBuf,
        /// Line number and error.
        reason: String,
    },
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is not a wirelog, names an unknown agent, or has a line that is not a record.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let unreadable = |source| RecordingError::Unreadable { path: path.to_owned(), source };
        let file = File::open(path).map_err(unreadable)?;
        let mut reader = Reader::new(BufReader::new(file)).map_err(unreadable)?;
        let header = reader.header().cloned().ok_or_else(|| RecordingError::NotAWirelog { path: path.to_owned() })?;
        let agent = header.agent.as_deref().unwrap_or_default().parse();
        let agent = agent.map_err(|reason| RecordingError::UnknownAgent { path: path.to_owned(), reason })?;
        let mut records = Vec::new();
        while let Some(entry) = reader.next().map_err(unreadable)? {
            match entry {
                Entry::Record(record) => records.push(record),
                Entry::Invalid(bad) => {
                    return Err(RecordingError::BadLine { path: path.to_owned(), reason: bad.to_string() });
                }
            }
        }
        Ok(Self { agent, header, records })
    }

    /// Index ranges of the records of each process. A process ends with its exit record. The kill of a Codex app server
    /// may not be recorded; such a process ends where the host initializes the next one.
    #[must_use]
    pub fn processes(&self) -> Vec<Range<usize>> {
        let mut processes = Vec::new();
        let mut start = 0;
        let mut is_initialized = false;
        for (at, record) in self.records.iter().enumerate() {
            match &record.input {
                Input::Exit { .. } => {
                    processes.push(start..at + 1);
                    start = at + 1;
                    is_initialized = false;
                }
                Input::Sent(line) if self.agent == Agent::Codex => {
                    if let Some(id) = initialize_id(line) {
                        if is_initialized && self.is_accepted(at, &id) {
                            processes.push(start..at);
                            start = at;
                        }
                        is_initialized = true;
                    }
                }
                _ => {}
            }
        }
        if start < self.records.len() || processes.is_empty() {
            processes.push(start..self.records.len());
        }
        processes
    }

    /// Whether the request in this record got a result.
    fn is_accepted(&self, at: usize, id: &serde_json::Value) -> bool {
        #[derive(Deserialize)]
        struct Answer {
            id: serde_json::Value,
            result: Option<serde::de::IgnoredAny>,
            method: Option<serde::de::IgnoredAny>,
        }
        self.records[at..]
            .iter()
            .find_map(|record| match &record.input {
                Input::Received(line) => serde_json::from_str(line)
                    .ok()
                    .filter(|answer: &Answer| answer.method.is_none() && answer.id == *id),
                _ => None,
            })
            .is_some_and(|answer| answer.result.is_some())
    }
}

/// The id of a Codex `initialize` request.
fn initialize_id(line: &str) -> Option<serde_json::Value> {
    #[derive(Deserialize)]
    struct Request {
        id: serde_json::Value,
        method: String,
    }
    let request: Request = serde_json::from_str(line).ok()?;
    (request.method == "initialize").then_some(request.id)
}
