//! One session: its state, and the dispatch of drafts.

use std::collections::VecDeque;

use foldhash::{HashMap, HashSet};
use interlingua_schema::{
    AgentUnparsed, ErrorEvent, EventData, EventDataRef, ItemId, NativeSessionId, Origin, SessionEnded, SessionMetadata,
    TaskState, Timestamp, Usage,
};

use super::emitter::{EmitContext, EventEmitter};
use super::messages::{ClosedMessage, OpenMessage, hash};
use super::notes::OpenNote;
use super::open_items::OpenItems;
use super::prompts::{PendingPrompt, ShownPrompt};
use super::recent_map::RecentMap;
use super::requests::{PendingPermission, PendingQuestion};
use super::scopes::{ScopeId, ScopeKey, ScopeState};
use super::tools::{ClosedTool, Tool};
use super::turns::Turn;
use super::{ResumePoint, UnfinishedWork};
use crate::Key;
use crate::draft::{Draft, DraftAction, Failure, Unparsed};
use crate::escape_codes::without_escape_codes;

/// Identifies an item of a converter. Keys are per scope, because each sub-agent has its own.
pub(super) type ItemRef = (ScopeId, Key);

/// Number of closed items of each kind that are remembered, to recognize drafts that repeat them.
pub(super) const MAX_CLOSED_ITEMS: usize = 2048;

/// Metadata of a session that the host started before its agent described itself.
#[derive(Debug)]
pub(super) enum PendingMetadata {
    /// The agent has not sent it yet.
    Awaited,
    /// The agent has sent it. It becomes metadata of the next turn.
    Received(Box<SessionMetadata>),
    /// It is in an event already: of the session's start, or of a turn.
    Done,
}

impl PendingMetadata {
    /// Takes the metadata for the turn that starts now.
    pub(super) fn take(&mut self) -> Option<SessionMetadata> {
        let Self::Received(metadata) = self else { return None };
        let metadata = std::mem::take(&mut **metadata);
        *self = Self::Done;
        Some(metadata)
    }
}

/// The state of one session.
pub(super) struct Session {
    pub(super) emitter: EventEmitter,
    ended: bool,
    /// Working directory of the session, if known.
    pub(super) cwd: Option<String>,
    /// Number of items started so far. Open items are closed in the order of their numbers.
    serial: u64,
    pub(super) turn: Option<Turn>,
    /// The host requested an interrupt while a prompt was pending and its turn had not started.
    pub(super) interrupt_requested: bool,
    pub(super) pending_prompts: VecDeque<PendingPrompt>,
    pub(super) shown_prompts: VecDeque<ShownPrompt>,
    pub(super) messages: OpenItems<OpenMessage>,
    pub(super) closed_messages: RecentMap<ItemRef, ClosedMessage, MAX_CLOSED_ITEMS>,
    pub(super) closed_user_messages: RecentMap<ItemRef, (), MAX_CLOSED_ITEMS>,
    pub(super) notes: OpenItems<OpenNote>,
    /// The value is true if the sequencer closed the note, so that the agent may still finish it.
    pub(super) closed_notes: RecentMap<ItemRef, bool, MAX_CLOSED_ITEMS>,
    /// Tool calls without a result.
    pub(super) tools: OpenItems<Box<Tool>>,
    pub(super) closed_tools: RecentMap<ItemRef, ClosedTool, MAX_CLOSED_ITEMS>,
    /// Task states that were emitted already.
    pub(super) task_states: RecentMap<(Key, TaskState), (), MAX_CLOSED_ITEMS>,
    pub(super) permissions: Vec<PendingPermission>,
    pub(super) questions: Vec<PendingQuestion>,
    /// Hashes of every permission id and question id in use so far.
    pub(super) used_request_ids: HashSet<u64>,
    pub(super) scopes: Vec<ScopeState>,
    pub(super) scopes_by_key: HashMap<ScopeKey, ScopeId>,
    /// Whether any sub-agent has held drafts.
    pub(super) has_held_drafts: bool,
    /// Item of the latest message of any scope.
    pub(super) latest_message: Option<ItemId>,
    /// Usage reported since the last turn ended, other than by a turn's end.
    pub(super) unreported_usage: Option<Usage>,
    pub(super) pending_metadata: PendingMetadata,
    /// What an earlier stream left open, until it is closed.
    pub(super) unfinished: Option<Box<UnfinishedWork>>,
}

impl Session {
    pub(super) fn start(
        ctx: &mut EmitContext<'_>,
        native: Option<&Key>,
        metadata: SessionMetadata,
        origin: Origin,
    ) -> Self {
        let id = ctx.ids.session_id(native.map(Key::as_str));
        let native_id = native.map(NativeSessionId::from);
        let mut session = Self::new(EventEmitter::new(id, native_id, 0, Timestamp::EPOCH));
        session.emitter.emit(ctx, origin, EventDataRef::SessionStarted { metadata: &metadata });
        session.cwd = metadata.cwd;
        session
    }

    fn new(emitter: EventEmitter) -> Self {
        Self {
            emitter,
            ended: false,
            cwd: None,
            serial: 0,
            turn: None,
            interrupt_requested: false,
            pending_prompts: VecDeque::new(),
            shown_prompts: VecDeque::new(),
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
            used_request_ids: HashSet::default(),
            scopes: vec![ScopeState::main()],
            scopes_by_key: HashMap::default(),
            has_held_drafts: false,
            latest_message: None,
            unreported_usage: None,
            pending_metadata: PendingMetadata::Done,
            unfinished: None,
        }
    }

    /// Resumes a session that an earlier stream left.
    pub(super) fn resume(resume: ResumePoint) -> Self {
        let ResumePoint { session_id, native_session_id, sequence, time, .. } = resume;
        let mut session = Self::new(EventEmitter::new(session_id, native_session_id, sequence, time));
        session.cwd = resume.cwd;
        session.latest_message = resume.latest_message;
        session.used_request_ids = resume.request_ids.iter().map(hash).collect();
        session.unfinished = Some(Box::new(resume.unfinished));
        session.pending_metadata = PendingMetadata::Awaited;
        session
    }

    /// Takes the metadata that the agent sends later, because the session started without it.
    pub(super) fn expect_metadata(&mut self) {
        self.pending_metadata = PendingMetadata::Awaited;
    }

    pub(super) fn has_native_id(&self) -> bool {
        self.emitter.native_id.is_some()
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Sets the native id, now that it is known.
    pub(super) fn set_native_id(&mut self, native: Option<&Key>) {
        if let Some(native) = native {
            self.emitter.native_id = Some(native.into());
        }
    }

    pub(super) fn emit(&mut self, ctx: &mut EmitContext<'_>, origin: Origin, data: EventData) {
        self.emitter.emit(ctx, origin, EventDataRef::Owned(data));
    }

    /// Number of the next item, by which open items are ordered.
    pub(super) fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// Applies a draft of this scope, or of the sub-agent that the draft names.
    pub(super) fn apply(&mut self, ctx: &mut EmitContext<'_>, scope: ScopeId, draft: &mut Draft) {
        if self.ended {
            return;
        }
        let scope = match draft.sub_agent.take() {
            Some(call) => self.sub_agent(call),
            None => scope,
        };
        self.apply_or_hold(ctx, scope, draft.synthetic, draft.action.take());
        self.release_resolved(ctx);
    }

    /// Emits the events of one draft.
    pub(super) fn apply_action(
        &mut self,
        ctx: &mut EmitContext<'_>,
        scope: ScopeId,
        synthetic: bool,
        action: DraftAction,
    ) {
        let origin = ctx.provenance.origin(synthetic);
        match action {
            // The sequencer has started the session; a second start only adds metadata.
            DraftAction::SessionStarted(metadata) => {
                if self.cwd.is_none() {
                    self.cwd.clone_from(&metadata.cwd);
                }
                if matches!(self.pending_metadata, PendingMetadata::Awaited) {
                    self.pending_metadata = PendingMetadata::Received(metadata);
                }
            }
            DraftAction::ChildOf { .. }
            | DraftAction::SpawnedBy { .. }
            | DraftAction::ProcessRestarted
            | DraftAction::SelectSession(_)
            | DraftAction::Taken => {}
            DraftAction::PromptSent(prompt) => self.prompt_sent(ctx, scope, prompt),
            DraftAction::PromptAccepted { id } => self.prompt_accepted(ctx, id.as_ref()),
            DraftAction::PromptRejected { id } => self.prompt_rejected(&id),
            DraftAction::InterruptRequested => self.interrupt_requested(scope),
            DraftAction::InterruptRejected => self.interrupt_rejected(scope),
            DraftAction::TurnStarted { turn_id, metadata } => {
                self.turn_started(ctx, scope, origin, turn_id, metadata.map(|metadata| *metadata));
            }
            DraftAction::TurnEnded(end) => self.turn_ended(ctx, scope, origin, *end),
            DraftAction::TurnCutOff => self.turn_cut_off(scope),
            DraftAction::UsageAdded(usage) => self.add_usage(Some(*usage)),
            DraftAction::UserMessage(key, message) => {
                self.user_message(ctx, (scope, key), origin, *message);
            }
            DraftAction::MessageStarted(key, message) => {
                self.message_started(ctx, (scope, key), origin, message);
            }
            DraftAction::MessageDelta(key, text) => self.message_delta(ctx, &(scope, key), origin, text),
            DraftAction::MessageFinished(key, message, end) => {
                self.message_finished(ctx, (scope, key), origin, message, *end);
            }
            DraftAction::MessageAbandoned(key) => self.message_abandoned(ctx, &(scope, key), origin),
            DraftAction::ToolStarted(key, call) => self.tool_started(ctx, (scope, key), origin, *call),
            DraftAction::ToolArguments(key, text) => {
                self.tool_arguments(ctx, &(scope, key), origin, &text);
            }
            DraftAction::ToolCalled(key, call) => self.tool_called(ctx, (scope, key), origin, *call),
            DraftAction::ToolOutput(key, text) => self.tool_output(ctx, &(scope, key), origin, &text),
            DraftAction::ToolFinished(key, result) => {
                self.tool_finished(ctx, (scope, key), origin, *result);
            }
            DraftAction::ToolAbandoned(key) => self.tool_abandoned(ctx, &(scope, key)),
            DraftAction::NoteStarted(key, note) => self.note_started(ctx, (scope, key), origin, *note),
            DraftAction::NoteFinished(key, note, failed) => {
                self.note_finished(ctx, (scope, key), origin, *note, failed);
            }
            DraftAction::NoteAdded(note) => self.note_added(ctx, scope, origin, *note, false),
            DraftAction::PermissionRequested { key, permission } => {
                self.permission_requested(ctx, scope, origin, key, *permission);
            }
            DraftAction::PermissionResolved { key, decision, scope, by } => {
                self.permission_resolved(ctx, origin, &key, decision, scope, by);
            }
            DraftAction::QuestionsRequested { key, questions } => {
                self.questions_requested(ctx, scope, origin, &key, questions);
            }
            DraftAction::QuestionsResolved { key, answers } => {
                self.questions_resolved(ctx, origin, &key, answers);
            }
            DraftAction::RequestWithdrawn { key } => self.request_withdrawn(ctx, &key),
            DraftAction::Failed(failure) => self.failed(ctx, scope, origin, *failure),
            DraftAction::Unparsed(unparsed) => self.unparsed(ctx, *unparsed),
        }
    }

    pub(super) fn failed(&mut self, ctx: &mut EmitContext<'_>, scope: ScopeId, origin: Origin, failure: Failure) {
        if !failure.outside_turn {
            self.show_prompt_before_output(ctx, scope, true);
        }
        let mut error = ErrorEvent::new(failure.code, without_escape_codes(&failure.message));
        error.details = (!failure.details.is_empty()).then(|| Box::new(failure.details));
        let provenance = ctx.provenance.with_raw(failure.raw);
        self.emit(&mut ctx.with_provenance(&provenance), origin, EventData::Error(error));
        if self.is_main(scope)
            && !failure.outside_turn
            && let Some(turn) = &mut self.turn
        {
            turn.failed = true;
        }
    }

    fn unparsed(&mut self, ctx: &mut EmitContext<'_>, unparsed: Unparsed) {
        let mut data = AgentUnparsed::new(unparsed.error, unparsed.location, unparsed.hash);
        data.native_type = unparsed.native_type;
        if let Some(turn) = self.turn.as_mut().filter(|_| unparsed.damaged) {
            turn.damaged = true;
        }
        self.emit(ctx, Origin::DAEMON, EventData::AgentUnparsed(data));
    }

    pub(super) fn end(&mut self, ctx: &mut EmitContext<'_>, end: SessionEnded) {
        self.emit(ctx, Origin::DAEMON, EventData::SessionEnded(end));
        self.ended = true;
    }
}
