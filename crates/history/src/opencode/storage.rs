//! Where sessions are stored: a database or files.

use std::path::{Path, PathBuf};

use interlingua_schema::{Timestamp, Usage};

use super::replay::LastUpdates;
use crate::{HistoryError, HistoryReport};

/// A stored session.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionRow {
    pub(super) id: String,
    pub(super) parent: Option<String>,
    pub(super) title: Option<String>,
    pub(super) directory: Option<String>,
    pub(super) version: Option<String>,
    /// OpenCode's word for a mode.
    pub(super) agent: Option<String>,
    /// Provider and model: `anthropic/claude-opus-4-5`.
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) created: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
    /// The session as JSON, as events have it.
    pub(super) info: String,
}

/// A stored message or part.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) created: Option<i64>,
    /// The content as JSON, as events have it, with its ids.
    pub(super) json: String,
    /// The file that it is in, unless it is in the database.
    pub(super) path: Option<PathBuf>,
    /// Why the content cannot be used.
    pub(super) problem: Option<String>,
}

/// A stored event.
#[derive(Clone, Debug)]
pub(super) struct EventRow {
    /// Place in the order of all events.
    pub(super) place: i64,
    /// Number in its session.
    pub(super) number: i64,
    pub(super) id: String,
    /// Type with the version of its format: `message.updated.1`.
    pub(super) kind: String,
    pub(super) data: String,
}

/// Where sessions are stored.
pub(super) trait Storage: Send + Sync {
    /// The database or folder.
    fn path(&self) -> &Path;

    /// All sessions, oldest first.
    fn sessions(&self, report: &mut HistoryReport) -> Result<Vec<SessionRow>, HistoryError>;

    /// One session.
    fn session(&self, id: &str) -> Result<Option<SessionRow>, HistoryError>;

    /// The sessions of the sub-agents that a session started, oldest first.
    fn children(&self, id: &str) -> Result<Vec<SessionRow>, HistoryError>;

    /// The sessions with one of two titles.
    fn titled(&self, title: &str, other: &str) -> Result<Vec<SessionRow>, HistoryError>;

    /// The messages of a session, oldest first.
    fn messages(&self, session: &str, report: &mut HistoryReport) -> Result<Vec<Row>, HistoryError>;

    /// One message.
    fn message(&self, session: &str, message: &str) -> Result<Option<Row>, HistoryError>;

    /// The parts of a message, oldest first.
    fn parts(&self, session: &str, message: &str, report: &mut HistoryReport) -> Result<Vec<Row>, HistoryError>;

    /// One part.
    fn part(&self, session: &str, message: &str, part: &str) -> Result<Option<Row>, HistoryError>;

    /// Messages that were deleted, of which parts are left.
    fn deleted_messages(&self, _session: &str) -> Vec<Row> {
        Vec::new()
    }

    /// The numbers of the last stored events about each message of a session; `None` if not all of its events are stored.
    fn last_updates(&self, _session: &str) -> Result<Option<LastUpdates>, HistoryError> {
        Ok(None)
    }

    /// The next stored event about a part after one with this number.
    fn next_update(&self, _session: &str, _part: &str, _after: i64) -> Result<Option<EventRow>, HistoryError> {
        Ok(None)
    }

    /// The next stored events of a session after one with this number.
    fn events(&self, _session: &str, _after: i64) -> Result<Vec<EventRow>, HistoryError> {
        Ok(Vec::new())
    }
}
