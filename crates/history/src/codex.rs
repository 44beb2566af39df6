//! Codex: one rollout file of lines per thread, below `$CODEX_HOME/sessions`.
//!
//! A line wraps an event of the core (`event_msg`) or an item of the model's API (`response_item`), and most of what
//! happens is in both. What the app server sends on its wire is made from the events, so the events are translated, and
//! the API's items only where there is no event: calls that were declined, and in older formats all commands.

mod changes;
mod home;
mod items;
mod legacy;
mod legacy_events;
mod line;
mod model_calls;
mod scan;
mod thread_settings;
mod translate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use interlingua_convert::codex::CodexConverter;

use crate::merge::{MergedReader, SubAgentFile};
use crate::output::Output;
use crate::session::{HistoryFormat, HistorySession};
use crate::tail::last_activity;
use crate::{ConvertOptions, HistoryError, HistoryReport, HistorySink};
pub(crate) use home::is_rollout_file;
use home::{Home, Rollout};
pub(crate) use line::is_line;
use translate::{ThreadInfo, Translator};

/// Reads the histories of Codex. Keeps what it knows of a home folder, for the next session of the same home.
#[derive(Debug, Default)]
pub(crate) struct CodexReader {
    homes: BTreeMap<PathBuf, Home>,
}

impl CodexReader {
    fn home(&mut self, file: &Path) -> Result<&Home, HistoryError> {
        let folder = home::sessions_folder(file);
        if !self.homes.contains_key(&folder) {
            self.homes.insert(folder.clone(), Home::load(&folder)?);
        }
        Ok(&self.homes[&folder])
    }

    /// Converts one session.
    pub(crate) fn convert(
        &mut self,
        path: &Path,
        options: ConvertOptions,
        sink: &mut dyn HistorySink,
        report: &mut HistoryReport,
    ) -> Result<(), HistoryError> {
        let home = self.home(path)?;
        let mut output = Output::new(Box::new(CodexConverter::default()), options.conversion, sink, report);
        let Some(root) = home.rollout(path) else { return output.finish() };
        let members = home.members(root);
        let mut translator = Translator::default();
        let main = ThreadInfo::load(home, root, None)?;
        let main_index = translator.add_thread(main);
        let mut files = Vec::new();
        for (rollout, role) in members {
            let index = translator.add_thread(ThreadInfo::load(home, rollout, Some(role))?);
            files.push(SubAgentFile { path: rollout.path.clone(), starts_at: rollout.starts_at, sub_agent: index });
        }
        files.sort_by(|a, b| (a.starts_at, &a.path).cmp(&(b.starts_at, &b.path)));
        let mut reader = MergedReader::open(path, files)?;
        while let Some(merged) = reader.next()? {
            let index = merged.sub_agent.unwrap_or(main_index);
            translator.push(index, &merged.record, &merged.path, &mut output);
            output.end_record()?;
        }
        translator.finish(&mut output);
        output.finish()
    }

    /// Describes a session. Threads of sub-agents are part of their sessions: `None`.
    pub(crate) fn describe(&mut self, path: &Path) -> Result<Option<HistorySession>, HistoryError> {
        let home = self.home(path)?;
        let Some(rollout) = home.rollout(path).filter(|rollout| !home.is_part_of_session(rollout)) else {
            return Ok(None);
        };
        Ok(Some(describe(rollout)?))
    }

    /// Describes a thread, even if it is a sub-agent's.
    pub(crate) fn describe_file(&mut self, path: &Path) -> Result<Option<HistorySession>, HistoryError> {
        self.home(path)?.rollout(path).map(describe).transpose()
    }
}

fn describe(rollout: &Rollout) -> Result<HistorySession, HistoryError> {
    let mut session = HistorySession::new(HistoryFormat::CodexRollout, &rollout.thread_id, &rollout.path);
    session.directory.clone_from(&rollout.cwd);
    session.agent_version.clone_from(&rollout.version);
    session.started_at = rollout.starts_at;
    session.parent.clone_from(&rollout.parent);
    session.title = match &rollout.name {
        Some(name) => Some(name.clone()),
        None => scan::first_prompt(&rollout.path)?,
    };
    session.last_activity = last_activity(&rollout.path)?;
    Ok(session)
}
