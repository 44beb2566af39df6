//! Finds the sessions of a path, and converts them.

use std::path::Path;

use foldhash::HashSet;

use crate::claude::{self, ClaudeReader};
use crate::codex::{self, CodexReader};
use crate::discovery::{self, Found};
use crate::opencode::{self, OpenCodeReader};
use crate::record_reader::RecordReader;
use crate::session::{HistoryFormat, HistorySession};
use crate::{ConvertOptions, HistoryError, HistoryReport, HistorySink};

/// Maximum number of lines that are read to detect the format of a file.
const MAX_DETECTION_LINES: usize = 20;

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
        let found = if path.is_dir() {
            discovery::find(path)?
        } else {
            Found { files: vec![path.to_owned()], ..Found::default() }
        };
        for folder in found.storage_folders {
            match OpenCodeReader::describe_files(&folder) {
                Ok(found) => sessions.extend(found),
                Err(error) => report.add_problem(&folder, None, error.to_string()),
            }
        }
        for file in found.files {
            match self.describe(&file, path.is_file()) {
                Ok(found) => sessions.extend(found),
                Err(error) => report.add_problem(&file, None, error.to_string()),
            }
        }
        drop_migrated(&mut sessions);
        sessions.sort_by(|a, b| (a.started_at, &a.native_session_id).cmp(&(b.started_at, &b.native_session_id)));
        Ok(sessions)
    }

    /// Converts one session with its sub-agents.
    ///
    /// # Errors
    /// If the events cannot be written. What cannot be read is in the report. A damaged record is an `agent.unparsed`
    /// event, too.
    pub fn convert(
        &mut self,
        session: &HistorySession,
        options: ConvertOptions,
        sink: &mut dyn HistorySink,
        report: &mut HistoryReport,
    ) -> Result<(), HistoryError> {
        let converted = match session.format {
            HistoryFormat::ClaudeLines => self.claude.convert(&session.path, options, sink, report),
            HistoryFormat::CodexRollout => self.codex.convert(&session.path, options, sink, report),
            HistoryFormat::OpenCodeDatabase | HistoryFormat::OpenCodeFiles => {
                self.opencode.convert(session, options, sink, report)
            }
        };
        match converted {
            Err(error @ HistoryError::Write(_)) => Err(error),
            Err(error) => {
                report.add_problem(&session.path, None, error.to_string());
                Ok(())
            }
            Ok(()) => Ok(()),
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

/// Drops the sessions of files that a database has, too: an update makes the database from the files and keeps them.
fn drop_migrated(sessions: &mut Vec<HistorySession>) {
    let in_database: HashSet<String> = sessions
        .iter()
        .filter(|session| session.format == HistoryFormat::OpenCodeDatabase)
        .map(|session| session.native_session_id.clone())
        .collect();
    sessions.retain(|session| {
        session.format != HistoryFormat::OpenCodeFiles || !in_database.contains(&session.native_session_id)
    });
}
