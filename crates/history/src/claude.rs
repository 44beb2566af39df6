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
mod tail;
mod translate;
mod turn;
mod usage;

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use interlingua_convert::claude::ClaudeConverter;

use crate::merge::MergedReader;
use crate::output::Output;
use crate::session::{Branch, HistoryFormat, HistorySession};
use crate::tail::Tail;
use crate::{ConvertOptions, HistoryError, HistoryReport, HistorySink};
use copies::{SessionIndex, index_root};
pub(crate) use copies::{is_session_file, session_id_of};
use line::{Line, LineKind};
use translate::Translator;

/// Reads the histories of Claude Code. Keeps what it knows of project folders, for the next session of the same folders.
#[derive(Debug, Default)]
pub(crate) struct ClaudeReader {
    indices: Mutex<BTreeMap<PathBuf, Arc<SessionIndex>>>,
}

impl ClaudeReader {
    fn index(&self, file: &Path) -> Arc<SessionIndex> {
        let root = index_root(file);
        // Other threads wait, because they need the same index.
        let mut indices = self.indices.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(indices.entry(root).or_insert_with_key(|root| Arc::new(SessionIndex::load(root))))
    }

    /// Forgets what is known of project folders.
    pub(crate) fn refresh(&self) {
        self.indices.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Converts one session.
    pub(crate) fn convert(
        &self,
        session: &HistorySession,
        options: ConvertOptions,
        sink: &mut dyn HistorySink,
        report: &mut HistoryReport,
    ) -> Result<(), HistoryError> {
        let (path, session_id) = (&session.path, session.native_session_id.clone());
        let scan = scan::scan(path, &session_id, options.branch)?;
        let index = self.index(path);
        let copies = index.find_copies(&session_id, &scan, path)?;
        let sub_agents = sub_agents::find(path, &session_id, &scan, index.flat_agents(), report);
        let remainders = if scan.has_aborted_message {
            usage::read_remainders(path, sub_agents.clone(), &copies)?
        } else {
            VecDeque::new()
        };
        let mut reader = MergedReader::open(path, sub_agents, options.is_growing)?;
        let mut output = Output::new(Box::new(ClaudeConverter::default()), &session_id, options, sink, report);
        let mut translator = Translator::new(session_id, scan, copies, remainders);
        while let Some(merged) = reader.next(output.report()) {
            translator.push(&merged, &mut output);
            output.end_record()?;
        }
        output.end_records()?;
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
        session.permission_mode = head.permission_mode.as_deref().map(|mode| translate::mode_name(mode).to_owned());
        let tail = Tail::read(path)?;
        session.last_activity = tail.last_activity();
        tail::describe(&tail, &mut session);
        Ok(Some(session))
    }

    /// The branches of a conversation, oldest first.
    pub(crate) fn branches(session: &HistorySession) -> Result<Vec<Branch>, HistoryError> {
        Ok(scan::scan(&session.path, &session.native_session_id, None)?.branches)
    }

    /// The files that a session consists of, besides its own.
    pub(crate) fn side_files(session: &HistorySession) -> Vec<PathBuf> {
        vec![sub_agents::folder_of(&session.path)]
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
