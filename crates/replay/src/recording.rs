//! A recording, whole and in memory.

use std::fs::File;
use std::io::{self, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};

use interlingua_wirelog::{Entry, Header, Input, Reader, Record};
use serde::Deserialize;

use crate::Agent;

/// What was recorded of an agent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recording {
    /// Whose it is.
    pub agent: Agent,
    /// What it says about itself.
    pub header: Header,
    /// What crossed the wire, in order.
    pub records: Vec<Record>,
}

/// Why a file cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no wirelog.
    #[error("{}: expected a wirelog, found a file without a header; see `interlingua-replay --help`", path.display())]
    NotAWirelog {
        /// The file.
        path: PathBuf,
    },
    /// Its header names no agent that can be stood in for.
    #[error("{}: the header's \"agent\": {reason}", path.display())]
    UnknownAgent {
        /// The file.
        path: PathBuf,
        /// What is wrong with the name.
        reason: interlingua_agents::UnknownAgent,
    },
    /// A line in it is not a record.
    #[error("{}, {line}", path.display())]
    BadLine {
        /// The file.
        path: PathBuf,
        /// Where, and what is wrong.
        line: String,
    },
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is no wirelog, is of an unknown agent, or has a line in it that is no record.
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
                    return Err(RecordingError::BadLine { path: path.to_owned(), line: bad.to_string() });
                }
            }
        }
        Ok(Self { agent, header, records })
    }

    /// The records of each process in turn. A process ends with its exit; one that was killed unseen ends where the
    /// next one introduces itself, which is how a Codex app server that was started anew shows.
    #[must_use]
    pub fn processes(&self) -> Vec<Range<usize>> {
        let mut processes = Vec::new();
        let mut start = 0;
        let mut introduced = false;
        for (at, record) in self.records.iter().enumerate() {
            match &record.input {
                Input::Exit { .. } => {
                    processes.push(start..at + 1);
                    start = at + 1;
                    introduced = false;
                }
                Input::Sent(line) if self.agent == Agent::Codex => {
                    if let Some(id) = introduction(line) {
                        if introduced && self.is_accepted(at, &id) {
                            processes.push(start..at);
                            start = at;
                        }
                        introduced = true;
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

    /// Whether the request that was sent at a place got a result.
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
fn introduction(line: &str) -> Option<serde_json::Value> {
    #[derive(Deserialize)]
    struct Request {
        id: serde_json::Value,
        method: String,
    }
    let request: Request = serde_json::from_str(line).ok()?;
    (request.method == "initialize").then_some(request.id)
}
