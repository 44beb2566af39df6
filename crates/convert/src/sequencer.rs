//! The sequencer: drafts in, events out. It holds every rule that is the same for all agents.
//!
//! The sequencer gives every event its id, sequence number and time. The stream obeys the lifecycle rules whatever the
//! drafts are: the sequencer emits missing starts and ends, holds drafts that come too early, drops repeated ones, and
//! closes what is left open. A property test feeds it random drafts and verifies the stream with the checker.
//!
//! Memory is bounded by what is open. Of closed items only the most recent are remembered, so that a draft about one of
//! them is recognized as a repetition.

mod emitter;
mod messages;
mod notes;
mod open_items;
mod process;
mod prompts;
#[cfg(test)]
mod property_tests;
mod recent_map;
mod requests;
mod scopes;
mod session;
mod stderr_buffer;
#[cfg(test)]
mod tests;
mod tools;
mod turns;
mod unfinished;

use foldhash::HashMap;
use interlingua_schema::{EventSink, ItemId, NativeSessionId, Origin, SessionId, SessionMetadata, Timestamp};

use crate::draft::{Draft, DraftAction};
use crate::{Failure, IdSource, Key};
use emitter::EmitContext;
pub(crate) use emitter::Provenance;
pub(crate) use recent_map::RecentMap;
use scopes::ScopeId;
use session::Session;
use stderr_buffer::StderrBuffer;
pub use unfinished::UnfinishedWork;

/// Maximum number of drafts held until the first session starts. One more starts a session without a native id.
const MAX_PENDING_DRAFTS: usize = 1024;

/// Why a stream ends, which decides how its sessions end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The log was read to its end. Sessions end if the log contains the agent's exit, and stay open if not.
    Log,
    /// The API terminates the sessions.
    Terminated,
}

/// State of a session at the end of an earlier stream, as its stored events show it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResumePoint {
    /// Our id of the session.
    pub session_id: SessionId,
    /// The agent's id of the session; `None` if it never became known.
    pub native_session_id: Option<NativeSessionId>,
    /// Sequence number of the last event.
    pub sequence: u64,
    /// Time of the last event.
    pub time: Timestamp,
    /// Working directory; `None` if unknown.
    pub cwd: Option<String>,
    /// Item of the latest message, which may be the parent of further tool calls.
    pub latest_message: Option<ItemId>,
    /// Permission ids and question ids that are in use already.
    pub request_ids: Vec<String>,
    /// What the stream left open. [`Conversion::close_unfinished`](crate::Conversion::close_unfinished) closes it.
    pub unfinished: UnfinishedWork,
}

impl ResumePoint {
    /// A session without events. [`ResumePoint::observe`] adds them.
    #[must_use]
    pub fn new(session_id: impl Into<SessionId>) -> Self {
        Self {
            session_id: session_id.into(),
            native_session_id: None,
            sequence: 0,
            time: Timestamp::EPOCH,
            cwd: None,
            latest_message: None,
            request_ids: Vec::new(),
            unfinished: UnfinishedWork::default(),
        }
    }
}

/// Exit of an agent process.
#[derive(Clone, Copy, Debug)]
struct ProcessExit {
    /// Exit code, if known.
    code: Option<i32>,
}

/// Index of a session, and the main agent or sub-agent in it.
type SessionScope = (usize, ScopeId);

pub(crate) struct Sequencer {
    /// The agent's id.
    agent: &'static str,
    ids: Box<dyn IdSource>,
    sessions: Vec<Session>,
    sessions_by_native_id: HashMap<Key, usize>,
    /// Native sessions of sub-agents, with the session and scope that they belong to.
    child_sessions: HashMap<Key, SessionScope>,
    /// Native id of the session that the next drafts are for, and its location once it is known. `None` for drafts
    /// without a native id.
    addressed: Option<(Key, Option<SessionScope>)>,
    /// The session that started last. It gets the drafts without a native id.
    current: Option<usize>,
    /// Drafts that came before the first session started.
    pending_drafts: Vec<(Provenance, Draft)>,
    stderr: StderrBuffer,
    /// Exit of the last process, until a new one writes something.
    last_exit: Option<ProcessExit>,
    /// The stream has exactly one session, even if the agent uses several native ids.
    is_single_session: bool,
}

impl Sequencer {
    pub(crate) fn new(agent: &'static str, ids: Box<dyn IdSource>) -> Self {
        Self {
            agent,
            ids,
            sessions: Vec::new(),
            sessions_by_native_id: HashMap::default(),
            child_sessions: HashMap::default(),
            addressed: None,
            current: None,
            pending_drafts: Vec::new(),
            stderr: StderrBuffer::default(),
            last_exit: None,
            is_single_session: false,
        }
    }

    /// Starts the only session of the stream, before any input of its agent.
    pub(crate) fn start_only_session(
        &mut self,
        provenance: &Provenance,
        native: Option<&str>,
        mut metadata: SessionMetadata,
        out: &mut dyn EventSink,
    ) {
        self.is_single_session = true;
        let index = self.start_session(provenance, native.map(Key::from).as_ref(), &mut metadata, Origin::DAEMON, out);
        if let Some(session) = self.sessions.get_mut(index) {
            session.expect_metadata();
        }
    }

    /// Resumes a session that started in an earlier stream.
    pub(crate) fn resume(&mut self, resume: ResumePoint) {
        let index = self.sessions.len();
        if let Some(native) = &resume.native_session_id {
            self.sessions_by_native_id.insert(native.as_str().into(), index);
        }
        self.current = Some(index);
        self.is_single_session = true;
        self.sessions.push(Session::resume(resume));
    }

    pub(crate) fn close_unfinished(&mut self, provenance: &Provenance, failure: &Failure, out: &mut dyn EventSink) {
        for session in &mut self.sessions {
            let mut ctx = EmitContext { provenance, ids: &mut *self.ids, out };
            session.close_unfinished(&mut ctx, failure.clone());
        }
    }

    /// Key of the request for this permission, while it is pending.
    pub(crate) fn permission_key(&self, id: &str) -> Option<&Key> {
        self.sessions.iter().find_map(|session| session.permission_key(id))
    }

    /// Key of the request with this question, while it is pending, and the ids of all its questions.
    pub(crate) fn question_key(&self, id: &str) -> Option<(&Key, Vec<&str>)> {
        self.sessions.iter().find_map(|session| session.question_key(id))
    }

    /// Applies a draft. A draft is large, so its content is taken out in place instead of moving the draft.
    pub(crate) fn apply(&mut self, provenance: &Provenance, draft: &mut Draft, out: &mut dyn EventSink) {
        match &mut draft.action {
            DraftAction::SelectSession(session) => self.addressed = session.take().map(|key| (key, None)),
            DraftAction::ProcessRestarted => self.close_process(provenance, None, out),
            DraftAction::ChildOf { parent } => self.child_of(provenance, parent, out),
            DraftAction::SpawnedBy { parent, call } => self.spawned_by(provenance, parent, call, out),
            _ if self.addressed.is_some() => {
                if let Some(location) = self.locate_addressed_session(provenance, draft, out) {
                    self.apply_to(location, provenance, draft, out);
                }
            }
            _ => match self.current {
                Some(index) => self.apply_to((index, ScopeId::MAIN), provenance, draft, out),
                None => self.hold_until_session(provenance, draft, out),
            },
        }
    }

    fn apply_to(
        &mut self,
        (index, scope): SessionScope,
        provenance: &Provenance,
        draft: &mut Draft,
        out: &mut dyn EventSink,
    ) {
        if let Some(session) = self.sessions.get_mut(index) {
            let mut ctx = EmitContext { provenance, ids: &mut *self.ids, out };
            session.apply(&mut ctx, scope, draft);
        }
    }

    /// Holds a draft without a native session id until a session starts.
    fn hold_until_session(&mut self, provenance: &Provenance, draft: &mut Draft, out: &mut dyn EventSink) {
        self.pending_drafts.push((provenance.clone(), draft.take()));
        if self.pending_drafts.len() > MAX_PENDING_DRAFTS {
            self.start_session(provenance, None, &mut SessionMetadata::default(), Origin::DAEMON, out);
        }
    }

    /// Location of the addressed session. An unknown session starts, if this draft can start one. The location of a
    /// native id never changes, so it is looked up once.
    fn locate_addressed_session(
        &mut self,
        provenance: &Provenance,
        draft: &mut Draft,
        out: &mut dyn EventSink,
    ) -> Option<SessionScope> {
        let (key, known) = self.addressed.as_ref()?;
        if known.is_some() {
            return *known;
        }
        let location = match self.find_session(key) {
            Some(location) => location,
            None if can_start_session(&draft.action) => self.start_addressed_session(provenance, draft, out),
            None => return None,
        };
        if let Some((_, known)) = &mut self.addressed {
            *known = Some(location);
        }
        Some(location)
    }

    /// The session and scope that a native id stands for.
    fn find_session(&self, key: &Key) -> Option<SessionScope> {
        let own = self.sessions_by_native_id.get(key).map(|index| (*index, ScopeId::MAIN));
        own.or_else(|| self.child_sessions.get(key).copied())
    }

    /// Native id of the addressed session.
    fn addressed_key(&self) -> Option<Key> {
        self.addressed.as_ref().map(|(key, _)| key.clone())
    }

    /// Starts the addressed session.
    fn start_addressed_session(
        &mut self,
        provenance: &Provenance,
        draft: &mut Draft,
        out: &mut dyn EventSink,
    ) -> SessionScope {
        let synthetic = draft.synthetic;
        let native = self.addressed_key();
        let index = match &mut draft.action {
            DraftAction::SessionStarted(metadata) => {
                self.start_session(provenance, native.as_ref(), metadata, provenance.origin(synthetic), out)
            }
            _ => self.start_session(provenance, native.as_ref(), &mut SessionMetadata::default(), Origin::DAEMON, out),
        };
        (index, ScopeId::MAIN)
    }

    /// Starts a session with this metadata, which it takes, and applies the pending drafts to it. If there is a session
    /// that started without a native id, sets its native id instead.
    fn start_session(
        &mut self,
        provenance: &Provenance,
        native: Option<&Key>,
        metadata: &mut SessionMetadata,
        origin: Origin,
        out: &mut dyn EventSink,
    ) -> usize {
        let is_target = |session: &Session| self.is_single_session || (!session.has_native_id() && !session.is_ended());
        let index = self.sessions.iter().position(is_target).unwrap_or(self.sessions.len());
        if let Some(native) = native {
            self.sessions_by_native_id.insert(native.clone(), index);
        }
        self.current = Some(index);
        if let Some(session) = self.sessions.get_mut(index) {
            session.set_native_id(native);
            return index;
        }
        let mut ctx = EmitContext { provenance, ids: &mut *self.ids, out };
        self.agent.clone_into(&mut metadata.agent);
        let session = Session::start(&mut ctx, native, std::mem::take(metadata), origin);
        // A session is large, and nearly always there is only one.
        if self.sessions.is_empty() {
            self.sessions.reserve_exact(1);
        }
        self.sessions.push(session);
        for (provenance, mut draft) in std::mem::take(&mut self.pending_drafts) {
            self.apply_to((index, ScopeId::MAIN), &provenance, &mut draft, out);
        }
        index
    }

    fn child_of(&mut self, provenance: &Provenance, parent: &Key, out: &mut dyn EventSink) {
        let Some(child) = self.addressed_key() else { return };
        if child == *parent || self.find_session(&child).is_some() {
            return;
        }
        let root = match self.find_session(parent) {
            Some((root, _)) => root,
            None => self.start_session(provenance, Some(parent), &mut SessionMetadata::default(), Origin::DAEMON, out),
        };
        if let Some(session) = self.sessions.get_mut(root) {
            self.child_sessions.insert(child.clone(), (root, session.child_scope(child)));
        }
    }

    fn spawned_by(&mut self, provenance: &Provenance, parent: &Key, call: &Key, out: &mut dyn EventSink) {
        self.child_of(provenance, parent, out);
        let Some((root, scope)) =
            self.addressed.as_ref().and_then(|(child, _)| self.child_sessions.get(child).copied())
        else {
            return;
        };
        let Some((parent_root, parent_scope)) = self.find_session(parent) else {
            return;
        };
        if let Some(session) = self.sessions.get_mut(root)
            && parent_root == root
        {
            let mut ctx = EmitContext { provenance, ids: &mut *self.ids, out };
            session.spawned_by(&mut ctx, scope, parent_scope, call.clone());
        }
    }

    pub(crate) fn push_stderr(&mut self, line: &str) {
        self.mark_running();
        self.stderr.push(line);
    }

    /// Notes that an agent is running, because it has written something.
    pub(crate) fn mark_running(&mut self) {
        if self.last_exit.take().is_some() {
            self.stderr = StderrBuffer::default();
        }
    }

    /// Ends the turns of an agent process that exited. Another process may resume its sessions.
    pub(crate) fn process_exited(&mut self, provenance: &Provenance, code: Option<i32>, out: &mut dyn EventSink) {
        self.last_exit = Some(ProcessExit { code });
        if self.sessions.is_empty() {
            self.start_session(provenance, None, &mut SessionMetadata::default(), Origin::DAEMON, out);
        }
        self.close_process(provenance, code, out);
    }

    fn close_process(&mut self, provenance: &Provenance, code: Option<i32>, out: &mut dyn EventSink) {
        for session in &mut self.sessions {
            let mut ctx = EmitContext { provenance, ids: &mut *self.ids, out };
            session.close_process(&mut ctx, code, &self.stderr);
        }
    }

    /// Ends the sessions with an error, because no agent can resume them.
    pub(crate) fn fail_sessions(&mut self, provenance: &Provenance, reason: &str, out: &mut dyn EventSink) {
        let code = self.last_exit.and_then(|exit| exit.code);
        for session in &mut self.sessions {
            let mut ctx = EmitContext { provenance, ids: &mut *self.ids, out };
            session.end_failed(&mut ctx, reason, code, &self.stderr);
        }
    }

    pub(crate) fn finish(&mut self, provenance: &Provenance, end: StreamEnd, out: &mut dyn EventSink) {
        if self.sessions.is_empty() && !self.pending_drafts.is_empty() {
            self.start_session(provenance, None, &mut SessionMetadata::default(), Origin::DAEMON, out);
        }
        for session in &mut self.sessions {
            let mut ctx = EmitContext { provenance, ids: &mut *self.ids, out };
            match (end, self.last_exit) {
                (StreamEnd::Terminated, _) => session.end_terminated(&mut ctx),
                (StreamEnd::Log, Some(exit)) => session.end_exited(&mut ctx, exit.code, &self.stderr),
                (StreamEnd::Log, None) => session.flush_pending(&mut ctx),
            }
        }
    }
}

/// Whether a draft for an unknown session starts that session. Some drafts only make sense in a session that exists.
fn can_start_session(action: &DraftAction) -> bool {
    !matches!(
        action,
        DraftAction::TurnEnded(_)
            | DraftAction::InterruptRequested
            | DraftAction::InterruptRejected
            | DraftAction::TurnCutOff
            | DraftAction::PromptAccepted { .. }
            | DraftAction::PromptRejected { .. }
            | DraftAction::PermissionResolved { .. }
            | DraftAction::QuestionsResolved { .. }
            | DraftAction::RequestWithdrawn { .. }
    )
}
