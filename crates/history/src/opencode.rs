//! OpenCode: a database since 1.15, and one JSON file per session, message and part before.
//!
//! Both keep the last state of each message and part, as the server sends them in its events. The order of the events is
//! reconstructed from the times in them: see [`timeline`].

mod database;
mod files;
mod timeline;
mod translate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use interlingua_convert::opencode::OpenCodeConverter;
use interlingua_schema::Timestamp;

use crate::output::Output;
use crate::session::{HistoryFormat, HistorySession};
use crate::{ConvertOptions, HistoryError, HistoryReport, HistorySink};
use database::Database;
pub(crate) use database::is_database;
use files::FileStorage;
pub(crate) use files::storage_folder;

/// A stored session.
#[derive(Clone, Debug, Default)]
struct SessionRow {
    id: String,
    parent: Option<String>,
    title: Option<String>,
    directory: Option<String>,
    version: Option<String>,
    created: Option<Timestamp>,
    updated: Option<Timestamp>,
    /// The session as JSON, as events have it.
    info: String,
}

/// A stored message or part.
#[derive(Clone, Debug)]
struct Row {
    id: String,
    created: Option<i64>,
    /// The content as JSON, as events have it, with its ids.
    json: String,
}

/// Where sessions are stored.
trait Storage {
    /// All sessions.
    fn sessions(&self) -> Result<Vec<SessionRow>, HistoryError>;

    /// The messages of a session, oldest first.
    fn messages(&self, session: &str) -> Result<Vec<Row>, HistoryError>;

    /// One message.
    fn message(&self, session: &str, message: &str) -> Result<Option<Row>, HistoryError>;

    /// The parts of a message, oldest first.
    fn parts(&self, session: &str, message: &str) -> Result<Vec<Row>, HistoryError>;

    /// One part.
    fn part(&self, session: &str, message: &str, part: &str) -> Result<Option<Row>, HistoryError>;

    /// The stored events of a session of the v2 API, with their types.
    fn events(&self, session: &str) -> Result<Vec<(String, String)>, HistoryError>;
}

/// Reads the histories of OpenCode. Keeps copies of databases open, for the next session of the same database.
#[derive(Default)]
pub(crate) struct OpenCodeReader {
    databases: BTreeMap<PathBuf, Database>,
}

impl std::fmt::Debug for OpenCodeReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenCodeReader").finish_non_exhaustive()
    }
}

impl OpenCodeReader {
    fn database(&mut self, path: &Path) -> Result<&Database, HistoryError> {
        if !self.databases.contains_key(path) {
            self.databases.insert(path.to_owned(), Database::open(path)?);
        }
        Ok(&self.databases[path])
    }

    /// Converts one session with its sub-agents.
    pub(crate) fn convert(
        &mut self,
        session: &HistorySession,
        options: ConvertOptions,
        sink: &mut dyn HistorySink,
        report: &mut HistoryReport,
    ) -> Result<(), HistoryError> {
        let id = session.native_session_id.as_str();
        let mut output = Output::new(Box::new(OpenCodeConverter::default()), options.conversion, sink, report);
        let (format, path) = (session.format, session.path.as_path());
        if format == HistoryFormat::OpenCodeFiles {
            translate::convert(&FileStorage::new(path), format, path, id, &mut output)?;
        } else {
            translate::convert(self.database(path)?, format, path, id, &mut output)?;
        }
        output.finish()
    }

    /// The sessions in a database.
    pub(crate) fn describe_database(&mut self, path: &Path) -> Result<Vec<HistorySession>, HistoryError> {
        describe(self.database(path)?, HistoryFormat::OpenCodeDatabase, path)
    }

    /// The sessions in a folder of files.
    pub(crate) fn describe_files(path: &Path) -> Result<Vec<HistorySession>, HistoryError> {
        describe(&FileStorage::new(path), HistoryFormat::OpenCodeFiles, path)
    }
}

/// The sessions of a storage, without those of sub-agents.
fn describe(storage: &dyn Storage, format: HistoryFormat, path: &Path) -> Result<Vec<HistorySession>, HistoryError> {
    let rows = storage.sessions()?;
    let is_known = |id: &str| rows.iter().any(|row| row.id == id);
    let sessions = rows.iter().filter(|row| !row.parent.as_deref().is_some_and(is_known)).map(|row| {
        let mut session = HistorySession::new(format, &row.id, path);
        session.title.clone_from(&row.title);
        session.directory.clone_from(&row.directory);
        session.agent_version.clone_from(&row.version);
        session.started_at = row.created;
        session.last_activity = row.updated;
        session
    });
    Ok(sessions.collect())
}
