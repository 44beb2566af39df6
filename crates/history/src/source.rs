//! Finds the sessions of a path, and converts them.

use std::path::{Path, PathBuf};

use foldhash::{HashMap, HashSet};

use crate::claude::{self, ClaudeReader};
use crate::codex::{self, CodexReader, Described};
use crate::discovery::{self, Found, is_database_file};
use crate::opencode::{self, OpenCodeReader};
use crate::record_reader::RecordReader;
use crate::session::{Branch, HistoryFormat, HistorySession};
use crate::{ConvertOptions, HistoryError, HistoryReport, HistorySink};

/// Number of lines that are read to detect the format of a file.
const DETECTION_LINES: usize = 20;
/// Maximum number of damaged lines before these.
const MAX_DAMAGED_LINES: usize = 1000;

/// The format of a file; `None` if it is not a history.
///
/// # Errors
/// If the file cannot be read.
pub fn detect_format(path: &Path) -> Result<Option<HistoryFormat>, HistoryError> {
    match detect(path)? {
        Detected::Format(format) => Ok(Some(format)),
        Detected::Damaged | Detected::Empty | Detected::Other => Ok(None),
    }
}

/// What a file looks like.
enum Detected {
    Format(HistoryFormat),
    /// Only lines that are not JSON.
    Damaged,
    Empty,
    Other,
}

fn detect(path: &Path) -> Result<Detected, HistoryError> {
    if opencode::is_database(path) {
        return Ok(Detected::Format(HistoryFormat::OpenCodeDatabase));
    }
    if opencode::storage_folder(path).is_some() {
        return Ok(Detected::Format(HistoryFormat::OpenCodeFiles));
    }
    let mut reader = RecordReader::open(path)?;
    let (mut intact, mut damaged) = (0, 0);
    while intact < DETECTION_LINES && damaged < MAX_DAMAGED_LINES {
        let Some(record) = reader.next() else { break };
        let is_json = |text: &&String| serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
        let Some(record) = record.text.as_ref().ok().filter(is_json) else {
            damaged += 1;
            continue;
        };
        intact += 1;
        if codex::is_line(record) {
            return Ok(Detected::Format(HistoryFormat::CodexRollout));
        }
        if claude::is_line(record) {
            return Ok(Detected::Format(HistoryFormat::ClaudeLines));
        }
    }
    Ok(match (intact, damaged) {
        (0, 0) => Detected::Empty,
        (0, _) => Detected::Damaged,
        _ => Detected::Other,
    })
}

/// Reads the sessions of agents. Several threads can use it at the same time.
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

    /// Forgets what is known of folders and databases, before they are read again.
    pub fn refresh(&self) {
        self.claude.refresh();
        self.codex.refresh();
        self.opencode.refresh();
    }

    /// The sessions of files, and of all histories below folders, oldest first. Sub-agents are part of their sessions.
    /// A session that is in several files is listed once.
    ///
    /// # Errors
    /// If one of the paths cannot be read. A file or folder below one that cannot be read is in the report.
    pub fn sessions(&self, paths: &[PathBuf], report: &mut HistoryReport) -> Result<Vec<HistorySession>, HistoryError> {
        self.sessions_with_progress(paths, report, &mut |_, _| {})
    }

    /// As [`sessions`](Self::sessions). `progress` gets the number of files that were looked at, and of all that are known.
    ///
    /// # Errors
    /// If one of the paths cannot be read.
    pub fn sessions_with_progress(
        &self,
        paths: &[PathBuf],
        report: &mut HistoryReport,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<HistorySession>, HistoryError> {
        let mut sessions = Vec::new();
        let mut seen = HashSet::default();
        let (mut done, mut total) = (0, 0);
        for path in paths {
            let found = find(path, report)?;
            total += found.files.len();
            for folder in found.storage_folders.into_iter().filter(|folder| seen.insert(canonical(folder))) {
                match self.opencode.describe_files(&folder, report) {
                    Ok(found) => sessions.extend(found),
                    Err(error) => report.add_error(&folder, &error),
                }
            }
            for file in found.files {
                done += 1;
                progress(done, total);
                if !seen.insert(canonical(&file)) {
                    continue;
                }
                match self.describe(&file, path.is_file(), report) {
                    Ok(found) => sessions.extend(found),
                    Err(error) => report.add_error(&file, &error),
                }
            }
        }
        let mut sessions = drop_copies(sessions, report);
        sessions.sort_by(|a, b| (a.started_at, &a.native_session_id).cmp(&(b.started_at, &b.native_session_id)));
        Ok(sessions)
    }

    /// Converts one session with its sub-agents.
    ///
    /// # Errors
    /// If the events cannot be written. What cannot be read is in the report. A damaged record is an `agent.unparsed`
    /// event, too.
    pub fn convert(
        &self,
        session: &HistorySession,
        options: ConvertOptions,
        sink: &mut dyn HistorySink,
        report: &mut HistoryReport,
    ) -> Result<(), HistoryError> {
        let converted = match session.format {
            HistoryFormat::ClaudeLines => self.claude.convert(session, options, sink, report),
            HistoryFormat::CodexRollout => self.codex.convert(session, options, sink, report),
            HistoryFormat::OpenCodeDatabase | HistoryFormat::OpenCodeFiles => {
                self.opencode.convert(session, options, sink, report)
            }
        };
        match converted {
            Err(error @ HistoryError::Write(_)) => Err(error),
            Err(error) => {
                report.add_error(&session.path, &error);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// The branches of a conversation, oldest first. The last one is the current one. Of the agents whose conversations are
    /// trees on disk; of others, there is one without a prompt.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn branches(&self, session: &HistorySession) -> Result<Vec<Branch>, HistoryError> {
        match session.format {
            HistoryFormat::ClaudeLines => ClaudeReader::branches(session),
            _ => Ok(vec![Branch { prompt: String::new(), time: None }]),
        }
    }

    /// The files and folders that change when a session goes on, besides its own file.
    pub(crate) fn side_files(&self, session: &HistorySession) -> Vec<PathBuf> {
        match session.format {
            HistoryFormat::ClaudeLines => ClaudeReader::side_files(session),
            HistoryFormat::CodexRollout => self.codex.side_files(session),
            HistoryFormat::OpenCodeDatabase | HistoryFormat::OpenCodeFiles => OpenCodeReader::side_files(session),
        }
    }

    /// The sessions in a file. A file that was named is shown even if it is a sub-agent's.
    fn describe(
        &self,
        file: &Path,
        is_named: bool,
        report: &mut HistoryReport,
    ) -> Result<Vec<HistorySession>, HistoryError> {
        let detected = detect(file)?;
        // Damaged lines do not hide what a file is: its name tells.
        let format = match detected {
            Detected::Format(format) => Some(format),
            Detected::Damaged | Detected::Empty | Detected::Other if codex::is_rollout_file(file) => {
                Some(HistoryFormat::CodexRollout)
            }
            _ => None,
        };
        if matches!(detected, Detected::Empty) {
            // Claude Code writes empty files, besides the session files.
            if is_named || codex::is_rollout_file(file) || is_database_file(file) {
                report.add_problem(file, None, "expected a session, found an empty file");
            } else {
                report.drop_record("empty file");
            }
            return Ok(Vec::new());
        }
        let session = match format {
            Some(HistoryFormat::ClaudeLines) => ClaudeReader::describe(file)?,
            Some(HistoryFormat::CodexRollout) => match self.codex.describe(file, is_named)? {
                Described::Session(session) => Some(*session),
                Described::Copy => {
                    report.drop_record(COPY);
                    None
                }
                Described::Part | Described::Other => None,
            },
            Some(HistoryFormat::OpenCodeDatabase) => return self.opencode.describe_database(file, report),
            Some(HistoryFormat::OpenCodeFiles) => {
                let folder = opencode::storage_folder(file).unwrap_or_default();
                let sessions = self.opencode.describe_files(&folder, report)?;
                let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
                return Ok(sessions.into_iter().filter(|session| session.native_session_id == name).collect());
            }
            None => {
                if is_database_file(file) {
                    report.add_problem(file, None, "expected an SQLite database, found something else");
                } else if matches!(detected, Detected::Damaged) {
                    report.add_problem(file, None, "expected lines of JSON, found none that is intact");
                }
                None
            }
        };
        Ok(session.into_iter().collect())
    }
}

/// Drop reason for a file with a session that another file has, too.
const COPY: &str = "file with a session that another file has";

fn find(path: &Path, report: &mut HistoryReport) -> Result<Found, HistoryError> {
    if path.is_dir() {
        discovery::find(path, report)
    } else {
        Ok(Found { files: vec![path.to_owned()], ..Found::default() })
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Keeps one of several files with the same session: a database, because an update makes it from files and keeps them;
/// else the one that was written last.
fn drop_copies(sessions: Vec<HistorySession>, report: &mut HistoryReport) -> Vec<HistorySession> {
    let rank = |session: &HistorySession| {
        let length = session.path.metadata().map(|metadata| metadata.len()).unwrap_or_default();
        (session.format == HistoryFormat::OpenCodeDatabase, session.last_activity, length)
    };
    let mut kept: Vec<HistorySession> = Vec::new();
    let mut positions: HashMap<(interlingua_agents::Agent, String), usize> = HashMap::default();
    for session in sessions {
        let key = (session.agent(), session.native_session_id.clone());
        if let Some(known) = positions.get(&key).and_then(|position| kept.get_mut(*position)) {
            report.drop_record(COPY);
            if rank(&session) > rank(known) {
                *known = session;
            }
        } else {
            positions.insert(key, kept.len());
            kept.push(session);
        }
    }
    kept
}
