//! Drafts in, events out: everything that is the same for all agents.
//!
//! The sequencer gives every event its id, its place and its time, and sees to it that the stream obeys the lifecycle
//! rules whatever the drafts are: it synthesises what is missing, holds back what comes too early, drops what comes
//! twice and closes what is left open. A property test feeds it random drafts and lets the checker watch.
//!
//! Its memory is bounded by what is open. Of what is over it remembers only the most recent, to know it when it is
//! spoken of again.

#[cfg(test)]
mod invariance;
mod messages;
mod moment;
mod notes;
mod open_items;
mod process;
mod prompts;
mod recent_map;
mod requests;
mod scopes;
mod session;
mod stderr;
#[cfg(test)]
mod tests;
mod tools;
mod turns;
mod unfinished;

use foldhash::HashMap;
use interlingua_schema::{EventSink, ItemId, NativeSessionId, Origin, SessionId, SessionMetadata, Timestamp};

use crate::draft::{Draft, DraftAction};
use crate::{Failure, IdSource, Key};
pub(crate) use moment::Moment;
use moment::Scene;
pub(crate) use recent_map::RecentMap;
use scopes::ScopeId;
use session::Session;
use stderr::Stderr;
pub use unfinished::UnfinishedWork;

/// So many drafts wait for the first session; then they get one without a native id.
const MOST_WAITING: usize = 1024;

/// Where a session that ends is ended by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The log is read to its end. Sessions end if the agent's exit was in it, and are left open if not.
    Log,
    /// Our own API ends them.
    Terminated,
}

/// Where an earlier stream left a session: what a store knows of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResumePoint {
    /// The session.
    pub session_id: SessionId,
    /// Its native id, if it became known.
    pub native_session_id: Option<NativeSessionId>,
    /// The `sequence` of its last event.
    pub sequence: u64,
    /// The time of its last event.
    pub time: Timestamp,
    /// The directory it works in, if that is known.
    pub cwd: Option<String>,
    /// Its latest message item, which tool calls may hang on.
    pub latest_message: Option<ItemId>,
    /// The permission and question ids it has used.
    pub request_ids: Vec<String>,
    /// What it left open, for [`Conversion::close_unfinished`](crate::Conversion::close_unfinished) to close.
    pub unfinished: UnfinishedWork,
}

impl ResumePoint {
    /// A session of which no event is known yet; see [`ResumePoint::observe`].
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

/// A process that is gone.
#[derive(Clone, Copy, Debug)]
struct Exit {
    /// Its exit code, if anybody knows.
    code: Option<i32>,
}

/// A session, and the agent or sub-agent in it.
type Place = (usize, ScopeId);

pub(crate) struct Sequencer {
    /// The agent's id.
    agent: &'static str,
    ids: Box<dyn IdSource>,
    sessions: Vec<Session>,
    by_native: HashMap<Key, usize>,
    /// Sessions that are sub-agents', with the session they are part of.
    children: HashMap<Key, Place>,
    /// The session that drafts are about, if it has a name, and its place once that is known.
    about: Option<(Key, Option<Place>)>,
    current: Option<usize>,
    /// Drafts from before the first session.
    waiting: Vec<(Moment, Draft)>,
    stderr: Stderr,
    /// The exit code of the last process, while there is no newer one.
    exited: Option<Exit>,
    /// There is one session, whatever names the agent has for it.
    only_one: bool,
}

impl Sequencer {
    pub(crate) fn new(agent: &'static str, ids: Box<dyn IdSource>) -> Self {
        Self {
            agent,
            ids,
            sessions: Vec::new(),
            by_native: HashMap::default(),
            children: HashMap::default(),
            about: None,
            current: None,
            waiting: Vec::new(),
            stderr: Stderr::default(),
            exited: None,
            only_one: false,
        }
    }

    /// Begins the one session there will be, before its agent says anything.
    pub(crate) fn begin_only(
        &mut self,
        moment: &Moment,
        native: Option<&str>,
        mut metadata: SessionMetadata,
        out: &mut dyn EventSink,
    ) {
        self.only_one = true;
        let index = self.begin(moment, native.map(Key::from).as_ref(), &mut metadata, Origin::DAEMON, out);
        if let Some(session) = self.sessions.get_mut(index) {
            session.await_introduction();
        }
    }

    /// Goes on with a session that began in an earlier stream.
    pub(crate) fn resume(&mut self, resume: ResumePoint) {
        let index = self.sessions.len();
        if let Some(native) = &resume.native_session_id {
            self.by_native.insert(native.as_str().into(), index);
        }
        self.current = Some(index);
        self.only_one = true;
        self.sessions.push(Session::resume(resume));
    }

    pub(crate) fn close_unfinished(&mut self, moment: &Moment, failure: &Failure, out: &mut dyn EventSink) {
        for session in &mut self.sessions {
            let mut scene = Scene { moment, ids: &mut *self.ids, out };
            session.close_unfinished(&mut scene, failure.clone());
        }
    }

    /// The key of the request that asked for this permission, while it is pending.
    pub(crate) fn permission_key(&self, id: &str) -> Option<&Key> {
        self.sessions.iter().find_map(|session| session.permission_key(id))
    }

    /// The key of the request that asked this question, while it is pending, and the ids of all its questions.
    pub(crate) fn question_key(&self, id: &str) -> Option<(&Key, Vec<&str>)> {
        self.sessions.iter().find_map(|session| session.question_key(id))
    }

    /// Does what a draft says. A draft is wide, so what is said is taken out of it where it lies.
    pub(crate) fn apply(&mut self, moment: &Moment, draft: &mut Draft, out: &mut dyn EventSink) {
        match &mut draft.action {
            DraftAction::About(session) => self.about = session.take().map(|key| (key, None)),
            DraftAction::ProcessRestarted => self.process_gone(moment, None, out),
            DraftAction::ChildOf { parent } => self.child_of(moment, parent, out),
            DraftAction::SpawnedBy { parent, call } => self.spawned_by(moment, parent, call, out),
            _ if self.about.is_some() => {
                if let Some(place) = self.place(moment, draft, out) {
                    self.apply_in(place, moment, draft, out);
                }
            }
            _ => match self.current {
                Some(index) => self.apply_in((index, ScopeId::MAIN), moment, draft, out),
                None => self.wait(moment, draft, out),
            },
        }
    }

    fn apply_in(&mut self, (index, scope): Place, moment: &Moment, draft: &mut Draft, out: &mut dyn EventSink) {
        if let Some(session) = self.sessions.get_mut(index) {
            let mut scene = Scene { moment, ids: &mut *self.ids, out };
            session.apply(&mut scene, scope, draft);
        }
    }

    /// Keeps what belongs to no session until there is one.
    fn wait(&mut self, moment: &Moment, draft: &mut Draft, out: &mut dyn EventSink) {
        self.waiting.push((moment.clone(), draft.take()));
        if self.waiting.len() > MOST_WAITING {
            self.begin(moment, None, &mut SessionMetadata::default(), Origin::DAEMON, out);
        }
    }

    /// Where the session is that drafts are about, which begins if this draft can begin one. What a native id stands
    /// for never changes, so it is looked up once.
    fn place(&mut self, moment: &Moment, draft: &mut Draft, out: &mut dyn EventSink) -> Option<Place> {
        let (key, known) = self.about.as_ref()?;
        if known.is_some() {
            return *known;
        }
        let place = match self.find(key) {
            Some(place) => place,
            None if starts_a_session(&draft.action) => self.begin_with(moment, draft, out),
            None => return None,
        };
        if let Some((_, known)) = &mut self.about {
            *known = Some(place);
        }
        Some(place)
    }

    /// The session and sub-agent that a native id stands for.
    fn find(&self, key: &Key) -> Option<Place> {
        let own = self.by_native.get(key).map(|index| (*index, ScopeId::MAIN));
        own.or_else(|| self.children.get(key).copied())
    }

    /// The name of the session that drafts are about.
    fn named(&self) -> Option<Key> {
        self.about.as_ref().map(|(key, _)| key.clone())
    }

    /// Begins the session that drafts are about.
    fn begin_with(&mut self, moment: &Moment, draft: &mut Draft, out: &mut dyn EventSink) -> Place {
        let synthetic = draft.synthetic;
        let native = self.named();
        let index = match &mut draft.action {
            DraftAction::SessionStarted(metadata) => {
                self.begin(moment, native.as_ref(), metadata, moment.origin(synthetic), out)
            }
            _ => self.begin(moment, native.as_ref(), &mut SessionMetadata::default(), Origin::DAEMON, out),
        };
        (index, ScopeId::MAIN)
    }

    /// Begins a session with this metadata, which is then taken, or gives the one that began without a native id its
    /// name. What waited goes to it.
    fn begin(
        &mut self,
        moment: &Moment,
        native: Option<&Key>,
        metadata: &mut SessionMetadata,
        origin: Origin,
        out: &mut dyn EventSink,
    ) -> usize {
        let is_it = |session: &Session| self.only_one || (!session.is_named() && !session.is_ended());
        let index = self.sessions.iter().position(is_it).unwrap_or(self.sessions.len());
        if let Some(native) = native {
            self.by_native.insert(native.clone(), index);
        }
        self.current = Some(index);
        if let Some(session) = self.sessions.get_mut(index) {
            session.name(native);
            return index;
        }
        let mut scene = Scene { moment, ids: &mut *self.ids, out };
        self.agent.clone_into(&mut metadata.agent);
        let session = Session::begin(&mut scene, native, std::mem::take(metadata), origin);
        // Nearly always there is one, and it is large.
        if self.sessions.is_empty() {
            self.sessions.reserve_exact(1);
        }
        self.sessions.push(session);
        for (moment, mut draft) in std::mem::take(&mut self.waiting) {
            self.apply_in((index, ScopeId::MAIN), &moment, &mut draft, out);
        }
        index
    }

    fn child_of(&mut self, moment: &Moment, parent: &Key, out: &mut dyn EventSink) {
        let Some(child) = self.named() else { return };
        if child == *parent || self.find(&child).is_some() {
            return;
        }
        let root = match self.find(parent) {
            Some((root, _)) => root,
            None => self.begin(moment, Some(parent), &mut SessionMetadata::default(), Origin::DAEMON, out),
        };
        if let Some(session) = self.sessions.get_mut(root) {
            self.children.insert(child.clone(), (root, session.thread(child)));
        }
    }

    fn spawned_by(&mut self, moment: &Moment, parent: &Key, call: &Key, out: &mut dyn EventSink) {
        self.child_of(moment, parent, out);
        let Some((root, scope)) = self.about.as_ref().and_then(|(child, _)| self.children.get(child).copied()) else {
            return;
        };
        let Some((parent_root, parent_scope)) = self.find(parent) else {
            return;
        };
        if let Some(session) = self.sessions.get_mut(root)
            && parent_root == root
        {
            let mut scene = Scene { moment, ids: &mut *self.ids, out };
            session.spawned_by(&mut scene, scope, parent_scope, call.clone());
        }
    }

    pub(crate) fn stderr(&mut self, line: &str) {
        self.alive();
        self.stderr.push(line);
    }

    /// Something came from an agent, so one is running.
    pub(crate) fn alive(&mut self) {
        if self.exited.take().is_some() {
            self.stderr = Stderr::default();
        }
    }

    /// The agent is gone. Its turns end; its sessions may go on in another process.
    pub(crate) fn exit(&mut self, moment: &Moment, code: Option<i32>, out: &mut dyn EventSink) {
        self.exited = Some(Exit { code });
        if self.sessions.is_empty() {
            self.begin(moment, None, &mut SessionMetadata::default(), Origin::DAEMON, out);
        }
        self.process_gone(moment, code, out);
    }

    fn process_gone(&mut self, moment: &Moment, code: Option<i32>, out: &mut dyn EventSink) {
        for session in &mut self.sessions {
            let mut scene = Scene { moment, ids: &mut *self.ids, out };
            session.process_gone(&mut scene, code, &self.stderr);
        }
    }

    /// The session ends because no agent will take it up again, for this reason.
    pub(crate) fn lost(&mut self, moment: &Moment, reason: &str, out: &mut dyn EventSink) {
        let code = self.exited.and_then(|exit| exit.code);
        for session in &mut self.sessions {
            let mut scene = Scene { moment, ids: &mut *self.ids, out };
            session.lost(&mut scene, reason, code, &self.stderr);
        }
    }

    pub(crate) fn finish(&mut self, moment: &Moment, end: StreamEnd, out: &mut dyn EventSink) {
        if self.sessions.is_empty() && !self.waiting.is_empty() {
            self.begin(moment, None, &mut SessionMetadata::default(), Origin::DAEMON, out);
        }
        for session in &mut self.sessions {
            let mut scene = Scene { moment, ids: &mut *self.ids, out };
            match (end, self.exited) {
                (StreamEnd::Terminated, _) => session.terminated(&mut scene),
                (StreamEnd::Log, Some(exit)) => session.exited(&mut scene, exit.code, &self.stderr),
                (StreamEnd::Log, None) => session.left_open(&mut scene),
            }
        }
    }
}

/// Whether a session never heard of begins when this is said of it. Some things only make sense in one that is
/// there.
fn starts_a_session(act: &DraftAction) -> bool {
    !matches!(
        act,
        DraftAction::TurnEnded(_)
            | DraftAction::InterruptRequested
            | DraftAction::InterruptRejected
            | DraftAction::CutOff
            | DraftAction::PromptAccepted { .. }
            | DraftAction::PromptRejected { .. }
            | DraftAction::PermissionResolved { .. }
            | DraftAction::QuestionsResolved { .. }
            | DraftAction::RequestWithdrawn { .. }
    )
}
