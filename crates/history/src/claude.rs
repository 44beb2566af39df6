//! Claude Code: one file of lines per session, below `~/.claude/projects`.
//!
//! The lines are nearly what Claude Code prints on its wire, so most of them are translated field by field. The file says
//! neither when a turn starts nor when it ends, which [`turn`] infers from the prompts.

mod attachments;
mod copies;
mod line;
mod scan;
mod sub_agents;
mod system;
mod translate;
mod turn;
mod usage;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use interlingua_convert::claude::ClaudeConverter;

use crate::merge::MergedReader;
use crate::output::Output;
use crate::session::{HistoryFormat, HistorySession};
use crate::tail::last_activity;
use crate::{ConvertOptions, HistoryError, HistoryReport, HistorySink};
use copies::Project;
pub(crate) use copies::{is_session_file, session_id_of};
use line::{Line, LineKind};
use translate::Translator;

/// Reads the histories of Claude Code. Keeps what it knows of project folders, for the next session of the same folder.
#[derive(Debug, Default)]
pub(crate) struct ClaudeReader {
    projects: BTreeMap<PathBuf, Project>,
}

impl ClaudeReader {
    fn project(&mut self, file: &Path) -> Result<&Project, HistoryError> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !self.projects.contains_key(folder) {
            self.projects.insert(folder.to_owned(), Project::load(folder)?);
        }
        Ok(&self.projects[folder])
    }

    /// Converts one session.
    pub(crate) fn convert(
        &mut self,
        path: &Path,
        options: ConvertOptions,
        sink: &mut dyn HistorySink,
        report: &mut HistoryReport,
    ) -> Result<(), HistoryError> {
        let session_id = session_id_of(path);
        let scan = scan::scan(path, &session_id)?;
        let copies = self.project(path)?.find_copies(path, &session_id, &scan)?;
        let sub_agents = sub_agents::find(path, &session_id, &scan)?;
        let mut reader = MergedReader::open(path, sub_agents)?;
        let mut output = Output::new(Box::new(ClaudeConverter::default()), options.conversion, sink, report);
        let mut translator = Translator::new(session_id, scan, copies);
        while let Some(merged) = reader.next()? {
            translator.push(&merged, &mut output);
            output.end_record()?;
        }
        translator.finish(&mut output);
        output.finish()
    }

    /// Describes a session by the beginning and the end of its file; `None` if the file has no conversation.
    pub(crate) fn describe(path: &Path) -> Result<Option<HistorySession>, HistoryError> {
        let head = scan::head(path)?;
        let Some(version) = head.version else { return Ok(None) };
        let mut session = HistorySession::new(HistoryFormat::ClaudeLines, session_id_of(path), path);
        session.title = head.first_prompt;
        session.directory = head.cwd;
        session.agent_version = Some(version);
        session.started_at = head.first_time;
        session.last_activity = last_activity(path)?;
        Ok(Some(session))
    }
}

/// Whether a line is one of a Claude Code session file.
pub(crate) fn is_line(text: &str) -> bool {
    let Ok(line) = Line::parse(text) else { return false };
    match line.kind() {
        LineKind::User | LineKind::Assistant | LineKind::System | LineKind::Attachment => {
            line.uuid.is_some() && line.session_id.is_some() && line.version.is_some()
        }
        LineKind::QueueOperation => line.session_id.is_some() && line.operation.is_some(),
        LineKind::Summary => line.leaf_uuid.is_some(),
        LineKind::StateEcho
        | LineKind::CostState
        | LineKind::Bookkeeping
        | LineKind::Progress
        | LineKind::ApiRequest => true,
        LineKind::Unknown => false,
    }
}
