//! OpenCode: a database since 1.15, and one JSON file per session, message and part before.
//!
//! Both keep the last state of each message and part, as the server sends them in its events. Since 1.18 the database has
//! the events, too, which are [replayed](replay). Before, their order is reconstructed from the times in the messages and
//! parts: see [`timeline`].

mod database;
mod database_copy;
mod files;
mod forks;
mod parts;
mod replay;
mod storage;
mod timeline;
mod translate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashSet;
use interlingua_convert::opencode::OpenCodeConverter;

use crate::output::Output;
use crate::session::{HistoryFormat, HistorySession};
use crate::{ConvertOptions, HistoryError, HistoryReport, HistorySink};
pub(crate) use database::is_database;
use database::{Database, FileState};
use files::FileStorage;
pub(crate) use files::storage_folder;
use storage::{SessionRow, Storage};

/// Reads the histories of OpenCode. Keeps copies of databases, for the next session of the same database.
#[derive(Debug, Default)]
pub(crate) struct OpenCodeReader {
    storages: Mutex<Storages>,
}

#[derive(Debug, Default)]
struct Storages {
    databases: BTreeMap<PathBuf, Arc<Database>>,
    files: BTreeMap<PathBuf, Arc<FileStorage>>,
}

impl OpenCodeReader {
    fn storages(&self) -> MutexGuard<'_, Storages> {
        self.storages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn database(&self, path: &Path, report: &mut HistoryReport) -> Result<Arc<Database>, HistoryError> {
        // Other threads wait, because they need the same copy.
        let mut storages = self.storages();
        if let Some(database) = storages.databases.get(path) {
            return Ok(Arc::clone(database));
        }
        let database = Arc::new(Database::open(path, report)?);
        storages.databases.insert(path.to_owned(), Arc::clone(&database));
        Ok(database)
    }

    fn files(&self, path: &Path) -> Arc<FileStorage> {
        let mut storages = self.storages();
        let opened = storages.files.entry(path.to_owned());
        Arc::clone(opened.or_insert_with(|| Arc::new(FileStorage::new(path))))
    }

    /// Forgets files, and databases that have changed.
    pub(crate) fn refresh(&self) {
        let mut storages = self.storages();
        storages.files.clear();
        storages.databases.retain(|path, database| *database.state() == FileState::read(path));
    }

    /// Converts one session with its sub-agents.
    pub(crate) fn convert(
        &self,
        session: &HistorySession,
        options: ConvertOptions,
        sink: &mut dyn HistorySink,
        report: &mut HistoryReport,
    ) -> Result<(), HistoryError> {
        let id = session.native_session_id.as_str();
        let (format, path) = (session.format, session.path.as_path());
        let storage: Arc<dyn Storage> =
            if format == HistoryFormat::OpenCodeFiles { self.files(path) } else { self.database(path, report)? };
        let mut output = Output::new(Box::new(OpenCodeConverter::default()), id, options, sink, report);
        translate::convert(&*storage, format, id, &mut output)?;
        output.finish()
    }

    /// The sessions in a database.
    pub(crate) fn describe_database(
        &self,
        path: &Path,
        report: &mut HistoryReport,
    ) -> Result<Vec<HistorySession>, HistoryError> {
        describe(&*self.database(path, report)?, HistoryFormat::OpenCodeDatabase, path, report)
    }

    /// The sessions in a folder of files.
    pub(crate) fn describe_files(
        &self,
        path: &Path,
        report: &mut HistoryReport,
    ) -> Result<Vec<HistorySession>, HistoryError> {
        describe(&*self.files(path), HistoryFormat::OpenCodeFiles, path, report)
    }

    /// The files and folders that a session consists of, besides its own.
    pub(crate) fn side_files(session: &HistorySession) -> Vec<PathBuf> {
        match session.format {
            HistoryFormat::OpenCodeFiles => files::session_folders(&session.path, &session.native_session_id),
            _ => vec![database::log_of(&session.path)],
        }
    }
}

/// The sessions of a storage, without those of sub-agents.
fn describe(
    storage: &dyn Storage,
    format: HistoryFormat,
    path: &Path,
    report: &mut HistoryReport,
) -> Result<Vec<HistorySession>, HistoryError> {
    let rows = storage.sessions(report)?;
    let known: HashSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let is_root = |row: &&SessionRow| !row.parent.as_deref().is_some_and(|parent| known.contains(parent));
    let sessions = rows.iter().filter(is_root).map(|row| {
        let mut session = HistorySession::new(format, &row.id, path);
        session.title.clone_from(&row.title);
        session.directory.clone_from(&row.directory);
        session.agent_version.clone_from(&row.version);
        session.agent_mode.clone_from(&row.agent);
        session.model.clone_from(&row.model);
        session.usage.clone_from(&row.usage);
        session.started_at = row.created;
        session.last_activity = row.updated.or(row.created);
        session
    });
    Ok(sessions.collect())
}
