//! Finds the sessions of a path, and converts them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::claude::{self, ClaudeReader};
use crate::codex::{self, CodexReader};
use crate::opencode::{self, OpenCodeReader};
use crate::record_reader::RecordReader;
use crate::session::{HistoryFormat, HistorySession};
use crate::{ConvertOptions, HistoryError, HistoryReport, HistorySink};

/// Maximum number of lines that are read to detect the format of a file.
const MAX_DETECTION_LINES: usize = 20;
/// Maximum depth of folders below a root.
const MAX_DEPTH: usize = 12;

/// The format of a file; `None` if it is not a history.
///
/// # Errors
/// If the file cannot be read.
pub fn detect_format(path: &Path) -> Result<Option<HistoryFormat>, HistoryError> {
    if opencode::is_database(path) {
        return Ok(Some(HistoryFormat::OpenCodeDatabase));
    }
    if opencode::storage_folder(path).is_some() {
        return Ok(Some(HistoryFormat::OpenCodeFiles));
    }
    let mut reader = RecordReader::open(path)?;
    for _ in 0..MAX_DETECTION_LINES {
        let Some(record) = reader.next()? else { break };
        let Ok(record) = record.text else { continue };
        if codex::is_line(&record) {
            return Ok(Some(HistoryFormat::CodexRollout));
        }
        if claude::is_line(&record) {
            return Ok(Some(HistoryFormat::ClaudeLines));
        }
    }
    Ok(None)
}

/// Reads the sessions of agents.
#[derive(Debug, Default)]
pub struct HistoryReader {
    claude: ClaudeReader,
    codex: CodexReader,
    opencode: OpenCodeReader,
}

impl HistoryReader {
    /// A reader.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The sessions of a file, or of all histories below a folder, oldest first. Sub-agents are part of their sessions.
    ///
    /// # Errors
    /// If a folder cannot be read. A file that cannot be read is in the report.
    pub fn sessions(&mut self, path: &Path, report: &mut HistoryReport) -> Result<Vec<HistorySession>, HistoryError> {
        let mut sessions = Vec::new();
        let mut files = Vec::new();
        let mut storage_folders = Vec::new();
        if path.is_dir() {
            list_files(path, 0, &mut files, &mut storage_folders)?;
        } else {
            files.push(path.to_owned());
        }
        for folder in storage_folders {
            match OpenCodeReader::describe_files(&folder) {
                Ok(found) => sessions.extend(found),
                Err(error) => report.add_problem(&folder, None, error.to_string()),
            }
        }
        for file in files {
            match self.describe(&file, path.is_file()) {
                Ok(found) => sessions.extend(found),
                Err(error) => report.add_problem(&file, None, error.to_string()),
            }
        }
        // A migrated database and the files that it was made from have the same sessions.
        sessions.sort_by(|a: &HistorySession, b| {
            (&a.native_session_id, a.format as u8).cmp(&(&b.native_session_id, b.format as u8))
        });
        sessions.dedup_by(|a, b| a.agent() == b.agent() && a.native_session_id == b.native_session_id);
        sessions.sort_by(|a, b| (a.started_at, &a.native_session_id).cmp(&(b.started_at, &b.native_session_id)));
        Ok(sessions)
    }

    /// Converts one session with its sub-agents.
    ///
    /// # Errors
    /// If the history cannot be read, or the events cannot be written. A damaged record is no error, but an
    /// `agent.unparsed` event, and in the report.
    pub fn convert(
        &mut self,
        session: &HistorySession,
        options: ConvertOptions,
        sink: &mut dyn HistorySink,
        report: &mut HistoryReport,
    ) -> Result<(), HistoryError> {
        match session.format {
            HistoryFormat::ClaudeLines => self.claude.convert(&session.path, options, sink, report),
            HistoryFormat::CodexRollout => self.codex.convert(&session.path, options, sink, report),
            HistoryFormat::OpenCodeDatabase | HistoryFormat::OpenCodeFiles => {
                self.opencode.convert(session, options, sink, report)
            }
        }
    }

    /// The sessions in a file. A file that was named is shown even if it is a sub-agent's.
    fn describe(&mut self, file: &Path, is_named: bool) -> Result<Vec<HistorySession>, HistoryError> {
        let session = match detect_format(file)? {
            Some(HistoryFormat::ClaudeLines) => ClaudeReader::describe(file)?,
            Some(HistoryFormat::CodexRollout) if is_named => self.codex.describe_file(file)?,
            Some(HistoryFormat::CodexRollout) => self.codex.describe(file)?,
            Some(HistoryFormat::OpenCodeDatabase) => return self.opencode.describe_database(file),
            Some(HistoryFormat::OpenCodeFiles) => {
                let sessions = OpenCodeReader::describe_files(&opencode::storage_folder(file).unwrap_or_default())?;
                let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
                return Ok(sessions.into_iter().filter(|session| session.native_session_id == name).collect());
            }
            None => None,
        };
        Ok(session.into_iter().collect())
    }
}

/// Adds the files below a folder that may be histories.
fn list_files(
    folder: &Path,
    depth: usize,
    files: &mut Vec<PathBuf>,
    storage_folders: &mut Vec<PathBuf>,
) -> Result<(), HistoryError> {
    if folder.join("session").is_dir() && folder.join("message").is_dir() {
        storage_folders.push(folder.to_owned());
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(HistoryError::read(folder))? {
        let entry = entry.map_err(HistoryError::read(folder))?;
        let kind = entry.file_type().map_err(HistoryError::read(entry.path()))?;
        entries.push((entry.path(), kind));
    }
    entries.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (path, kind) in entries {
        if kind.is_dir() && depth < MAX_DEPTH {
            list_files(&path, depth + 1, files, storage_folders)?;
        } else if kind.is_file() && is_history_name(&path) {
            files.push(path);
        }
    }
    Ok(())
}

/// Whether a file has the name of a history. Its content is looked at later.
fn is_history_name(path: &Path) -> bool {
    let is_database = path.file_name().and_then(|name| name.to_str()).is_some_and(|name| {
        name.starts_with("opencode") && path.extension().is_some_and(|extension| extension == "db")
    });
    is_database || claude::is_session_file(path) || codex::is_rollout_file(path)
}
