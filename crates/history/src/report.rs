//! What became of the records of a history.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use interlingua_schema::Usage;

use crate::HistoryError;

/// Maximum number of problems that are kept. More are counted.
const MAX_PROBLEMS: usize = 100;

/// Counts of the records of a history, and what is wrong with it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HistoryReport {
    /// Number of records: lines of a file, rows of a database.
    pub records: u64,
    /// Number of bytes of these records.
    pub bytes: u64,
    /// Number of events.
    pub events: u64,
    /// Records that carry nothing for a client, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Records of an unknown type or shape. Each is an `agent.unparsed` event.
    pub unparsed: u64,
    /// Records that are damaged: not JSON, not UTF-8, too long, cut off.
    pub damaged: u64,
    /// Sum of the usage of all models.
    pub usage: Usage,
    /// The first problems.
    pub problems: Vec<Problem>,
}

/// A part of a history that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// Number of the line, from 1. `None` for a problem of the whole file.
    pub line: Option<u64>,
    /// What was expected and what was found.
    pub reason: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path.display(), self.reason),
            None => write!(f, "{}: {}", self.path.display(), self.reason),
        }
    }
}

impl HistoryReport {
    /// Counts a record that is dropped.
    pub(crate) fn drop_record(&mut self, reason: &'static str) {
        *self.dropped.entry(reason).or_default() += 1;
    }

    /// Notes a damaged record or file.
    pub(crate) fn add_problem(&mut self, path: &Path, line: Option<u64>, reason: impl Into<String>) {
        self.damaged += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { path: path.to_owned(), line, reason: reason.into() });
        }
    }

    /// Notes a file or folder that cannot be read. `path` is what was to be read, if the error does not name it.
    pub(crate) fn add_error(&mut self, path: &Path, error: &HistoryError) {
        let path = error.path().map_or(path, PathBuf::as_path).to_owned();
        self.add_problem(&path, None, error.reason());
    }

    /// Counts the usage of a model.
    pub(crate) fn add_usage(&mut self, mut usage: Usage) {
        usage.model = None;
        self.usage += usage;
    }

    /// Adds the counts of another history.
    pub fn merge(&mut self, other: Self) {
        self.records += other.records;
        self.bytes += other.bytes;
        self.events += other.events;
        for (reason, count) in other.dropped {
            *self.dropped.entry(reason).or_default() += count;
        }
        self.unparsed += other.unparsed;
        self.damaged += other.damaged;
        self.add_usage(other.usage);
        self.problems.extend(other.problems);
        self.problems.truncate(MAX_PROBLEMS);
    }
}
