//! One session on its way.

use std::collections::VecDeque;

use foldhash::{HashMap, HashSet};
use interlingua_schema::{
    AgentUnparsed, ErrorEvent, EventData, EventDataRef, EventRef, ItemId, NativeSessionId, Origin, SessionEnded,
    SessionId, SessionMetadata, TaskState, Timestamp, Usage,
};

use super::messages::{ClosedMessage, OpenMessage, hash};
use super::moment::Scene;
use super::notes::OpenNote;
use super::open_items::OpenItems;
use super::prompts::{Shown, Waiting};
use super::recent_map::RecentMap;
use super::requests::{PendingPermission, PendingQuestion};
use super::scopes::{ScopeId, ScopeKey, ScopeState};
use super::tools::{ClosedTool, Tool};
use super::turns::Turn;
use super::{ResumePoint, UnfinishedWork};
use crate::Key;
use crate::draft::{Draft, DraftAction, Failure, Unparsed};
use crate::escape_codes::without_escape_codes;

/// What a converter calls an item: its key, which each sub-agent has for itself.
pub(super) type ItemRef = (ScopeId, Key);

/// So many items that are over are remembered.
pub(super) const REMEMBERED: usize = 2048;

/// What an agent tells about itself in a session that began without it.
#[derive(Debug)]
pub(super) enum Introduction {
    /// It may yet tell.
    Awaited,
    /// It told this, for the next turn to say.
    Given(Box<SessionMetadata>),
    /// The session began with it, or it has been said.
    Over,
}

impl Introduction {
    /// What is to be said now.
    pub(super) fn take(&mut self) -> Option<SessionMetadata> {
        let Self::Given(metadata) = self else { return None };
        let metadata = std::mem::take(&mut **metadata);
        *self = Self::Over;
        Some(metadata)
    }
}

/// Says what happens in a session, each thing in its place.
pub(super) struct Voice {
    id: SessionId,
    native: Option<NativeSessionId>,
    sequence: u64,
    time: Timestamp,
}

impl Voice {
    /// The time of the latest event.
    pub(super) fn time(&self) -> Timestamp {
        self.time
    }

    pub(super) fn say(&mut self, scene: &mut Scene<'_>, origin: Origin, data: EventDataRef<'_>) {
        if let Some(time) = scene.moment.time {
            self.time = self.time.max(time);
        }
        self.sequence += 1;
        scene.out.write_event(EventRef {
            event_id: scene.ids.next_event_id(),
            sequence: self.sequence,
            time: self.time,
            session_id: &self.id,
            native_session_id: self.native.as_ref(),
            origin,
            data,
            raw: scene.moment.raw.as_ref(),
        });
    }
}

pub(super) struct Session {
    pub(super) voice: Voice,
    ended: bool,
    /// The directory that the session works in, if that is known.
    pub(super) cwd: Option<String>,
    /// Counts items in the order they began.
    serial: u64,
    pub(super) turn: Option<Turn>,
    /// The host asked for an interrupt before the turn it is for had begun.
    pub(super) interrupt_requested: bool,
    pub(super) prompts: VecDeque<Waiting>,
    pub(super) shown: VecDeque<Shown>,
    pub(super) messages: OpenItems<OpenMessage>,
    pub(super) closed_messages: RecentMap<ItemRef, ClosedMessage, REMEMBERED>,
    pub(super) closed_user_messages: RecentMap<ItemRef, (), REMEMBERED>,
    pub(super) notes: OpenItems<OpenNote>,
    /// Whether we closed them ourselves, so that the agent may still end them.
    pub(super) closed_notes: RecentMap<ItemRef, bool, REMEMBERED>,
    /// Tools without a result.
    pub(super) tools: OpenItems<Box<Tool>>,
    pub(super) closed_tools: RecentMap<ItemRef, ClosedTool, REMEMBERED>,
    /// Each state of a task that was shown.
    pub(super) task_states: RecentMap<(Key, TaskState), (), REMEMBERED>,
    pub(super) permissions: Vec<PendingPermission>,
    pub(super) questions: Vec<PendingQuestion>,
    /// Hashes of every permission and question id given out.
    pub(super) asked: HashSet<u64>,
    pub(super) scopes: Vec<ScopeState>,
    pub(super) scope_ids: HashMap<ScopeKey, ScopeId>,
    /// Whether anything is held back for a sub-agent.
    pub(super) holding: bool,
    /// The latest message of all, sub-agents' included.
    pub(super) latest_message: Option<ItemId>,
    /// What was used since the last turn ended, as far as it was told apart from a turn's end.
    pub(super) used: Option<Usage>,
    pub(super) introduction: Introduction,
    /// What an earlier stream left open.
    pub(super) left_open: Option<Box<UnfinishedWork>>,
}

impl Session {
    pub(super) fn begin(
        scene: &mut Scene<'_>,
        native: Option<&Key>,
        metadata: SessionMetadata,
        origin: Origin,
    ) -> Self {
        let id = scene.ids.session_id(native.map(Key::as_str));
        let mut session = Self::new(id, native.map(NativeSessionId::from));
        session.voice.say(scene, origin, EventDataRef::SessionStarted { metadata: &metadata });
        session.cwd = metadata.cwd;
        session
    }

    fn new(id: SessionId, native: Option<NativeSessionId>) -> Self {
        Self {
            voice: Voice { id, native, sequence: 0, time: Timestamp::EPOCH },
            ended: false,
            cwd: None,
            serial: 0,
            turn: None,
            interrupt_requested: false,
            prompts: VecDeque::new(),
            shown: VecDeque::new(),
            messages: OpenItems::default(),
            closed_messages: RecentMap::default(),
            closed_user_messages: RecentMap::default(),
            notes: OpenItems::default(),
            closed_notes: RecentMap::default(),
            tools: OpenItems::default(),
            closed_tools: RecentMap::default(),
            task_states: RecentMap::default(),
            permissions: Vec::new(),
            questions: Vec::new(),
            asked: HashSet::default(),
            scopes: vec![ScopeState::main()],
            scope_ids: HashMap::default(),
            holding: false,
            latest_message: None,
            used: None,
            introduction: Introduction::Over,
            left_open: None,
        }
    }

    /// A session that goes on where an earlier stream left it.
    pub(super) fn resume(resume: ResumePoint) -> Self {
        let mut session = Self::new(resume.session_id, resume.native_session_id);
        session.voice.sequence = resume.sequence;
        session.voice.time = resume.time;
        session.cwd = resume.cwd;
        session.latest_message = resume.latest_message;
        session.asked = resume.request_ids.iter().map(hash).collect();
        session.left_open = Some(Box::new(resume.unfinished));
        session.introduction = Introduction::Awaited;
        session
    }

    /// The session began without its agent, which may yet tell about itself.
    pub(super) fn await_introduction(&mut self) {
        self.introduction = Introduction::Awaited;
    }

    pub(super) fn is_named(&self) -> bool {
        self.voice.native.is_some()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Sets the native id, now that it is known.
    pub(super) fn name(&mut self, native: Option<&Key>) {
        if let Some(native) = native {
            self.voice.native = Some(native.into());
        }
    }

    pub(super) fn emit(&mut self, scene: &mut Scene<'_>, origin: Origin, data: EventData) {
        self.voice.say(scene, origin, EventDataRef::Owned(data));
    }

    /// The place of the next item among all that began.
    pub(super) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub(super) fn apply(&mut self, scene: &mut Scene<'_>, scope: ScopeId, draft: &mut Draft) {
        if self.ended {
            return;
        }
        let scope = match draft.sub_agent.take() {
            Some(call) => self.sub_agent(call),
            None => scope,
        };
        self.act_or_hold(scene, scope, draft.synthetic, draft.action.take());
        self.settle(scene);
    }

    pub(super) fn act(&mut self, scene: &mut Scene<'_>, scope: ScopeId, synthetic: bool, act: DraftAction) {
        let origin = scene.moment.origin(synthetic);
        match act {
            // Beginning is the sequencer's affair; a second start says nothing new.
            DraftAction::SessionStarted(metadata) => {
                if self.cwd.is_none() {
                    self.cwd.clone_from(&metadata.cwd);
                }
                if matches!(self.introduction, Introduction::Awaited) {
                    self.introduction = Introduction::Given(metadata);
                }
            }
            DraftAction::ChildOf { .. }
            | DraftAction::SpawnedBy { .. }
            | DraftAction::ProcessRestarted
            | DraftAction::About(_)
            | DraftAction::Done => {}
            DraftAction::PromptSent(prompt) => self.prompt_sent(scene, scope, prompt),
            DraftAction::PromptAccepted { id } => self.prompt_accepted(scene, id.as_ref()),
            DraftAction::PromptRejected { id } => self.prompt_rejected(&id),
            DraftAction::InterruptRequested => self.interrupt(scope),
            DraftAction::InterruptRejected => self.interrupt_rejected(scope),
            DraftAction::TurnStarted { turn_id, metadata } => {
                self.turn_started(scene, scope, origin, turn_id, metadata.map(|metadata| *metadata));
            }
            DraftAction::TurnEnded(end) => self.turn_ended(scene, scope, origin, *end),
            DraftAction::CutOff => self.cut_off(scope),
            DraftAction::UsageAdded(usage) => self.used(Some(*usage)),
            DraftAction::UserMessage(key, message) => {
                self.user_message(scene, (scope, key), origin, *message);
            }
            DraftAction::MessageStarted(key, message) => {
                self.message_started(scene, (scope, key), origin, message);
            }
            DraftAction::MessageDelta(key, text) => self.message_delta(scene, &(scope, key), origin, text),
            DraftAction::MessageFinished(key, message, end) => {
                self.message_finished(scene, (scope, key), origin, message, *end);
            }
            DraftAction::MessageAbandoned(key) => self.message_abandoned(scene, &(scope, key), origin),
            DraftAction::ToolStarted(key, call) => self.tool_started(scene, (scope, key), origin, *call),
            DraftAction::ToolArguments(key, text) => {
                self.tool_arguments(scene, &(scope, key), origin, &text);
            }
            DraftAction::ToolCalled(key, call) => self.tool_called(scene, (scope, key), origin, *call),
            DraftAction::ToolOutput(key, text) => self.tool_output(scene, &(scope, key), origin, &text),
            DraftAction::ToolFinished(key, result) => {
                self.tool_finished(scene, (scope, key), origin, *result);
            }
            DraftAction::ToolAbandoned(key) => self.tool_abandoned(scene, &(scope, key)),
            DraftAction::NoteStarted(key, note) => self.note_started(scene, (scope, key), origin, *note),
            DraftAction::NoteFinished(key, note, failed) => {
                self.note_finished(scene, (scope, key), origin, *note, failed);
            }
            DraftAction::Noted(note) => self.noted(scene, scope, origin, *note, false),
            DraftAction::PermissionRequested { key, ask } => self.permission_requested(scene, scope, origin, key, *ask),
            DraftAction::PermissionResolved { key, decision, scope, by } => {
                self.permission_resolved(scene, origin, &key, decision, scope, by);
            }
            DraftAction::QuestionsRequested { key, questions } => {
                self.questions_requested(scene, scope, origin, &key, questions);
            }
            DraftAction::QuestionsResolved { key, answers } => {
                self.questions_resolved(scene, origin, &key, answers);
            }
            DraftAction::RequestWithdrawn { key } => self.request_withdrawn(scene, &key),
            DraftAction::Failed(failure) => self.failed(scene, scope, origin, *failure),
            DraftAction::Unparsed(unparsed) => self.unparsed(scene, *unparsed),
        }
    }

    pub(super) fn failed(&mut self, scene: &mut Scene<'_>, scope: ScopeId, origin: Origin, failure: Failure) {
        if !failure.aside {
            self.before_speech(scene, scope, true);
        }
        let mut error = ErrorEvent::new(failure.code, without_escape_codes(&failure.message));
        error.details = (!failure.details.is_empty()).then(|| Box::new(failure.details));
        let moment = scene.moment.with_raw(failure.raw);
        self.emit(&mut scene.at(&moment), origin, EventData::Error(error));
        if self.is_main(scope)
            && !failure.aside
            && let Some(turn) = &mut self.turn
        {
            turn.failed = true;
        }
    }

    fn unparsed(&mut self, scene: &mut Scene<'_>, unparsed: Unparsed) {
        let mut data = AgentUnparsed::new(unparsed.error, unparsed.location, unparsed.hash);
        data.native_type = unparsed.native_type;
        if let Some(turn) = self.turn.as_mut().filter(|_| unparsed.damaged) {
            turn.damaged = true;
        }
        self.emit(scene, Origin::DAEMON, EventData::AgentUnparsed(data));
    }

    pub(super) fn end(&mut self, scene: &mut Scene<'_>, end: SessionEnded) {
        self.emit(scene, Origin::DAEMON, EventData::SessionEnded(end));
        self.ended = true;
    }
}
