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
mod tail;
mod thread_settings;
mod translate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use interlingua_convert::codex::CodexConverter;

use crate::merge::{MergedReader, SubAgentFile};
use crate::output::Output;
use crate::session::{HistoryFormat, HistorySession};
use crate::tail::Tail;
use crate::{ConvertOptions, HistoryError, HistoryReport, HistorySink};
pub(crate) use home::is_rollout_file;
use home::{Home, Rollout};
pub(crate) use line::is_line;
use translate::{ThreadInfo, Translator};

/// Reads the histories of Codex. Keeps what it knows of a home folder, for the next session of the same home.
#[derive(Debug, Default)]
pub(crate) struct CodexReader {
    homes: Mutex<BTreeMap<PathBuf, Arc<Home>>>,
}

/// What a rollout file is.
pub(crate) enum Described {
    /// A session.
    Session(Box<HistorySession>),
    /// Part of a session: a sub-agent, a review, or work of the agent for itself.
    Part,
    /// A copy of a session that another file has.
    Copy,
    /// No rollout.
    Other,
}

impl CodexReader {
    fn home(&self, file: &Path) -> Arc<Home> {
        let folder = home::sessions_folder(file);
        // Other threads wait, because they need the same home.
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(homes.entry(folder).or_insert_with_key(|folder| Arc::new(Home::load(folder))))
    }

    /// Forgets what is known of home folders.
    pub(crate) fn refresh(&self) {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Converts one session.
    pub(crate) fn convert(
        &self,
        session: &HistorySession,
        options: ConvertOptions,
        sink: &mut dyn HistorySink,
        report: &mut HistoryReport,
    ) -> Result<(), HistoryError> {
        let path = &session.path;
        let home = self.home(path);
        let Some(root) = home.rollout(path) else { return Ok(()) };
        let mut translator = Translator::default();
        let main_index = translator.add_thread(ThreadInfo::load(&home, root, None)?);
        let mut files = Vec::new();
        for (rollout, role) in home.members(root) {
            match ThreadInfo::load(&home, rollout, Some(role)) {
                Ok(thread) => {
                    let sub_agent = translator.add_thread(thread);
                    files.push(SubAgentFile { path: rollout.path.clone(), starts_at: rollout.starts_at, sub_agent });
                }
                Err(error) => report.add_error(&rollout.path, &error),
            }
        }
        files.sort_by(|a, b| (a.starts_at, &a.path).cmp(&(b.starts_at, &b.path)));
        let mut reader = MergedReader::open(path, files, options.is_growing)?;
        let converter = Box::new(CodexConverter::default());
        let mut output = Output::new(converter, &session.native_session_id, options, sink, report);
        while let Some(merged) = reader.next(output.report()) {
            let index = merged.sub_agent.unwrap_or(main_index);
            translator.push(index, &merged.record, &merged.path, &mut output);
            output.end_record()?;
        }
        output.end_records()?;
        translator.finish(&mut output);
        output.finish()
    }

    /// Describes a rollout file. `is_named`: it is described even if it is a part or a copy of another session.
    pub(crate) fn describe(&self, path: &Path, is_named: bool) -> Result<Described, HistoryError> {
        let home = self.home(path);
        let Some(rollout) = home.rollout(path) else { return Ok(Described::Other) };
        if home.is_part_of_session(rollout) && !is_named {
            return Ok(Described::Part);
        }
        if home.is_copy(rollout) && !is_named {
            return Ok(Described::Copy);
        }
        Ok(Described::Session(Box::new(describe(rollout)?)))
    }

    /// The files that a session consists of, besides its own.
    pub(crate) fn side_files(&self, session: &HistorySession) -> Vec<PathBuf> {
        let home = self.home(&session.path);
        let members = home.rollout(&session.path).map(|root| home.members(root)).unwrap_or_default();
        members.into_iter().map(|(rollout, _)| rollout.path.clone()).collect()
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
    let tail = Tail::read(&rollout.path)?;
    session.last_activity = tail.last_activity();
    tail::describe(&tail, &mut session);
    Ok(session)
}
