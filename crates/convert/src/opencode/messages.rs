//! Messages as a whole: announced, completed, failed, removed. Their content is in the parts.

use interlingua_native::opencode::{
    AssistantMessage, EventMessageRemovedProperties, EventMessageUpdatedProperties, Message, UserMessage as UserInfo,
};
use interlingua_schema::{ContentPart, Timestamp};

use super::compaction::Summary;
use super::failures::ErrorReport;
use super::finish::Finish;
use super::session::Session;
use super::usage::Tokens;
use super::user_messages::PendingUserMessage;
use super::{FORK_HISTORY, LOCATION, OpenCodeConverter, STATE_ECHO, report_incomplete};
use crate::{Drafts, MessageDraft, MessageEnd, Note};

/// Native type of the events about messages.
const MESSAGE_UPDATED: &str = "message.updated";

/// Role and state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageState {
    /// User message that is not shown yet.
    User,
    /// User message that is shown.
    ShownUser,
    /// User message that is shown as it was sent, because its reply came before any event.
    SentUser,
    Agent,
    CompletedAgent,
    /// User message that repeats the last prompt after a compaction.
    RepeatedUser,
    /// Message copied from another session.
    Copied,
}

impl OpenCodeConverter {
    pub(super) fn message_updated(&mut self, properties: Option<EventMessageUpdatedProperties>, out: &mut Drafts) {
        let Some(EventMessageUpdatedProperties { info: Some(info), session_id, .. }) = properties else {
            return report_incomplete("message.updated", out);
        };
        match info {
            Message::User(info) => match session_id.or_else(|| info.session_id.clone()) {
                Some(id) => self.sessions.get_or_insert(&id).user_updated(*info, out),
                None => report_incomplete("message.updated", out),
            },
            Message::Assistant(info) => match session_id.or_else(|| info.session_id.clone()) {
                Some(id) => self.sessions.get_or_insert(&id).agent_updated(*info, out),
                None => report_incomplete("message.updated", out),
            },
            Message::Unknown { .. } => {
                out.current_session().unparsed(LOCATION, "unknown role", Some(MESSAGE_UPDATED.to_owned()));
            }
        }
    }

    pub(super) fn message_removed(&mut self, properties: Option<EventMessageRemovedProperties>, out: &mut Drafts) {
        let Some(EventMessageRemovedProperties { session_id: Some(id), message_id: Some(message), .. }) = properties
        else {
            return report_incomplete("message.removed", out);
        };
        let session = self.sessions.get_or_insert(&id);
        session.pending_user_messages.retain(|user| user.id != message);
        session.abandon_parts(Some(&message), out);
        session.is_started = true;
        out.session(&id).note(Note::notice(format!("message {message} was removed")));
        session.message_completed(&message, out);
    }
}

impl Session {
    /// A user message is announced or updated.
    pub(super) fn user_updated(&mut self, info: UserInfo, out: &mut Drafts) {
        self.confirm_exists(out);
        if let Some(known) = self.messages.get(&info.id) {
            // A message whose first part preceded this event may get more parts.
            if *known != MessageState::User {
                self.show_user_messages(None, out);
            }
            return out.dropped(STATE_ECHO);
        }
        self.show_user_messages(None, out);
        #[allow(clippy::cast_possible_truncation, reason = "milliseconds since 1970")]
        let created = info.time.and_then(|time| time.created?.as_f64()).map(|created| created as i64);
        if self.is_older_than_session(created) {
            self.messages.insert(info.id, MessageState::Copied);
            return out.dropped(FORK_HISTORY);
        }
        let model = info.model.and_then(|model| model.model_id);
        self.update_mode(info.agent.clone(), model.clone(), out);
        self.messages.insert(info.id.clone(), MessageState::User);
        self.pending_user_messages.push(PendingUserMessage::new(info.id).with_mode(info.agent, model));
        // The parts of the message follow.
        out.dropped(STATE_ECHO);
    }

    /// Drafts a note if the agent (OpenCode's word for a mode) or the model changes.
    pub(super) fn update_mode(&mut self, agent: Option<String>, model: Option<String>, out: &mut Drafts) {
        let mut changed =
            |note: fn(Option<String>, String) -> Note, known: &mut Option<String>, new: Option<String>| {
                let Some(new) = new.filter(|new| known.as_ref() != Some(new)) else { return };
                let before = known.replace(new.clone());
                if before.is_some() {
                    out.session(self.id.as_str()).note(note(before, new));
                }
            };
        changed(Note::mode_changed, &mut self.agent, agent);
        changed(Note::model_changed, &mut self.model, model);
    }

    /// Whether something with this creation time is older than the session. Then a fork has copied it.
    fn is_older_than_session(&self, created: Option<i64>) -> bool {
        matches!((created, self.created_at), (Some(created), Some(session)) if created < session)
    }

    /// A message of the agent is announced or updated.
    pub(super) fn agent_updated(&mut self, mut info: AssistantMessage, out: &mut Drafts) {
        self.confirm_exists(out);
        let time = info.time.as_ref();
        let completed = time.and_then(|time| time.completed);
        if let Some(at) = completed.or_else(|| time.and_then(|time| time.created)) {
            out.set_payload_time(Timestamp::from_millis(at));
        }
        match self.messages.get(&info.id) {
            Some(MessageState::Copied) => return out.dropped(FORK_HISTORY),
            Some(_) => {}
            None if self.is_older_than_session(time.and_then(|time| time.created)) => {
                self.messages.insert(info.id, MessageState::Copied);
                return out.dropped(FORK_HISTORY);
            }
            None => self.agent_announced(&info, completed.is_some(), out),
        }
        info.finish = info.finish.filter(|finish| !finish.is_empty());
        if let Some(finish) = &info.finish {
            self.step_ended(&info.id, Some(finish.clone()));
        }
        let error = info.error.take();
        let failed = error.is_some();
        let is_old = self.messages.get(&info.id) == Some(&MessageState::CompletedAgent);
        if let Some(error) = error {
            let report = ErrorReport::from(error);
            if let ErrorReport::Failed(failure) = &report
                && self.is_summary(&info.id)
            {
                self.compaction_failed(&failure.message, out);
            }
            // A completed message may repeat a failure from before the host's latest prompt.
            self.report_error_of_message(report, is_old, out);
        }
        if completed.is_some() {
            if !failed && !is_old {
                self.check_finish(&info, out);
            }
            self.agent_completed(info, failed, out);
        }
        out.dropped(STATE_ECHO);
    }

    /// Reports an unknown finish of a completed message. The finish of the last message decides the outcome of the
    /// turn.
    fn check_finish(&self, info: &AssistantMessage, out: &mut Drafts) {
        let Some(finish) = info.finish.as_deref().filter(|_| self.turn.is_open) else { return };
        if Finish::parse(finish) == Finish::Unknown {
            let error = format!("unknown finish of a message: {finish}");
            out.session(self.id.as_str()).partially_unparsed(LOCATION, error, Some(MESSAGE_UPDATED.to_owned()));
        }
    }

    fn agent_announced(&mut self, info: &AssistantMessage, completed: bool, out: &mut Drafts) {
        self.messages.insert(info.id.clone(), MessageState::Agent);
        if info.summary == Some(true) {
            self.summary = Some(Box::new(Summary::new(info.id.clone())));
        }
        // A message that is announced as completed belongs to an earlier turn, unless one is running.
        if completed && !self.turn.is_open && self.pending_user_messages.is_empty() {
            return;
        }
        self.show_user_messages(info.parent_id.as_deref(), out);
        self.ensure_turn(out);
        self.set_cwd(info.path.as_ref().and_then(|path| path.cwd.as_deref()), out);
        self.clear_failure(out);
        if !self.is_summary(&info.id) {
            self.turn.last_finish = None;
        }
        if self.model.is_none() {
            self.model.clone_from(&info.model_id);
        }
        self.turn.has_answer = true;
        // A session works on one message at a time, so earlier ones will never complete.
        self.turn.open_messages = vec![info.id.clone()];
    }

    fn agent_completed(&mut self, info: AssistantMessage, failed: bool, out: &mut Drafts) {
        let AssistantMessage { id, structured, tokens, cost, model_id, .. } = info;
        self.abandon_parts(Some(&id), out);
        self.summary_completed(&id);
        self.messages.insert(id.clone(), MessageState::CompletedAgent);
        if let Some(json) = structured {
            let message = MessageDraft::assistant().native_id(format!("{id}:structured")).in_message(&id);
            let end = MessageEnd::text("").with_part(ContentPart::Json { json: json.to_value() });
            out.session(self.id.as_str()).message_finished(format!("{id}:structured"), message, end);
        }
        let tokens = tokens.as_ref().map(Tokens::from).filter(|tokens| !tokens.is_zero());
        if let Some(tokens) = tokens
            && self.turn.is_open
        {
            // The steps report the same usage. Under load they may come after this event.
            if self.count_usage(&id, tokens, cost.as_ref(), model_id, out) {
                self.turn.counted_messages.insert(id.clone());
            }
        }
        if !failed && self.turn.last_finish.is_some() {
            self.turn.failed = false;
        }
        self.message_completed(&id, out);
    }
}
