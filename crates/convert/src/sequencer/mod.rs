//! Drafts in, events out: everything that is the same for all agents.
//!
//! The sequencer gives every event its id, its place and its time, and sees to it that the stream obeys the lifecycle
//! rules whatever the drafts are: it synthesises what is missing, holds back what comes too early, drops what comes
//! twice and closes what is left open. A property test feeds it random drafts and lets the checker watch.
//!
//! Its memory is bounded by what is open. Of what is over it remembers only the most recent, to know it when it is
//! spoken of again.

mod excerpt;
#[cfg(test)]
mod invariance;
mod messages;
mod moment;
mod notes;
mod process;
mod prompts;
mod recent;
mod requests;
mod scopes;
mod session;
mod stderr;
#[cfg(test)]
mod tests;
mod tools;
mod turns;

use std::collections::HashMap;

use interlingua_schema::{ItemId, NativeSessionId, Origin, SessionId, Timestamp, UniversalEvent};
use serde_json::Value;

use crate::draft::{Act, Draft};
use crate::{IdSource, Key};
pub(crate) use moment::Moment;
use moment::Scene;
pub(crate) use recent::Recent;
use scopes::ScopeId;
use session::Session;
use stderr::Stderr;

/// So many drafts wait for the first session; then they get one without a native id.
const MOST_WAITING: usize = 1024;

/// Where a session that ends is ended by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The log is read to its end. Sessions end if the agent's exit was in it, and are left open if not.
    Log,
    /// Our own API ends them.
    Terminated,
}

/// Where an earlier stream left a session: what a store knows of it.
#[derive(Clone, Debug)]
pub struct Resume {
    /// The session.
    pub session_id: SessionId,
    /// Its native id, if it became known.
    pub native: Option<NativeSessionId>,
    /// The `sequence` of its last event.
    pub sequence: u64,
    /// The time of its last event.
    pub time: Timestamp,
    /// Its latest message item, which tool calls may hang on.
    pub latest_message: Option<ItemId>,
    /// The permission and question ids it has used.
    pub asked: Vec<String>,
}

/// A process that is gone.
#[derive(Clone, Copy, Debug)]
struct Exit {
    /// Its exit code, if anybody knows.
    code: Option<i32>,
}

pub(crate) struct Sequencer {
    ids: Box<dyn IdSource>,
    sessions: Vec<Session>,
    by_native: HashMap<Key, usize>,
    /// Sessions that are sub-agents', with the session they are part of.
    children: HashMap<Key, (usize, ScopeId)>,
    current: Option<usize>,
    /// Drafts from before the first session.
    waiting: Vec<(Moment, Draft)>,
    stderr: Stderr,
    /// The exit code of the last process, while there is no newer one.
    exited: Option<Exit>,
}

impl Sequencer {
    pub(crate) fn new(ids: Box<dyn IdSource>) -> Self {
        Self {
            ids,
            sessions: Vec::new(),
            by_native: HashMap::new(),
            children: HashMap::new(),
            current: None,
            waiting: Vec::new(),
            stderr: Stderr::default(),
            exited: None,
        }
    }

    /// Goes on with a session that began in an earlier stream.
    pub(crate) fn resume(&mut self, resume: Resume) {
        let index = self.sessions.len();
        if let Some(native) = &resume.native {
            self.by_native.insert(native.as_str().into(), index);
        }
        self.current = Some(index);
        self.sessions.push(Session::resume(resume));
    }

    pub(crate) fn apply(&mut self, moment: &Moment, draft: Draft, out: &mut Vec<UniversalEvent>) {
        match draft.act {
            Act::Restarted => return self.process_gone(moment, None, out),
            Act::ChildOf { ref parent } => {
                return self.child_of(moment, draft.session, parent, out);
            }
            Act::SpawnedBy { ref parent, call } => {
                return self.spawned_by(moment, draft.session, parent, call, out);
            }
            _ => {}
        }
        let place = match &draft.session {
            Some(key) if !starts_a_session(&draft.act) && self.find(key).is_none() => return,
            Some(key) => Some(self.find_or_begin(moment, key, &draft, out)),
            None => self.current.map(|index| (index, ScopeId::MAIN)),
        };
        let Some((index, scope)) = place else {
            self.waiting.push((moment.clone(), draft));
            if self.waiting.len() > MOST_WAITING {
                self.begin(moment, None, None, Origin::DAEMON, out);
            }
            return;
        };
        let Some(session) = self.sessions.get_mut(index) else {
            return;
        };
        let mut scene = Scene { moment, ids: &mut *self.ids, out };
        session.apply(&mut scene, scope, draft);
    }

    /// The session and sub-agent that a native id stands for.
    fn find(&self, key: &Key) -> Option<(usize, ScopeId)> {
        let own = self.by_native.get(key).map(|index| (*index, ScopeId::MAIN));
        own.or_else(|| self.children.get(key).copied())
    }

    fn find_or_begin(
        &mut self,
        moment: &Moment,
        key: &Key,
        draft: &Draft,
        out: &mut Vec<UniversalEvent>,
    ) -> (usize, ScopeId) {
        if let Some(place) = self.find(key) {
            return place;
        }
        let (metadata, origin) = match &draft.act {
            Act::SessionStarted { metadata } => (metadata.clone(), moment.origin(draft.synthetic)),
            _ => (None, Origin::DAEMON),
        };
        (self.begin(moment, Some(key), metadata, origin, out), ScopeId::MAIN)
    }

    /// Begins a session, or gives the one that began without a native id its name. What waited goes to it.
    fn begin(
        &mut self,
        moment: &Moment,
        native: Option<&Key>,
        metadata: Option<Value>,
        origin: Origin,
        out: &mut Vec<UniversalEvent>,
    ) -> usize {
        let unnamed = self.sessions.iter().position(|session| !session.is_named() && !session.is_ended());
        let index = unnamed.unwrap_or(self.sessions.len());
        if let Some(native) = native {
            self.by_native.insert(native.clone(), index);
        }
        self.current = Some(index);
        if let Some(session) = self.sessions.get_mut(index) {
            session.name(native);
            return index;
        }
        let mut scene = Scene { moment, ids: &mut *self.ids, out };
        let session = Session::begin(&mut scene, native, metadata, origin);
        self.sessions.push(session);
        for (moment, draft) in std::mem::take(&mut self.waiting) {
            self.apply(&moment, draft, out);
        }
        index
    }

    fn child_of(&mut self, moment: &Moment, child: Option<Key>, parent: &Key, out: &mut Vec<UniversalEvent>) {
        let Some(child) = child else { return };
        if child == *parent || self.find(&child).is_some() {
            return;
        }
        let root = match self.find(parent) {
            Some((root, _)) => root,
            None => self.begin(moment, Some(parent), None, Origin::DAEMON, out),
        };
        if let Some(session) = self.sessions.get_mut(root) {
            self.children.insert(child.clone(), (root, session.thread(child)));
        }
    }

    fn spawned_by(
        &mut self,
        moment: &Moment,
        child: Option<Key>,
        parent: &Key,
        call: Key,
        out: &mut Vec<UniversalEvent>,
    ) {
        self.child_of(moment, child.clone(), parent, out);
        let Some((root, scope)) = child.and_then(|child| self.children.get(&child).copied()) else {
            return;
        };
        let Some((parent_root, parent_scope)) = self.find(parent) else {
            return;
        };
        if let Some(session) = self.sessions.get_mut(root)
            && parent_root == root
        {
            let mut scene = Scene { moment, ids: &mut *self.ids, out };
            session.spawned_by(&mut scene, scope, parent_scope, call);
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
    pub(crate) fn exit(&mut self, moment: &Moment, code: Option<i32>, out: &mut Vec<UniversalEvent>) {
        self.exited = Some(Exit { code });
        if self.sessions.is_empty() {
            self.begin(moment, None, None, Origin::DAEMON, out);
        }
        self.process_gone(moment, code, out);
    }

    fn process_gone(&mut self, moment: &Moment, code: Option<i32>, out: &mut Vec<UniversalEvent>) {
        for session in &mut self.sessions {
            let mut scene = Scene { moment, ids: &mut *self.ids, out };
            session.process_gone(&mut scene, code, &self.stderr);
        }
    }

    pub(crate) fn finish(&mut self, moment: &Moment, end: End, out: &mut Vec<UniversalEvent>) {
        if self.sessions.is_empty() && !self.waiting.is_empty() {
            self.begin(moment, None, None, Origin::DAEMON, out);
        }
        for session in &mut self.sessions {
            let mut scene = Scene { moment, ids: &mut *self.ids, out };
            match (end, self.exited) {
                (End::Terminated, _) => session.terminated(&mut scene),
                (End::Log, Some(exit)) => session.exited(&mut scene, exit.code, &self.stderr),
                (End::Log, None) => session.left_open(&mut scene),
            }
        }
    }
}

/// Whether a session never heard of begins when this is said of it. Some things only make sense in one that is
/// there.
fn starts_a_session(act: &Act) -> bool {
    !matches!(
        act,
        Act::TurnEnded(_)
            | Act::InterruptAsked
            | Act::PromptTaken { .. }
            | Act::PromptRefused { .. }
            | Act::PermissionResolved { .. }
            | Act::QuestionsResolved { .. }
            | Act::Withdrawn { .. }
    )
}
