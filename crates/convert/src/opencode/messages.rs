//! Messages as a whole: announced, complete, failed, removed. What they say is in their parts.

use interlingua_native::opencode::{
    AssistantMessage, EventMessageRemovedProperties, EventMessageUpdatedProperties, Message, UserMessage as UserInfo,
};
use interlingua_schema::{ContentPart, Timestamp};

use super::compaction::Summary;
use super::failures::Trouble;
use super::finish::Finish;
use super::session::Session;
use super::usage::Tokens;
use super::users::PendingUser;
use super::{HERE, HISTORY, OpenCodeConverter, STATE_ECHO, incomplete};
use crate::{Drafts, MessageDraft as Said, MessageEnd, Note};

/// The type of the payloads that tell of messages.
const MESSAGE_UPDATED: &str = "message.updated";

/// Whose message it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// A user's that is not shown yet.
    User,
    /// A user's that is shown.
    ShownUser,
    /// A user's that is shown as it was sent, because no event told of it in time.
    SentUser,
    Agent,
    /// The agent's, and complete.
    DoneAgent,
    /// A user's that was said before, and is said again after a compaction.
    SaidAgain,
    /// Copied from another session.
    History,
}

impl OpenCodeConverter {
    pub(super) fn message_updated(&mut self, properties: Option<EventMessageUpdatedProperties>, out: &mut Drafts) {
        let Some(EventMessageUpdatedProperties { info: Some(info), session_id }) = properties else {
            return incomplete("message.updated", out);
        };
        match info {
            Message::User(info) => match session_id.or_else(|| info.session_id.clone()) {
                Some(id) => self.sessions.of(&id).user_updated(*info, out),
                None => incomplete("message.updated", out),
            },
            Message::Assistant(info) => match session_id.or_else(|| info.session_id.clone()) {
                Some(id) => self.sessions.of(&id).agent_updated(*info, out),
                None => incomplete("message.updated", out),
            },
            Message::Unknown { .. } => {
                out.current_session().unparsed(HERE, "unknown role", Some(MESSAGE_UPDATED.to_owned()));
            }
        }
    }

    pub(super) fn message_removed(&mut self, properties: Option<EventMessageRemovedProperties>, out: &mut Drafts) {
        let Some(EventMessageRemovedProperties { session_id: Some(id), message_id: Some(message) }) = properties else {
            return incomplete("message.removed", out);
        };
        let session = self.sessions.of(&id);
        session.users.retain(|user| user.id != message);
        session.abandon_parts(Some(&message), out);
        session.begun = true;
        out.session(&id).note(Note::notice(format!("message {message} was removed")));
        session.message_completed(&message, out);
    }
}

impl Session {
    /// A user's message is announced, or told again with what it led to.
    pub(super) fn user_updated(&mut self, info: UserInfo, out: &mut Drafts) {
        self.is_there(out);
        if let Some(known) = self.messages.get(&info.id) {
            // More parts may follow on one of which a part came first.
            if *known != Known::User {
                self.show_users(None, out);
            }
            return out.dropped(STATE_ECHO);
        }
        self.show_users(None, out);
        #[allow(clippy::cast_possible_truncation, reason = "milliseconds since 1970")]
        let created = info.time.and_then(|time| time.created?.as_f64()).map(|created| created as i64);
        if self.is_before(created) {
            self.messages.insert(info.id, Known::History);
            return out.dropped(HISTORY);
        }
        let model = info.model.and_then(|model| model.model_id);
        self.mode_changes(info.agent.clone(), model.clone(), out);
        self.messages.insert(info.id.clone(), Known::User);
        self.users.push(PendingUser::new(info.id).of_mode(info.agent, model));
        // Its parts follow.
        out.dropped(STATE_ECHO);
    }

    /// Another agent (OpenCode's word for a mode) or another model than before.
    pub(super) fn mode_changes(&mut self, agent: Option<String>, model: Option<String>, out: &mut Drafts) {
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

    /// Whether something that was created then is older than the session, and so was copied into it.
    fn is_before(&self, created: Option<i64>) -> bool {
        matches!((created, self.created), (Some(created), Some(session)) if created < session)
    }

    /// A message of the agent's is announced, or there is news of it. `raw`: the payload, where it says that the
    /// message was cut off.
    pub(super) fn agent_updated(&mut self, mut info: AssistantMessage, out: &mut Drafts) {
        self.is_there(out);
        let time = info.time.as_ref();
        let completed = time.and_then(|time| time.completed);
        if let Some(at) = completed.or_else(|| time.and_then(|time| time.created)) {
            out.set_payload_time(Timestamp::from_millis(at));
        }
        match self.messages.get(&info.id) {
            Some(Known::History) => return out.dropped(HISTORY),
            Some(_) => {}
            None if self.is_before(time.and_then(|time| time.created)) => {
                self.messages.insert(info.id, Known::History);
                return out.dropped(HISTORY);
            }
            None => self.agent_announced(&info, completed.is_some(), out),
        }
        info.finish = info.finish.filter(|finish| !finish.is_empty());
        if let Some(finish) = &info.finish {
            self.step_ended(&info.id, Some(finish.clone()));
        }
        let error = info.error.take();
        let failed = error.is_some();
        let is_old = self.messages.get(&info.id) == Some(&Known::DoneAgent);
        if let Some(error) = error {
            let trouble = Trouble::from(error);
            if let Trouble::Failed(failure) = &trouble
                && self.is_summary(&info.id)
            {
                self.compaction_failed(&failure.message, out);
            }
            // One that is complete may tell again what failed before the host's latest prompt.
            self.report_of(trouble, is_old, out);
        }
        if completed.is_some() {
            if !failed && !is_old {
                self.finished(&info, out);
            }
            self.agent_completed(info, failed, out);
        }
        out.dropped(STATE_ECHO);
    }

    /// A message is complete. What its last step ended for decides what becomes of the turn, if it was the last.
    fn finished(&self, info: &AssistantMessage, out: &mut Drafts) {
        let Some(finish) = info.finish.as_deref().filter(|_| self.run.turn_open) else { return };
        if Finish::from_word(finish) == Finish::Unlisted {
            let error = format!("unknown finish of a message: {finish}");
            out.session(self.id.as_str()).partially_unparsed(HERE, error, Some(MESSAGE_UPDATED.to_owned()));
        }
    }

    fn agent_announced(&mut self, info: &AssistantMessage, completed: bool, out: &mut Drafts) {
        self.messages.insert(info.id.clone(), Known::Agent);
        if info.summary == Some(true) {
            self.summary = Some(Box::new(Summary::new(info.id.clone())));
        }
        // What is complete already is the rest of an earlier turn, unless one is running.
        if completed && !self.run.turn_open && self.users.is_empty() {
            return;
        }
        self.show_users(info.parent_id.as_deref(), out);
        self.ensure_turn(out);
        self.works_in(info.path.as_ref().and_then(|path| path.cwd.as_deref()), out);
        self.goes_on(out);
        if !self.is_summary(&info.id) {
            self.run.finish = None;
        }
        if self.model.is_none() {
            self.model.clone_from(&info.model_id);
        }
        self.run.answered = true;
        // A session does one thing at a time: what is not complete now never will be.
        self.run.open_messages = vec![info.id.clone()];
    }

    fn agent_completed(&mut self, info: AssistantMessage, failed: bool, out: &mut Drafts) {
        let AssistantMessage { id, structured, tokens, cost, model_id, .. } = info;
        self.abandon_parts(Some(&id), out);
        self.summary_completed(&id);
        self.messages.insert(id.clone(), Known::DoneAgent);
        if let Some(json) = structured {
            let said = Said::assistant().native_id(format!("{id}:structured")).in_message(&id);
            let end = MessageEnd::text("").with_part(ContentPart::Json { json: json.to_value() });
            out.session(self.id.as_str()).message_finished(format!("{id}:structured"), said, end);
        }
        let tokens = tokens.as_ref().map(Tokens::from).filter(|tokens| !tokens.is_zero());
        if let Some(tokens) = tokens
            && self.run.turn_open
        {
            // Its steps told the same, if they were told; a busy agent may tell them only after this.
            if self.count(&id, tokens, cost.as_ref(), model_id, out) {
                self.run.counted_whole.insert(id.clone());
            }
        }
        if !failed && self.run.finish.is_some() {
            self.run.failed = false;
        }
        self.message_completed(&id, out);
    }
}
