//! What is remembered of a session, and its life: created, renamed, busy, idle, gone.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};
use interlingua_native::opencode::{
    EventSessionCreatedProperties, EventSessionDeletedProperties, EventSessionIdleProperties,
    EventSessionStatusProperties, EventSessionUpdatedProperties, Session as Info, SessionStatus,
};
use interlingua_schema::{ContentPart, ErrorCode, NativeMetadata, SessionMetadata, TurnMetadata, TurnStatus};

use super::compaction::{Compaction, OpenCompaction, Summary};
use super::finish::Finish;
use super::messages::Known;
use super::next_names::NextCall;
use super::parts::OpenPart;
use super::retries::session_retries;
use super::sent::Sent;
use super::tools::OpenTool;
use super::users::PendingUser;
use super::{HERE, OpenCodeConverter, STATE_ECHO, incomplete};
use crate::draft::LastPlan;
use crate::sequencer::RecentMap;
use crate::version::parse_release;
use crate::{Drafts, Failure, Key, Note, TurnEnd};

/// The first version whose final texts are what was streamed; those before it cut white space off the end.
const KEEPS_WHITE_SPACE: (u64, u64) = (1, 15);
/// So many messages of a session are remembered.
const REMEMBERED: usize = 1024;

/// The sessions that were spoken of.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// By native id. Std's map would need an owned key for every lookup that may insert.
    pub(super) map: hashbrown::HashMap<String, Box<Session>, foldhash::fast::RandomState>,
    pub(super) version: Option<String>,
    /// Those that are gone, of which a few words may still come.
    deleted: RecentMap<String, (), 256>,
    pub(super) any_deleted: bool,
}

impl Sessions {
    /// What is known of a session.
    pub(super) fn of(&mut self, id: &str) -> &mut Session {
        let version = self.version.as_deref();
        self.map.entry_ref(id).or_insert_with(|| Box::new(Session::new(id, version)))
    }

    pub(super) fn is_deleted(&self, id: &str) -> bool {
        self.any_deleted && self.deleted.get(&id.to_owned()).is_some()
    }
}

/// A native session. What few have is boxed: one of more than 1 KiB makes the allocator slow.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Session {
    pub(super) id: Key,
    /// A universal session, or a sub-agent's part of one, has begun for it.
    pub(super) begun: bool,
    pub(super) is_child: bool,
    /// The directory that it works in has been told.
    knows_cwd: bool,
    /// When it was created; messages from before are another session's, copied.
    pub(super) created: Option<i64>,
    /// The white space at the end of a text may yet be cut off.
    pub(super) trims: bool,
    pub(super) messages: RecentMap<String, Known, REMEMBERED>,
    /// User messages that are not complete, or not taken up.
    pub(super) users: Vec<PendingUser>,
    /// Texts and reasoning that stream.
    pub(super) parts: BTreeMap<String, OpenPart>,
    pub(super) tools: HashMap<String, OpenTool>,
    /// The agent's ids of calls that were told of.
    pub(super) known_calls: RecentMap<String, (), REMEMBERED>,
    /// Calls that were opened by what they asked, before their part came; they keep their own ids as keys.
    pub(super) asked_first: RecentMap<String, (), 64>,
    /// Diffs that permissions were asked with, by tool call.
    pub(super) diffs: HashMap<String, String>,
    pub(super) plan: LastPlan,
    pub(super) run: Run,
    /// The failures of the turn before, which may be told again.
    pub(super) failures_before: Vec<String>,
    /// The host has sent a prompt since.
    pub(super) prompted_since: bool,
    /// Calls of the v2 API by their ids.
    pub(super) next_calls: RecentMap<String, NextCall, REMEMBERED>,
    /// The compaction that is going on.
    pub(super) compaction: Option<Box<OpenCompaction>>,
    /// The latest message that sums up the conversation.
    pub(super) summary: Option<Box<Summary>>,
    pub(super) agent: Option<String>,
    pub(super) model: Option<String>,
    /// Prompts that the agent has not taken up.
    pub(super) sent: Vec<Sent>,
    /// The texts of the user message that was shown last.
    pub(super) last_said: Vec<String>,
    /// Parts of user messages that are shown.
    pub(super) shown_parts: RecentMap<String, (), 256>,
    title: Option<String>,
    shared: Option<String>,
    reverted: bool,
}

/// What goes on between a user's message and the session being idle again.
#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own, told by another payload")]
pub(super) struct Run {
    /// A turn has begun.
    pub(super) turn_open: bool,
    /// The agent has taken it up.
    pub(super) active: bool,
    /// The agent has begun a message.
    pub(super) answered: bool,
    /// The session is idle, but a message is not complete yet.
    pub(super) idle: bool,
    /// The agent's messages that are not complete.
    pub(super) open_messages: Vec<String>,
    /// Why the latest step ended.
    pub(super) finish: Option<String>,
    /// What is being said, in the v2 API, and how often it began again.
    pub(super) saying: Vec<String>,
    pub(super) retries: u32,
    pub(super) compaction: Compaction,
    /// The host asked for an interrupt.
    pub(super) interrupt_requested: bool,
    /// The host did so before the agent had repeated the prompt, which may go on all the same.
    pub(super) interrupt_early: bool,
    /// The agent says that it was interrupted.
    pub(super) interrupted: bool,
    /// The user refused something, and no step has begun since. In the v2 API that may be the end.
    pub(super) declined: bool,
    /// It failed, and has not recovered since.
    pub(super) failed: bool,
    /// It failed before the agent had repeated the prompt, which it may yet do.
    pub(super) failed_early: bool,
    /// A failure that is not told, because the agent may go on.
    pub(super) held: Option<Box<Failure>>,
    /// The failures that were told.
    pub(super) failures: Vec<String>,
    /// Steps, and messages with steps, whose figures are counted.
    pub(super) counted: HashSet<String>,
    /// Messages whose figures were counted before any of their steps was told.
    pub(super) counted_whole: HashSet<String>,
}

impl Session {
    fn new(id: &str, version: Option<&str>) -> Self {
        Self {
            id: id.into(),
            begun: false,
            is_child: false,
            knows_cwd: false,
            created: None,
            trims: trims(version),
            messages: RecentMap::default(),
            users: Vec::new(),
            parts: BTreeMap::new(),
            tools: HashMap::default(),
            known_calls: RecentMap::default(),
            asked_first: RecentMap::default(),
            plan: LastPlan::default(),
            diffs: HashMap::default(),
            run: Run::default(),
            failures_before: Vec::new(),
            prompted_since: false,
            next_calls: RecentMap::default(),
            compaction: None,
            summary: None,
            agent: None,
            model: None,
            sent: Vec::new(),
            last_said: Vec::new(),
            shown_parts: RecentMap::default(),
            title: None,
            shared: None,
            reverted: false,
        }
    }

    /// What the agent says and does now is in a turn.
    pub(super) fn ensure_turn(&mut self, out: &mut Drafts) {
        self.run.active = true;
        if !self.run.turn_open {
            self.run.turn_open = true;
            self.begun = true;
            let metadata = turn_metadata(self.model.clone(), self.agent.clone());
            out.session(self.id.as_str()).turn_started(None, metadata);
        }
    }

    /// The agent speaks in this message. In one that is complete that is the rest of an earlier turn.
    pub(super) fn speaks_in(&mut self, message: &str, out: &mut Drafts) {
        if !self.run.turn_open && !matches!(self.messages.get(&message.to_owned()), Some(Known::DoneAgent)) {
            self.ensure_turn(out);
        }
        self.run.answered = true;
    }

    /// Whether what ends now was cut off.
    pub(super) fn is_cut_off(&self) -> bool {
        self.run.interrupt_requested || self.run.interrupted || self.run.failed
    }

    pub(super) fn end_turn(&mut self, out: &mut Drafts) {
        self.settle_compaction(out);
        if self.run.interrupt_requested || self.run.interrupted {
            self.run.held = None;
        }
        self.tell_held(out);
        let run = std::mem::take(&mut self.run);
        self.parts.clear();
        self.tools.clear();
        self.diffs.clear();
        self.compaction = None;
        let finish = run.finish.as_deref().map(Finish::from_word);
        let end = if run.failed {
            TurnEnd::with_status(TurnStatus::Failed)
        } else if run.interrupted {
            TurnEnd::with_status(TurnStatus::Interrupted)
        } else if run.interrupt_requested {
            TurnEnd::new()
        } else {
            match finish.and_then(Finish::went_well) {
                Some(false) => TurnEnd::with_status(TurnStatus::Failed),
                None if run.failures.is_empty() => TurnEnd::new(),
                // It may have recovered from what failed.
                Some(true) | None => TurnEnd::with_status(TurnStatus::Completed),
            }
        };
        self.failures_before = run.failures;
        self.prompted_since = false;
        if run.failed_early && !self.sent.is_empty() {
            self.sent.remove(0);
        }
        out.session(self.id.as_str()).turn_ended(end.stop_reason(finish.and_then(Finish::stop_reason)));
    }

    /// A message of the agent's is complete, which may be all that the end of the turn waited for.
    pub(super) fn message_completed(&mut self, message: &str, out: &mut Drafts) {
        self.run.open_messages.retain(|open| open != message);
        if self.run.idle && self.run.open_messages.is_empty() {
            self.end_turn(out);
            self.show_users(None, out);
        }
    }

    /// The agent is gone: another process knows nothing of what was going on.
    pub(super) fn process_gone(&mut self) {
        self.run = Run::default();
        self.users.clear();
        self.parts.clear();
        self.tools.clear();
        self.diffs.clear();
        self.compaction = None;
        self.sent.clear();
    }

    /// The session is idle. It says so twice, and once more after an error or an interrupt. It may still be `asking`.
    fn idle(&mut self, asking: bool, out: &mut Drafts) {
        if !self.run.turn_open {
            self.run = Run { interrupt_early: self.run.interrupt_early && !self.sent.is_empty(), ..Run::default() };
            self.show_users(None, out);
            return;
        }
        if !self.run.active && !self.run.failed_early {
            // Still about the turn before.
            return;
        }
        // An agent up to 1.2 that is interrupted while it asks says no more about it; otherwise the message completes.
        let is_forgotten = asking && self.run.interrupt_requested && !self.run.interrupted;
        if !self.run.open_messages.is_empty() && !is_forgotten {
            self.run.idle = true;
            return;
        }
        let is_explained = self.is_cut_off() || self.run.interrupt_early || !self.run.failures.is_empty();
        if !self.run.answered && !is_explained {
            // Version 1.1 says nothing else when it cannot even ask the model.
            self.run.failed = true;
            let failure = Failure::new(ErrorCode::AgentError, "the agent went idle without an answer");
            out.session(self.id.as_str()).synthetic().failed(failure);
        }
        self.end_turn(out);
        self.show_users(None, out);
    }

    /// The session begins, or is there: what an agent says of it before the first turn.
    fn begin(&mut self, info: &Info, version: Option<&str>, out: &mut Drafts) {
        self.created = info.time.as_ref().and_then(|time| time.created);
        if info.version.is_some() {
            self.trims = trims(info.version.as_deref());
        }
        self.title.clone_from(&info.title);
        self.begun = true;
        let mut metadata = metadata(info);
        metadata.agent_version = metadata.agent_version.or_else(|| version.map(str::to_owned));
        self.knows_cwd = metadata.cwd.is_some();
        self.model = self.model.take().or_else(|| metadata.model.clone());
        self.agent = self.agent.take().or_else(|| metadata.agent_mode.clone());
        out.session(self.id.as_str()).started(metadata);
        self.is_there(out);
    }

    /// The agent works in this directory, which nothing has told of a session from before the log.
    pub(super) fn works_in(&mut self, cwd: Option<&str>, out: &mut Drafts) {
        if let Some(cwd) = cwd.filter(|_| !self.knows_cwd) {
            self.knows_cwd = true;
            let mut metadata = SessionMetadata::default();
            metadata.cwd = Some(cwd.to_owned());
            out.session(self.id.as_str()).started(metadata);
        }
    }

    /// What changed that a user would want to know.
    fn changes(&mut self, info: Info) -> Vec<Note> {
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
        if url != self.shared {
            notice(url.as_ref().map_or_else(|| "no longer shared".to_owned(), |url| format!("shared: {url}")));
            self.shared = url;
        }
        if self.reverted != info.revert.is_some() {
            self.reverted = info.revert.is_some();
            match info.revert {
                None => notice("the revert is over".to_owned()),
                Some(revert) => {
                    let to = revert.message_id.unwrap_or_default();
                    notes.push(reverted(&to, revert.diff));
                }
            }
        }
        notes
    }
}

impl OpenCodeConverter {
    pub(super) fn session_created(&mut self, properties: Option<EventSessionCreatedProperties>, out: &mut Drafts) {
        match properties.and_then(|properties| properties.info) {
            Some(info) => self.session_known(&info, out),
            None => incomplete("session.created", out),
        }
    }

    /// A session is there: one of the host's, or a sub-agent's.
    pub(super) fn session_known(&mut self, info: &Info, out: &mut Drafts) {
        let made_by_host = self.calls.made(info);
        let version = self.sessions.version.clone();
        let session = self.sessions.of(&info.id);
        if session.begun {
            session.created = session.created.or(info.time.as_ref().and_then(|time| time.created));
            return out.dropped(STATE_ECHO);
        }
        match &info.parent_id {
            Some(parent) if !made_by_host => {
                session.is_child = true;
                out.session(&info.id).child_of(parent.as_str());
                session.begin(info, version.as_deref(), out);
            }
            _ => session.begin(info, version.as_deref(), out),
        }
    }

    pub(super) fn session_updated(&mut self, properties: Option<EventSessionUpdatedProperties>, out: &mut Drafts) {
        let Some(info) = properties.and_then(|properties| properties.info) else {
            return incomplete("session.updated", out);
        };
        if !self.sessions.map.get(&info.id).is_some_and(|session| session.begun) {
            return self.session_known(&info, out);
        }
        let session = self.sessions.of(&info.id);
        session.show_users(None, out);
        let notes = session.changes(info);
        if notes.is_empty() {
            out.dropped(STATE_ECHO);
        }
        for note in notes {
            out.session(session.id.as_str()).note(note);
        }
    }

    pub(super) fn session_deleted(&mut self, properties: Option<EventSessionDeletedProperties>, out: &mut Drafts) {
        let Some(info) = properties.and_then(|properties| properties.info) else {
            return incomplete("session.deleted", out);
        };
        let Some(mut session) = self.sessions.map.remove(&info.id).filter(|session| session.begun) else {
            return out.dropped(STATE_ECHO);
        };
        self.sessions.any_deleted = true;
        self.sessions.deleted.insert(info.id.clone(), ());
        if session.run.turn_open {
            session.run.interrupted = true;
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
        let Some(EventSessionStatusProperties { session_id: Some(id), status: Some(status) }) = properties else {
            return incomplete("session.status", out);
        };
        let asking = self.is_asking(&id);
        let session = self.sessions.of(&id);
        session.is_there(out);
        match status {
            SessionStatus::Idle(_) => session.idle(asking, out),
            SessionStatus::Busy(_) => {
                session.show_users(None, out);
                session.run.active = true;
            }
            SessionStatus::Retry(retry) => {
                session.abandon_parts(None, out);
                out.session(&id).note(session_retries(retry, text));
            }
            SessionStatus::Unknown { .. } => {
                out.current_session().unparsed(HERE, "unknown status", Some("session.status".to_owned()));
            }
        }
        out.dropped(STATE_ECHO);
    }

    pub(super) fn session_idle(&mut self, properties: Option<EventSessionIdleProperties>, out: &mut Drafts) {
        let Some(id) = properties.and_then(|properties| properties.session_id) else {
            return incomplete("session.idle", out);
        };
        let asking = self.is_asking(&id);
        self.sessions.of(&id).idle(asking, out);
        out.dropped(STATE_ECHO);
    }
}

/// The conversation goes back to before a message.
pub(super) fn reverted(message: &str, diff: Option<String>) -> Note {
    let note = Note::notice(format!("reverted to before message {message}"));
    match diff.filter(|diff| !diff.is_empty()) {
        Some(diff) => note.with_part(ContentPart::text(diff)),
        None => note,
    }
}

/// What is known of a turn when it begins.
pub(super) fn turn_metadata(model: Option<String>, agent: Option<String>) -> TurnMetadata {
    let mut metadata = TurnMetadata::default();
    metadata.model = model;
    metadata.agent_mode = agent;
    metadata
}

/// What a client may want to know of a session from the start.
fn metadata(info: &Info) -> SessionMetadata {
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

/// Whether this version cuts white space off the end of a text. One that is not known may.
fn trims(version: Option<&str>) -> bool {
    version.and_then(parse_release).is_none_or(|release| release < KEEPS_WHITE_SPACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_small() {
        assert!(size_of::<Session>() <= 1024, "{}", size_of::<Session>());
    }
}
