//! Where a converter puts its drafts.

use interlingua_schema::{
    ApprovalScope, Decision, QuestionAnswer, RawJson, SessionMetadata, Timestamp, TurnMetadata, Usage,
};

use crate::draft::{Draft, DraftAction, Unparsed};
use crate::{
    Failure, Key, MessageDraft, MessageEnd, Note, PermissionDraft, PromptDraft, QuestionDraft, ToolCall, ToolResult,
    TurnEnd, UserMessage,
};

/// What a converter makes of one input.
#[derive(Debug, Default)]
pub struct Drafts {
    pub(crate) list: Vec<Draft>,
    pub(crate) time: Option<Timestamp>,
    pub(crate) dropped: Option<&'static str>,
    /// The payload that is being converted, where events carry payloads.
    pub(crate) payload: Option<RawJson>,
    /// How many drafts there were before the input that is being converted.
    before_input: usize,
    /// The session spoken of last; the one begun last when it has no name. Only a change is a draft.
    about: Option<Key>,
}

impl Drafts {
    /// Speaks of the session that the agent calls so. One never heard of begins with that.
    pub fn session(&mut self, native: &str) -> SessionDrafts<'_> {
        let is_another = self.about.as_ref().is_none_or(|key| key.as_str() != native);
        let session = is_another.then(|| native.into());
        SessionDrafts { drafts: self, is_another, session, sub_agent: None, synthetic: false }
    }

    /// Speaks of the session that was begun last, because the payload names none. Before there is one, what is said
    /// waits for it.
    pub fn current_session(&mut self) -> SessionDrafts<'_> {
        let is_another = self.about.is_some();
        SessionDrafts { drafts: self, is_another, session: None, sub_agent: None, synthetic: false }
    }

    /// Speaks of the session with this native id, or of the current one when there is none.
    pub fn session_or_current(&mut self, native: Option<&str>) -> SessionDrafts<'_> {
        match native {
            Some(native) => self.session(native),
            None => self.current_session(),
        }
    }

    /// Speaks of the session that was spoken of last.
    pub(crate) fn last_addressed_session(&mut self) -> SessionDrafts<'_> {
        SessionDrafts { drafts: self, is_another: false, session: None, sub_agent: None, synthetic: false }
    }

    /// The next drafts are made of another input.
    pub(crate) fn begin_input(&mut self) {
        self.before_input = self.list.len();
    }

    /// The drafts made of the input so far.
    pub(crate) fn made(&self) -> &[Draft] {
        self.list.get(self.before_input..).unwrap_or_default()
    }

    /// Whether the input has led to any draft.
    pub(crate) fn has_made_any(&self) -> bool {
        !self.made().is_empty()
    }

    /// The payload carries nothing for a client, for this reason: a line on the agent's short, documented list.
    pub fn dropped(&mut self, reason: &'static str) {
        self.dropped = Some(reason);
    }

    /// The payload at hand, for an event that is made of it later; nothing where events carry no payloads.
    #[must_use]
    pub fn raw(&self) -> Option<RawJson> {
        self.payload.clone()
    }

    /// The payload's own time, which counts where the log has none.
    pub fn set_payload_time(&mut self, time: Timestamp) {
        self.time = Some(time);
    }

    /// The agent process is a new one: whatever the old one left open in any session closes first.
    pub fn process_restarted(&mut self) {
        self.current_session().push(DraftAction::ProcessRestarted);
    }
}

/// Speaks of one session, and of the agent in it or one of its sub-agents.
#[derive(Debug)]
pub struct SessionDrafts<'a> {
    drafts: &'a mut Drafts,
    /// What was said before is about another session.
    is_another: bool,
    /// The name of this one, if so and if it has one.
    session: Option<Key>,
    sub_agent: Option<Key>,
    synthetic: bool,
}

impl SessionDrafts<'_> {
    fn push(&mut self, action: DraftAction) {
        if std::mem::take(&mut self.is_another) {
            let session = self.session.take();
            self.drafts.about.clone_from(&session);
            self.drafts.list.push(Draft::select_session(session));
        }
        self.drafts.list.push(Draft { sub_agent: self.sub_agent.clone(), synthetic: self.synthetic, action });
    }

    /// What follows is done by the sub-agent that this tool call started. It waits until the call is known.
    #[must_use]
    pub fn sub_agent(mut self, call: impl Into<Key>) -> Self {
        self.sub_agent = Some(call.into());
        self
    }

    /// As [`sub_agent`](Self::sub_agent), where there is a call; else the agent itself.
    #[must_use]
    pub fn sub_agent_or_main(mut self, call: Option<impl Into<Key>>) -> Self {
        self.sub_agent = call.map(Into::into);
        self
    }

    /// What follows is inferred, not said by the agent. (What is made of sent input is so by itself.)
    #[must_use]
    pub fn synthetic(mut self) -> Self {
        self.synthetic = true;
        self
    }

    /// The session begins, and the agent says this of itself. Only the first time counts. The agent's id is filled in.
    pub fn started(&mut self, metadata: SessionMetadata) {
        self.push(DraftAction::SessionStarted(Box::new(metadata)));
    }

    /// This session is a sub-agent's, and `parent` the session that it works for. To be said before anything else
    /// of it; what it does then waits until [`spawned_by`](Self::spawned_by) or the end of the parent's turn.
    pub fn child_of(&mut self, parent: impl Into<Key>) {
        self.push(DraftAction::ChildOf { parent: parent.into() });
    }

    /// The tool call that session `parent` knows by the key `call` started this session.
    pub fn spawned_by(&mut self, parent: impl Into<Key>, call: impl Into<Key>) {
        self.push(DraftAction::SpawnedBy { parent: parent.into(), call: call.into() });
    }

    /// The host sent a message. It is shown as the user's when the agent begins to answer, or in the agent's own
    /// repetition; never in both.
    pub fn prompt_sent(&mut self, prompt: PromptDraft) {
        self.push(DraftAction::PromptSent(prompt));
    }

    /// The agent takes up a waiting prompt inside the running turn: the one with this id, or the oldest.
    pub fn prompt_accepted(&mut self, id: Option<Key>) {
        self.push(DraftAction::PromptAccepted { id });
    }

    /// The agent refuses the waiting prompt with this id: it never was part of the conversation.
    pub fn prompt_rejected(&mut self, id: impl Into<Key>) {
        self.push(DraftAction::PromptRejected { id: id.into() });
    }

    /// The host asked the agent to stop.
    pub fn interrupt_requested(&mut self) {
        self.push(DraftAction::InterruptRequested);
    }

    /// The agent refuses to stop: its turn ends as if nobody had asked.
    pub fn interrupt_rejected(&mut self) {
        self.push(DraftAction::InterruptRejected);
    }

    /// A turn begins. The same turn twice is one; another one ends the one before.
    pub fn turn_started(&mut self, turn_id: Option<String>, metadata: TurnMetadata) {
        let metadata = (!metadata.is_empty()).then(|| Box::new(metadata));
        self.push(DraftAction::TurnStarted { turn_id, metadata });
    }

    /// The running turn ends; what it left open is closed. Without one, nothing happens.
    pub fn turn_ended(&mut self, end: TurnEnd) {
        self.push(DraftAction::TurnEnded(Box::new(end)));
    }

    /// The agent, which is about to be gone, always says when a turn is over and has not done so: the running turn was
    /// cut off, whatever the exit code. Without one, nothing happens.
    pub fn turn_cut_off(&mut self) {
        self.push(DraftAction::TurnCutOff);
    }

    /// Tokens were used. For agents that tell per message: what they add up to is told when the turn ends, however it
    /// ends, on top of what [`TurnEnd::usage`] says.
    pub fn add_usage(&mut self, usage: Usage) {
        self.push(DraftAction::UsageAdded(Box::new(usage)));
    }

    /// The agent repeats a user's message.
    pub fn user_message(&mut self, key: impl Into<Key>, message: UserMessage) {
        self.push(DraftAction::UserMessage(key.into(), Box::new(message)));
    }

    /// A message begins to stream.
    pub fn message_started(&mut self, key: impl Into<Key>, message: MessageDraft) {
        self.push(DraftAction::MessageStarted(key.into(), message));
    }

    /// A message goes on. One that never started starts as the agent's text.
    pub fn message_delta(&mut self, key: impl Into<Key>, text: impl Into<String>) {
        self.push(DraftAction::MessageDelta(key.into(), text.into()));
    }

    /// A message is over. One that never started starts first. A second end counts only when it says something else,
    /// and is then another message.
    pub fn message_finished(&mut self, key: impl Into<Key>, message: MessageDraft, end: MessageEnd) {
        self.push(DraftAction::MessageFinished(key.into(), message, Box::new(end)));
    }

    /// The agent takes back what it streamed.
    pub fn message_abandoned(&mut self, key: impl Into<Key>) {
        self.push(DraftAction::MessageAbandoned(key.into()));
    }

    /// A tool call begins, its arguments not yet final.
    pub fn tool_started(&mut self, key: impl Into<Key>, call: ToolCall) {
        self.push(DraftAction::ToolStarted(key.into(), Box::new(call)));
    }

    /// More of a call's arguments.
    pub fn tool_arguments(&mut self, key: impl Into<Key>, text: impl Into<String>) {
        self.push(DraftAction::ToolArguments(key.into(), text.into()));
    }

    /// A tool is called: its arguments are final.
    pub fn tool_called(&mut self, key: impl Into<Key>, call: ToolCall) {
        self.push(DraftAction::ToolCalled(key.into(), Box::new(call)));
    }

    /// More of a tool's output.
    pub fn tool_output(&mut self, key: impl Into<Key>, text: impl Into<String>) {
        self.push(DraftAction::ToolOutput(key.into(), text.into()));
    }

    /// A tool is done. A second end of the same call counts only when the first was ours, and is then a status.
    pub fn tool_finished(&mut self, key: impl Into<Key>, result: ToolResult) {
        self.push(DraftAction::ToolFinished(key.into(), Box::new(result)));
    }

    /// The agent takes a call back before it ran.
    pub fn tool_abandoned(&mut self, key: impl Into<Key>) {
        self.push(DraftAction::ToolAbandoned(key.into()));
    }

    /// A status, system message or unknown thing, begun and done.
    pub fn note(&mut self, note: Note) {
        self.push(DraftAction::NoteAdded(Box::new(note)));
    }

    /// A status that lasts begins: a compaction, a hook.
    pub fn note_started(&mut self, key: impl Into<Key>, note: Note) {
        self.push(DraftAction::NoteStarted(key.into(), Box::new(note)));
    }

    /// A status that lasted is over. One that never started starts first.
    pub fn note_finished(&mut self, key: impl Into<Key>, note: Note, failed: bool) {
        self.push(DraftAction::NoteFinished(key.into(), Box::new(note), failed));
    }

    /// The agent asks for permission. If the tool call that waits for it fails, nobody is asked any more.
    pub fn permission_requested(&mut self, key: impl Into<Key>, permission: PermissionDraft) {
        self.push(DraftAction::PermissionRequested { key: key.into(), permission: Box::new(permission) });
    }

    /// A permission is given.
    pub fn permission_approved(&mut self, key: impl Into<Key>, scope: ApprovalScope) {
        let decision = Decision::Approved;
        self.push(DraftAction::PermissionResolved { key: key.into(), decision, scope: Some(scope), by: None });
    }

    /// A permission is refused.
    pub fn permission_denied(&mut self, key: impl Into<Key>) {
        let decision = Decision::Denied;
        self.push(DraftAction::PermissionResolved { key: key.into(), decision, scope: None, by: None });
    }

    /// The agent asks the user, one question or several at once; as for permissions, a `call_id` names the call.
    pub fn questions_requested(&mut self, key: impl Into<Key>, questions: Vec<QuestionDraft>) {
        self.push(DraftAction::QuestionsRequested { key: key.into(), questions });
    }

    /// The questions are answered, in order. Those without an answer are rejected.
    pub fn questions_answered(&mut self, key: impl Into<Key>, answers: Vec<QuestionAnswer>) {
        self.push(DraftAction::QuestionsResolved { key: key.into(), answers });
    }

    /// The questions are refused, perhaps with words why.
    pub fn questions_rejected(&mut self, key: impl Into<Key>, why: Option<String>) {
        self.push(DraftAction::QuestionsResolved { key: key.into(), answers: vec![QuestionAnswer::Rejected(why)] });
    }

    /// The agent no longer waits for a permission or an answer: it counts as refused.
    pub fn request_withdrawn(&mut self, key: impl Into<Key>) {
        self.push(DraftAction::RequestWithdrawn { key: key.into() });
    }

    /// Something failed that the user must know of.
    pub fn failed(&mut self, failure: Failure) {
        self.push(DraftAction::Failed(Box::new(failure)));
    }

    /// The payload does not fit what is known of the agent: `location` says who could not read it, `error` why.
    pub fn unparsed(&mut self, location: &'static str, error: impl Into<String>, native_type: Option<String>) {
        self.push_unparsed(location, error.into(), native_type, false);
    }

    /// The payload is of a known type, but a part of it that its meaning needs does not fit: `error` says where and why.
    /// A turn whose end the agent never tells does not count as completed after this.
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
