//! The API by which a converter makes drafts.

use interlingua_schema::{
    ApprovalScope, Decision, QuestionAnswer, RawJson, SessionMetadata, Timestamp, TurnMetadata, Usage,
};

use crate::draft::{Draft, DraftAction, Unparsed};
use crate::{
    Failure, Key, MessageDraft, MessageEnd, Note, PermissionDraft, PromptDraft, QuestionDraft, ToolCall, ToolResult,
    TurnEnd, UserMessage,
};

/// The drafts that a converter makes of inputs.
#[derive(Debug, Default)]
pub struct Drafts {
    pub(crate) list: Vec<Draft>,
    pub(crate) time: Option<Timestamp>,
    pub(crate) dropped: Option<&'static str>,
    /// The payload that is being converted, if events carry payloads.
    pub(crate) payload: Option<RawJson>,
    /// Number of drafts before the input that is being converted.
    input_start: usize,
    /// Native id of the session that the last draft was for; `None` if that was the session that started last. Only a
    /// change is a draft.
    addressed: Option<Key>,
}

impl Drafts {
    /// Drafts for the session with this native id. The first draft for an unknown session starts it.
    pub fn session(&mut self, native: &str) -> SessionDrafts<'_> {
        let needs_select = self.addressed.as_ref().is_none_or(|key| key.as_str() != native);
        let session = needs_select.then(|| native.into());
        SessionDrafts { drafts: self, needs_select, session, sub_agent: None, synthetic: false }
    }

    /// Drafts for the session that started last, for payloads without a native session id. Drafts that come before the
    /// first session wait for it.
    pub fn current_session(&mut self) -> SessionDrafts<'_> {
        let needs_select = self.addressed.is_some();
        SessionDrafts { drafts: self, needs_select, session: None, sub_agent: None, synthetic: false }
    }

    /// Drafts for the session with this native id, or for the current session if `None`.
    pub fn session_or_current(&mut self, native: Option<&str>) -> SessionDrafts<'_> {
        match native {
            Some(native) => self.session(native),
            None => self.current_session(),
        }
    }

    /// Drafts for the session that the last draft was for.
    pub(crate) fn last_addressed_session(&mut self) -> SessionDrafts<'_> {
        SessionDrafts { drafts: self, needs_select: false, session: None, sub_agent: None, synthetic: false }
    }

    /// Notes that the next drafts are made of another input.
    pub(crate) fn start_input(&mut self) {
        self.input_start = self.list.len();
    }

    /// The drafts made of the current input so far.
    pub(crate) fn input_drafts(&self) -> &[Draft] {
        self.list.get(self.input_start..).unwrap_or_default()
    }

    /// Whether any draft was made of the current input.
    pub(crate) fn has_input_drafts(&self) -> bool {
        !self.input_drafts().is_empty()
    }

    /// Drops the payload, because it carries nothing for a client. The reason is one of the agent's documented list.
    pub fn dropped(&mut self, reason: &'static str) {
        self.dropped = Some(reason);
    }

    /// The payload that is being converted, for an event that is made of it later. `None` if events carry no payloads.
    #[must_use]
    pub fn raw(&self) -> Option<RawJson> {
        self.payload.clone()
    }

    /// Sets the time that the payload itself contains. It is used if the log has no time for the input.
    pub fn set_payload_time(&mut self, time: Timestamp) {
        self.time = Some(time);
    }

    /// The agent runs in a new process. Whatever the old process left open, in any session, is closed.
    pub fn process_restarted(&mut self) {
        self.current_session().push(DraftAction::ProcessRestarted);
    }
}

/// Makes drafts for one session: for its main agent or one of its sub-agents.
#[derive(Debug)]
pub struct SessionDrafts<'a> {
    drafts: &'a mut Drafts,
    /// The drafts so far are for another session, so the next one has to select this session first.
    needs_select: bool,
    /// Native id of the session to select, if it has one.
    session: Option<Key>,
    sub_agent: Option<Key>,
    synthetic: bool,
}

impl SessionDrafts<'_> {
    fn push(&mut self, action: DraftAction) {
        if std::mem::take(&mut self.needs_select) {
            let session = self.session.take();
            self.drafts.addressed.clone_from(&session);
            self.drafts.list.push(Draft::select_session(session));
        }
        self.drafts.list.push(Draft { sub_agent: self.sub_agent.clone(), synthetic: self.synthetic, action });
    }

    /// Makes drafts for the sub-agent that this tool call started. They wait until the call is known.
    #[must_use]
    pub fn sub_agent(mut self, call: impl Into<Key>) -> Self {
        self.sub_agent = Some(call.into());
        self
    }

    /// As [`sub_agent`](Self::sub_agent) if there is a call; else for the main agent.
    #[must_use]
    pub fn sub_agent_or_main(mut self, call: Option<impl Into<Key>>) -> Self {
        self.sub_agent = call.map(Into::into);
        self
    }

    /// Marks the next drafts as inferred, not reported by the agent. Drafts made of sent input are synthetic anyway.
    #[must_use]
    pub fn synthetic(mut self) -> Self {
        self.synthetic = true;
        self
    }

    /// The session starts, with the agent's description of itself. Only the first call counts. The sequencer fills in
    /// the id of the agent.
    pub fn started(&mut self, metadata: SessionMetadata) {
        self.push(DraftAction::SessionStarted(Box::new(metadata)));
    }

    /// This native session belongs to a sub-agent, and `parent` is the session that it works for. Call this before any
    /// other draft for the session. Drafts then wait for [`spawned_by`](Self::spawned_by) or the end of the parent's
    /// turn.
    pub fn child_of(&mut self, parent: impl Into<Key>) {
        self.push(DraftAction::ChildOf { parent: parent.into() });
    }

    /// The tool call with the key `call` in session `parent` started this session.
    pub fn spawned_by(&mut self, parent: impl Into<Key>, call: impl Into<Key>) {
        self.push(DraftAction::SpawnedBy { parent: parent.into(), call: call.into() });
    }

    /// The host sent a prompt. It is shown as a user's message when the agent starts to answer, or as the agent's echo;
    /// never as both.
    pub fn prompt_sent(&mut self, prompt: PromptDraft) {
        self.push(DraftAction::PromptSent(prompt));
    }

    /// The agent accepts a pending prompt within the running turn: the one with this id, or the oldest.
    pub fn prompt_accepted(&mut self, id: Option<Key>) {
        self.push(DraftAction::PromptAccepted { id });
    }

    /// The agent rejects the pending prompt with this id, which is not part of the conversation then.
    pub fn prompt_rejected(&mut self, id: impl Into<Key>) {
        self.push(DraftAction::PromptRejected { id: id.into() });
    }

    /// The host requested an interrupt.
    pub fn interrupt_requested(&mut self) {
        self.push(DraftAction::InterruptRequested);
    }

    /// The agent rejects the interrupt. Its turn ends as if there had been no request.
    pub fn interrupt_rejected(&mut self) {
        self.push(DraftAction::InterruptRejected);
    }

    /// A turn starts. A repeated start of the same turn is ignored; the start of another turn ends the running one.
    pub fn turn_started(&mut self, turn_id: Option<String>, metadata: TurnMetadata) {
        let metadata = (!metadata.is_empty()).then(|| Box::new(metadata));
        self.push(DraftAction::TurnStarted { turn_id, metadata });
    }

    /// The running turn ends, and its open items are closed. Does nothing without a running turn.
    pub fn turn_ended(&mut self, end: TurnEnd) {
        self.push(DraftAction::TurnEnded(Box::new(end)));
    }

    /// The running turn was cut off, whatever the exit code is: this agent always reports the end of a turn before it
    /// exits, and has not done so. Does nothing without a running turn.
    pub fn turn_cut_off(&mut self) {
        self.push(DraftAction::TurnCutOff);
    }

    /// Adds token usage, for agents that report it per message. The sum is part of the end of the turn, however the
    /// turn ends, in addition to [`TurnEnd::usage`].
    pub fn add_usage(&mut self, usage: Usage) {
        self.push(DraftAction::UsageAdded(Box::new(usage)));
    }

    /// The agent echoes a user's message.
    pub fn user_message(&mut self, key: impl Into<Key>, message: UserMessage) {
        self.push(DraftAction::UserMessage(key.into(), Box::new(message)));
    }

    /// A message starts to stream.
    pub fn message_started(&mut self, key: impl Into<Key>, message: MessageDraft) {
        self.push(DraftAction::MessageStarted(key.into(), message));
    }

    /// More text of a message. A message that has not started starts as text of the agent.
    pub fn message_delta(&mut self, key: impl Into<Key>, text: impl Into<String>) {
        self.push(DraftAction::MessageDelta(key.into(), text.into()));
    }

    /// A message ends. A message that has not started starts first. A second end is ignored, unless its text differs:
    /// then it is another message.
    pub fn message_finished(&mut self, key: impl Into<Key>, message: MessageDraft, end: MessageEnd) {
        self.push(DraftAction::MessageFinished(key.into(), message, Box::new(end)));
    }

    /// The agent discards a message that it was streaming.
    pub fn message_abandoned(&mut self, key: impl Into<Key>) {
        self.push(DraftAction::MessageAbandoned(key.into()));
    }

    /// A tool call starts. Its arguments are not final yet.
    pub fn tool_started(&mut self, key: impl Into<Key>, call: ToolCall) {
        self.push(DraftAction::ToolStarted(key.into(), Box::new(call)));
    }

    /// More of the arguments of a call.
    pub fn tool_arguments(&mut self, key: impl Into<Key>, text: impl Into<String>) {
        self.push(DraftAction::ToolArguments(key.into(), text.into()));
    }

    /// A tool is called. Its arguments are final.
    pub fn tool_called(&mut self, key: impl Into<Key>, call: ToolCall) {
        self.push(DraftAction::ToolCalled(key.into(), Box::new(call)));
    }

    /// More output of a tool.
    pub fn tool_output(&mut self, key: impl Into<Key>, text: impl Into<String>) {
        self.push(DraftAction::ToolOutput(key.into(), text.into()));
    }

    /// A tool finishes. A second end of the same call is ignored, unless the sequencer made the first one: then it is a
    /// status item.
    pub fn tool_finished(&mut self, key: impl Into<Key>, result: ToolResult) {
        self.push(DraftAction::ToolFinished(key.into(), Box::new(result)));
    }

    /// The agent discards a call before it has run.
    pub fn tool_abandoned(&mut self, key: impl Into<Key>) {
        self.push(DraftAction::ToolAbandoned(key.into()));
    }

    /// A status, system message or unknown item, from start to completion.
    pub fn note(&mut self, note: Note) {
        self.push(DraftAction::NoteAdded(Box::new(note)));
    }

    /// A status that takes time starts: a compaction, a hook.
    pub fn note_started(&mut self, key: impl Into<Key>, note: Note) {
        self.push(DraftAction::NoteStarted(key.into(), Box::new(note)));
    }

    /// A status that takes time ends. A status that has not started starts first.
    pub fn note_finished(&mut self, key: impl Into<Key>, note: Note, failed: bool) {
        self.push(DraftAction::NoteFinished(key.into(), Box::new(note), failed));
    }

    /// The agent requests a permission. It is denied if the tool call that waits for it fails.
    pub fn permission_requested(&mut self, key: impl Into<Key>, permission: PermissionDraft) {
        self.push(DraftAction::PermissionRequested { key: key.into(), permission: Box::new(permission) });
    }

    /// A permission is approved.
    pub fn permission_approved(&mut self, key: impl Into<Key>, scope: ApprovalScope) {
        let decision = Decision::Approved;
        self.push(DraftAction::PermissionResolved { key: key.into(), decision, scope: Some(scope), by: None });
    }

    /// A permission is denied.
    pub fn permission_denied(&mut self, key: impl Into<Key>) {
        let decision = Decision::Denied;
        self.push(DraftAction::PermissionResolved { key: key.into(), decision, scope: None, by: None });
    }

    /// The agent asks the user one or several questions. As for permissions, `call_id` is the call that waits.
    pub fn questions_requested(&mut self, key: impl Into<Key>, questions: Vec<QuestionDraft>) {
        self.push(DraftAction::QuestionsRequested { key: key.into(), questions });
    }

    /// The questions are answered, in order. Those without an answer are rejected.
    pub fn questions_answered(&mut self, key: impl Into<Key>, answers: Vec<QuestionAnswer>) {
        self.push(DraftAction::QuestionsResolved { key: key.into(), answers });
    }

    /// The questions are rejected, for this reason if there is one.
    pub fn questions_rejected(&mut self, key: impl Into<Key>, reason: Option<String>) {
        self.push(DraftAction::QuestionsResolved { key: key.into(), answers: vec![QuestionAnswer::Rejected(reason)] });
    }

    /// The agent no longer waits for a permission or an answer, which is denied or rejected then.
    pub fn request_withdrawn(&mut self, key: impl Into<Key>) {
        self.push(DraftAction::RequestWithdrawn { key: key.into() });
    }

    /// Reports an error to the user.
    pub fn failed(&mut self, failure: Failure) {
        self.push(DraftAction::Failed(Box::new(failure)));
    }

    /// The payload does not fit what is known about the agent. `location` is the decoder that failed, `error` the
    /// reason.
    pub fn unparsed(&mut self, location: &'static str, error: impl Into<String>, native_type: Option<String>) {
        self.push_unparsed(location, error.into(), native_type, false);
    }

    /// The payload has a known type, but lost a part that matters. `error` is the path of the part and the reason. If
    /// the agent does not report the end of the running turn, the turn does not count as completed.
    pub fn partially_unparsed(
        &mut self,
        location: &'static str,
        error: impl Into<String>,
        native_type: Option<String>,
    ) {
        self.push_unparsed(location, error.into(), native_type, true);
    }

    fn push_unparsed(&mut self, location: &'static str, error: String, native_type: Option<String>, damaged: bool) {
        let unparsed = Unparsed { location, error, native_type, hash: String::new(), damaged };
        self.push(DraftAction::Unparsed(Box::new(unparsed)));
    }
}
