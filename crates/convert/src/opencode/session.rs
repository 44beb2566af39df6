//! State of a session and its lifecycle: created, updated, busy, idle, deleted.

use std::collections::BTreeMap;

use foldhash::HashMap;
use interlingua_native::opencode::{
    EventSessionCreatedProperties, EventSessionDeletedProperties, EventSessionIdleProperties,
    EventSessionStatusProperties, EventSessionUpdatedProperties, Session as Info, SessionStatus,
};
use interlingua_schema::{ContentPart, NativeMetadata, SessionMetadata};

use super::compaction::{OpenCompaction, Summary};
use super::messages::MessageState;
use super::next_keys::NextCall;
use super::parts::OpenPart;
use super::prompts::SentPrompt;
use super::retries::session_retry_note;
use super::tools::OpenTool;
use super::turn::Turn;
use super::user_messages::PendingUserMessage;
use super::{LOCATION, OpenCodeConverter, STATE_ECHO, report_incomplete};
use crate::draft::LastPlan;
use crate::sequencer::RecentMap;
use crate::version::parse_release;
use crate::{Drafts, Key, Note};

/// First release whose final texts equal the streamed ones. Earlier releases trim trailing whitespace.
const FIRST_RELEASE_KEEPING_WHITESPACE: (u64, u64) = (1, 15);
/// Number of messages and calls that a session remembers.
const MAX_REMEMBERED: usize = 1024;

/// All known sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// Sessions by native id. The map of std would need an owned key for every lookup that may insert.
    pub(super) map: hashbrown::HashMap<String, Box<Session>, foldhash::fast::RandomState>,
    pub(super) version: Option<String>,
    /// Deleted sessions. A few more events may name them.
    deleted: RecentMap<String, (), 256>,
    pub(super) has_deleted: bool,
}

impl Sessions {
    /// State of a session, which is created if it is unknown.
    pub(super) fn get_or_insert(&mut self, id: &str) -> &mut Session {
        let version = self.version.as_deref();
        self.map.entry_ref(id).or_insert_with(|| Box::new(Session::new(id, version)))
    }

    pub(super) fn is_deleted(&self, id: &str) -> bool {
        self.has_deleted && self.deleted.get(&id.to_owned()).is_some()
    }
}

/// A native session. Fields that few sessions need are boxed: allocations of more than 1 KiB are slow.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Session {
    pub(super) id: Key,
    /// Drafts exist for it: as a session, or as a sub-agent of one.
    pub(super) is_started: bool,
    pub(super) is_child: bool,
    /// The working directory was drafted.
    has_cwd: bool,
    /// Time of creation. Older messages were copied from another session.
    pub(super) created_at: Option<i64>,
    /// OpenCode may trim trailing whitespace from the final text.
    pub(super) trims_whitespace: bool,
    pub(super) messages: RecentMap<String, MessageState, MAX_REMEMBERED>,
    /// User messages that are incomplete, or that the agent has not started on.
    pub(super) pending_user_messages: Vec<PendingUserMessage>,
    /// Streaming texts and reasoning, by part id.
    pub(super) open_parts: BTreeMap<String, OpenPart>,
    pub(super) open_tools: HashMap<String, OpenTool>,
    /// Native ids of the known calls.
    pub(super) known_call_ids: RecentMap<String, (), MAX_REMEMBERED>,
    /// Calls that a request opened before their part came. Their key is the call id instead of the part id.
    pub(super) calls_opened_by_request: RecentMap<String, (), 64>,
    /// Diffs of permission requests, by call id.
    pub(super) permission_diffs: HashMap<String, String>,
    pub(super) last_plan: LastPlan,
    pub(super) turn: Turn,
    /// Failures of the previous turn, which OpenCode may report again.
    pub(super) previous_failures: Vec<String>,
    /// The host has sent a prompt since the previous turn.
    pub(super) has_new_prompt: bool,
    /// Calls of the v2 API, by call id.
    pub(super) next_calls: RecentMap<String, NextCall, MAX_REMEMBERED>,
    /// Running compaction.
    pub(super) open_compaction: Option<Box<OpenCompaction>>,
    /// Latest message with the summary of a compaction.
    pub(super) summary: Option<Box<Summary>>,
    pub(super) agent: Option<String>,
    pub(super) model: Option<String>,
    /// Prompts without an echo.
    pub(super) sent_prompts: Vec<SentPrompt>,
    /// Texts of the user message that was shown last.
    pub(super) last_user_texts: Vec<String>,
    /// Parts of user messages that were shown.
    pub(super) shown_parts: RecentMap<String, (), 256>,
    title: Option<String>,
    share_url: Option<String>,
    is_reverted: bool,
}

impl Session {
    fn new(id: &str, version: Option<&str>) -> Self {
        Self {
            id: id.into(),
            is_started: false,
            is_child: false,
            has_cwd: false,
            created_at: None,
            trims_whitespace: trims_whitespace(version),
            messages: RecentMap::default(),
            pending_user_messages: Vec::new(),
            open_parts: BTreeMap::new(),
            open_tools: HashMap::default(),
            known_call_ids: RecentMap::default(),
            calls_opened_by_request: RecentMap::default(),
            last_plan: LastPlan::default(),
            permission_diffs: HashMap::default(),
            turn: Turn::default(),
            previous_failures: Vec::new(),
            has_new_prompt: false,
            next_calls: RecentMap::default(),
            open_compaction: None,
            summary: None,
            agent: None,
            model: None,
            sent_prompts: Vec::new(),
            last_user_texts: Vec::new(),
            shown_parts: RecentMap::default(),
            title: None,
            share_url: None,
            is_reverted: false,
        }
    }

    /// Forgets the state of the process that has exited.
    pub(super) fn reset_process_state(&mut self) {
        self.turn = Turn::default();
        self.pending_user_messages.clear();
        self.open_parts.clear();
        self.open_tools.clear();
        self.permission_diffs.clear();
        self.open_compaction = None;
        self.sent_prompts.clear();
    }

    /// Starts the session with its metadata.
    fn start(&mut self, info: &Info, version: Option<&str>, out: &mut Drafts) {
        self.created_at = info.time.as_ref().and_then(|time| time.created);
        if info.version.is_some() {
            self.trims_whitespace = trims_whitespace(info.version.as_deref());
        }
        self.title.clone_from(&info.title);
        self.is_started = true;
        let mut metadata = session_metadata(info);
        metadata.agent_version = metadata.agent_version.or_else(|| version.map(str::to_owned));
        self.has_cwd = metadata.cwd.is_some();
        self.model = self.model.take().or_else(|| metadata.model.clone());
        self.agent = self.agent.take().or_else(|| metadata.agent_mode.clone());
        out.session(self.id.as_str()).started(metadata);
        self.confirm_exists(out);
    }

    /// Sets the working directory if it is unknown, as it is for a session from before the log.
    pub(super) fn set_cwd(&mut self, cwd: Option<&str>, out: &mut Drafts) {
        if let Some(cwd) = cwd.filter(|_| !self.has_cwd) {
            self.has_cwd = true;
            let mut metadata = SessionMetadata::default();
            metadata.cwd = Some(cwd.to_owned());
            out.session(self.id.as_str()).started(metadata);
        }
    }

    /// Takes over the title, share link and revert state. Returns a note for each change.
    fn apply_info(&mut self, info: Info) -> Vec<Note> {
        let mut notes = Vec::new();
        let mut notice = |detail: String| notes.push(Note::notice(detail));
        if let Some(title) = info.title
            && self.title.as_ref() != Some(&title)
        {
            if self.title.is_some() {
                notice(format!("title: {title}"));
            }
            self.title = Some(title);
        }
        let url = info.share.and_then(|share| share.url);
        if url != self.share_url {
            notice(url.as_ref().map_or_else(|| "no longer shared".to_owned(), |url| format!("shared: {url}")));
            self.share_url = url;
        }
        if self.is_reverted != info.revert.is_some() {
            self.is_reverted = info.revert.is_some();
            match info.revert {
                None => notice("the revert is over".to_owned()),
                Some(revert) => {
                    let to = revert.message_id.unwrap_or_default();
                    notes.push(revert_note(&to, revert.diff));
                }
            }
        }
        notes
    }
}

impl OpenCodeConverter {
    pub(super) fn session_created(&mut self, properties: Option<EventSessionCreatedProperties>, out: &mut Drafts) {
        match properties.and_then(|properties| properties.info) {
            Some(info) => self.register_session(&info, out),
            None => report_incomplete("session.created", out),
        }
    }

    /// Starts a session that was announced, unless it has started: one of the host or a sub-agent.
    pub(super) fn register_session(&mut self, info: &Info, out: &mut Drafts) {
        let is_requested_by_host = self.http_requests.creates(info);
        let version = self.sessions.version.clone();
        let session = self.sessions.get_or_insert(&info.id);
        if session.is_started {
            session.created_at = session.created_at.or(info.time.as_ref().and_then(|time| time.created));
            return out.dropped(STATE_ECHO);
        }
        match &info.parent_id {
            Some(parent) if !is_requested_by_host => {
                session.is_child = true;
                out.session(&info.id).child_of(parent.as_str());
                session.start(info, version.as_deref(), out);
            }
            _ => session.start(info, version.as_deref(), out),
        }
    }

    pub(super) fn session_updated(&mut self, properties: Option<EventSessionUpdatedProperties>, out: &mut Drafts) {
        let Some(info) = properties.and_then(|properties| properties.info) else {
            return report_incomplete("session.updated", out);
        };
        if !self.sessions.map.get(&info.id).is_some_and(|session| session.is_started) {
            return self.register_session(&info, out);
        }
        let session = self.sessions.get_or_insert(&info.id);
        session.show_user_messages(None, out);
        let notes = session.apply_info(info);
        if notes.is_empty() {
            out.dropped(STATE_ECHO);
        }
        for note in notes {
            out.session(session.id.as_str()).note(note);
        }
    }

    pub(super) fn session_deleted(&mut self, properties: Option<EventSessionDeletedProperties>, out: &mut Drafts) {
        let Some(info) = properties.and_then(|properties| properties.info) else {
            return report_incomplete("session.deleted", out);
        };
        let Some(mut session) = self.sessions.map.remove(&info.id).filter(|session| session.is_started) else {
            return out.dropped(STATE_ECHO);
        };
        self.sessions.has_deleted = true;
        self.sessions.deleted.insert(info.id.clone(), ());
        if session.turn.is_open {
            session.turn.interrupted = true;
            session.end_turn(out);
        }
        out.session(&info.id).note(Note::notice("session deleted"));
    }

    pub(super) fn session_status(
        &mut self,
        properties: Option<EventSessionStatusProperties>,
        text: &str,
        out: &mut Drafts,
    ) {
        let Some(EventSessionStatusProperties { session_id: Some(id), status: Some(status), .. }) = properties else {
            return report_incomplete("session.status", out);
        };
        let is_asking = self.has_pending_request(&id);
        let session = self.sessions.get_or_insert(&id);
        session.confirm_exists(out);
        match status {
            SessionStatus::Idle(_) => session.handle_idle(is_asking, out),
            SessionStatus::Busy(_) => {
                session.show_user_messages(None, out);
                session.turn.is_active = true;
            }
            SessionStatus::Retry(retry) => {
                session.abandon_parts(None, out);
                out.session(&id).note(session_retry_note(retry, text));
            }
            SessionStatus::Unknown { .. } => {
                out.current_session().unparsed(LOCATION, "unknown status", Some("session.status".to_owned()));
            }
        }
        out.dropped(STATE_ECHO);
    }

    pub(super) fn session_idle(&mut self, properties: Option<EventSessionIdleProperties>, out: &mut Drafts) {
        let Some(id) = properties.and_then(|properties| properties.session_id) else {
            return report_incomplete("session.idle", out);
        };
        let is_asking = self.has_pending_request(&id);
        self.sessions.get_or_insert(&id).handle_idle(is_asking, out);
        out.dropped(STATE_ECHO);
    }
}

/// Note for a conversation that is reverted to before a message.
pub(super) fn revert_note(message: &str, diff: Option<String>) -> Note {
    let note = Note::notice(format!("reverted to before message {message}"));
    match diff.filter(|diff| !diff.is_empty()) {
        Some(diff) => note.with_part(ContentPart::text(diff)),
        None => note,
    }
}

/// Metadata of a session that starts.
fn session_metadata(info: &Info) -> SessionMetadata {
    let model = info.model.as_ref();
    let mut metadata = SessionMetadata::default();
    metadata.agent_version.clone_from(&info.version);
    metadata.cwd.clone_from(&info.directory);
    metadata.model = model.and_then(|model| model.id.clone());
    metadata.agent_mode.clone_from(&info.agent);
    metadata.native = NativeMetadata::new()
        .with("title", info.title.as_deref())
        .with("provider", model.and_then(|model| model.provider_id.as_deref()))
        .with("project", info.project_id.as_deref())
        .non_empty();
    metadata
}

/// Whether this version trims trailing whitespace from texts. An unknown version may.
fn trims_whitespace(version: Option<&str>) -> bool {
    version.and_then(parse_release).is_none_or(|release| release < FIRST_RELEASE_KEEPING_WHITESPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_small() {
        assert!(size_of::<Session>() <= 1024, "{}", size_of::<Session>());
    }
}
