//! Parts of messages: streaming text and reasoning, and step markers.

use std::mem;

use interlingua_native::opencode::{
    EventMessagePartDeltaProperties, EventMessagePartRemovedProperties, EventMessagePartUpdatedProperties, Part,
    StepFinishPart,
};
use interlingua_schema::{ContentPart, Timestamp, Visibility};

use super::compaction::{AutoCompaction, SUMMARY};
use super::kinds::ToolKinds;
use super::messages::MessageState;
use super::retries::message_retry_note;
use super::session::Session;
use super::usage::Tokens;
use super::user_messages::{UserPart, agent_mention, file_part, subtask_content};
use super::wire::legacy_delta;
use super::{EMPTY_PART, FORK_HISTORY, LOCATION, OpenCodeConverter, REPEATED_PROMPT, STATE_ECHO, report_incomplete};
use crate::{Drafts, MessageDraft, MessageEnd, Note};

/// A streaming text or reasoning.
#[derive(Debug)]
pub(super) struct OpenPart {
    message: String,
    is_reasoning: bool,
    /// Length of the known text.
    known_len: usize,
    /// Trailing whitespace, which OpenCode may trim.
    held_whitespace: String,
    is_started: bool,
}

/// State of a text or reasoning in one event.
struct PartUpdate {
    part: String,
    message: String,
    is_reasoning: bool,
    text: String,
    has_ended: bool,
    /// The part has content that is not shown.
    is_redacted: bool,
}

impl OpenCodeConverter {
    pub(super) fn part_updated(
        &mut self,
        properties: Option<EventMessagePartUpdatedProperties>,
        text: &str,
        out: &mut Drafts,
    ) {
        let Some(EventMessagePartUpdatedProperties { part: Some(part), session_id, time, .. }) = properties else {
            return report_incomplete("message.part.updated", out);
        };
        if let Some(at) = time.and_then(|time| time.as_i64()) {
            out.set_payload_time(Timestamp::from_millis(at));
        }
        // Since 1.2, deltas are separate events, and the session id is outside the part too.
        let delta = if session_id.is_none() { legacy_delta(text) } else { None };
        match session_id.or_else(|| part_session_id(&part)) {
            Some(id) => self.handle_part(&id, part, delta.as_deref(), out),
            None => report_incomplete("message.part.updated", out),
        }
    }

    /// Converts a part. The match arms are in the order of the schema.
    pub(super) fn handle_part(&mut self, id: &str, part: Part, delta: Option<&str>, out: &mut Drafts) {
        let session = self.sessions.get_or_insert(id);
        let message = part_message_id(&part).unwrap_or_default();
        let known = session.messages.get(&message.to_owned()).copied();
        match known {
            Some(MessageState::Copied) => return out.dropped(FORK_HISTORY),
            Some(MessageState::RepeatedUser) => return out.dropped(REPEATED_PROMPT),
            Some(MessageState::SentUser) => return out.dropped(STATE_ECHO),
            _ => {}
        }
        // A part of an unannounced message belongs to the agent, unless it looks typed or attached.
        let is_user = match known {
            Some(known) => !matches!(known, MessageState::Agent | MessageState::CompletedAgent),
            None => match &part {
                Part::Text(text) => text.time.is_none(),
                Part::File(_) | Part::Agent(_) => true,
                _ => false,
            },
        };
        if !is_user || session.pending_user_messages.last().is_some_and(|user| user.id != message) {
            session.show_user_messages(None, out);
        }
        // A part that is shown later keeps its payload.
        let raw = || out.raw();
        match part {
            Part::Text(text) if is_user && text.synthetic == Some(true) => {
                let synthetic = UserPart { id: text.id, content: text.text.unwrap_or_default(), raw: raw() };
                session.synthetic_part(&text.message_id.unwrap_or_default(), synthetic, out);
            }
            Part::Text(text) if is_user => {
                let content = ContentPart::text(text.text.unwrap_or_default());
                let typed = UserPart { id: text.id, content, raw: raw() };
                session.user_part(&text.message_id.unwrap_or_default(), typed, out);
            }
            Part::Text(text) if session.is_summary(text.message_id.as_deref().unwrap_or_default()) => {
                session.summary_text(text.id, text.text.unwrap_or_default(), raw());
                out.dropped(SUMMARY);
            }
            Part::Reasoning(part) if session.is_summary(part.message_id.as_deref().unwrap_or_default()) => {
                out.dropped(SUMMARY);
            }
            Part::Text(text) => session.update_part(
                PartUpdate {
                    part: text.id,
                    message: text.message_id.unwrap_or_default(),
                    is_reasoning: false,
                    text: text.text.unwrap_or_default(),
                    has_ended: text.time.is_some_and(|time| time.end.is_some()),
                    is_redacted: false,
                },
                delta,
                out,
            ),
            Part::Subtask(part) => {
                let (message, id) = (part.message_id.clone().unwrap_or_default(), part.id.clone());
                let raw = raw();
                session.user_part(&message, UserPart { id, content: subtask_content(part), raw }, out);
            }
            Part::Reasoning(part) => session.update_part(
                PartUpdate {
                    part: part.id,
                    message: part.message_id.unwrap_or_default(),
                    is_reasoning: true,
                    text: part.text.unwrap_or_default(),
                    has_ended: part.time.is_some_and(|time| time.end.is_some()),
                    is_redacted: part.metadata.is_some(),
                },
                delta,
                out,
            ),
            Part::File(part) => {
                let (message, id) = (part.message_id.clone().unwrap_or_default(), part.id.clone());
                if is_user {
                    let raw = raw();
                    session.user_part(&message, UserPart { id, content: file_part(*part), raw }, out);
                } else {
                    let message = MessageDraft::assistant().native_id(id.as_str()).in_message(message);
                    out.session(session.id.as_str()).message_finished(
                        id,
                        message,
                        MessageEnd::text("").with_part(file_part(*part)),
                    );
                }
            }
            Part::Tool(part) => session.tool_part(*part, ToolKinds::new(&self.mcp_servers), out),
            Part::StepStart(part) => {
                // A step that starts again abandons what it has streamed.
                session.abandon_parts(part.message_id.as_deref(), out);
                out.dropped(STATE_ECHO);
            }
            Part::StepFinish(part) => session.step_finished(part, out),
            Part::Agent(part) if is_user => {
                let mention = UserPart { id: part.id, content: agent_mention(part.name.as_deref()), raw: raw() };
                session.user_part(&part.message_id.unwrap_or_default(), mention, out);
            }
            // File states for a revert, and mentions outside user messages.
            Part::Snapshot(_) | Part::Patch(_) | Part::Agent(_) => out.dropped(STATE_ECHO),
            Part::Retry(part) => out.session(id).note(message_retry_note(part)),
            Part::Compaction(part) => session.compaction_part(part, out),
            Part::Unknown { tag, .. } => out.session(id).unparsed(LOCATION, "unknown part", Some(tag)),
        }
    }

    pub(super) fn part_delta(&mut self, properties: Option<EventMessagePartDeltaProperties>, out: &mut Drafts) {
        let Some(EventMessagePartDeltaProperties {
            session_id: Some(id),
            part_id: Some(part),
            delta: Some(delta),
            message_id,
            field,
            ..
        }) = properties
        else {
            return report_incomplete("message.part.delta", out);
        };
        let session = self.sessions.get_or_insert(&id);
        if field.is_some_and(|field| field != "text") {
            if session.open_tools.contains_key(&part) {
                return out.session(&id).tool_arguments(part, delta);
            }
            return out.dropped(STATE_ECHO);
        }
        let message = message_id.unwrap_or_default();
        if session.messages.get(&message) == Some(&MessageState::Copied) {
            return out.dropped(FORK_HISTORY);
        }
        if session.is_summary(&message) {
            return out.dropped(SUMMARY);
        }
        session.open_parts.entry(part.clone()).or_insert_with(|| OpenPart::new(message, false));
        session.append_delta(&part, &delta, out);
    }

    pub(super) fn part_removed(&mut self, properties: Option<EventMessagePartRemovedProperties>, out: &mut Drafts) {
        let Some(EventMessagePartRemovedProperties { session_id: Some(id), part_id: Some(part), .. }) = properties
        else {
            return report_incomplete("message.part.removed", out);
        };
        let session = self.sessions.get_or_insert(&id);
        session.is_started = true;
        if session.open_parts.remove(&part).is_some_and(|open| open.is_started) {
            out.session(&id).message_abandoned(part.as_str());
        }
        out.session(&id).note(Note::notice(format!("part {part} was removed")));
    }
}

impl OpenPart {
    fn new(message: String, is_reasoning: bool) -> Self {
        Self { message, is_reasoning, known_len: 0, held_whitespace: String::new(), is_started: false }
    }
}

impl Session {
    /// Updates a text or reasoning, with the new delta if the event has one.
    fn update_part(&mut self, update: PartUpdate, delta: Option<&str>, out: &mut Drafts) {
        if !update.has_ended {
            let open = self.open_parts.entry(update.part.clone());
            let open = open.or_insert_with(|| OpenPart::new(update.message, update.is_reasoning));
            open.is_reasoning = update.is_reasoning;
            let known_len = mem::replace(&mut open.known_len, update.text.len());
            let new = delta.or_else(|| update.text.get(known_len..)).unwrap_or_default();
            return self.append_delta(&update.part, new, out);
        }
        let was_started = self.open_parts.remove(&update.part).is_some_and(|open| open.is_started);
        if update.text.is_empty() && !was_started && !(update.is_reasoning && update.is_redacted) {
            return out.dropped(EMPTY_PART);
        }
        self.ensure_turn_for(&update.message, out);
        let visibility = if update.text.is_empty() { Visibility::Private } else { Visibility::Public };
        let message = if update.is_reasoning { MessageDraft::reasoning(visibility) } else { MessageDraft::assistant() };
        let mut end = MessageEnd::text(update.text);
        if self.is_cut_off() {
            end = end.failed();
        }
        self.is_started = true;
        let message = message.native_id(update.part.as_str()).in_message(update.message);
        out.session(self.id.as_str()).message_finished(update.part, message, end);
    }

    /// Appends a delta to a text or reasoning.
    fn append_delta(&mut self, part: &str, delta: &str, out: &mut Drafts) {
        let Some(open) = self.open_parts.get_mut(part) else {
            return;
        };
        if delta.is_empty() && !open.is_started {
            return out.dropped(EMPTY_PART);
        }
        if !open.is_started {
            let message = open.message.clone();
            self.ensure_turn_for(&message, out);
        }
        let Some(open) = self.open_parts.get_mut(part) else {
            return;
        };
        let mut session = out.session(self.id.as_str());
        self.is_started = true;
        if !open.is_started {
            open.is_started = true;
            let message =
                if open.is_reasoning { MessageDraft::reasoning(Visibility::Public) } else { MessageDraft::assistant() };
            session.message_started(part, message.native_id(part).in_message(open.message.as_str()));
        }
        if !self.trims_whitespace {
            return session.message_delta(part, delta);
        }
        let mut text = mem::take(&mut open.held_whitespace);
        text.push_str(delta);
        open.held_whitespace = text.split_off(text.trim_end().len());
        session.message_delta(part, text);
    }

    /// Abandons the streaming parts of one message, or of all messages.
    pub(super) fn abandon_parts(&mut self, message: Option<&str>, out: &mut Drafts) {
        let id = &self.id;
        self.open_parts.retain(|part, open| {
            let keeps = message.is_some_and(|message| message != open.message);
            if !keeps && open.is_started {
                out.session(id.as_str()).message_abandoned(part.as_str());
            }
            keeps
        });
    }

    fn step_finished(&mut self, part: StepFinishPart, out: &mut Drafts) {
        let message = part.message_id.unwrap_or_default();
        if self.turn.is_open
            && !self.turn.counted_messages.contains(&message)
            && let Some(tokens) = &part.tokens
        {
            self.count_usage(&part.id, Tokens::from(tokens), part.cost.as_ref(), self.model.clone(), out);
            // The message repeats the usage when it is complete.
            self.turn.counted_steps.insert(message.clone());
        }
        self.step_ended(&message, part.reason);
        out.dropped(STATE_ECHO);
    }

    /// Remembers why a step ended. The summary of an automatic compaction does not count: the turn continues after it.
    pub(super) fn step_ended(&mut self, message: &str, finish: Option<String>) {
        if self.turn.auto_compaction == AutoCompaction::None || !self.is_summary(message) {
            self.turn.last_finish = finish;
        }
    }
}

fn part_session_id(part: &Part) -> Option<String> {
    let id = match part {
        Part::Text(part) => &part.session_id,
        Part::Subtask(part) => &part.session_id,
        Part::Reasoning(part) => &part.session_id,
        Part::File(part) => &part.session_id,
        Part::Tool(part) => &part.session_id,
        Part::StepStart(part) => &part.session_id,
        Part::StepFinish(part) => &part.session_id,
        Part::Snapshot(part) => &part.session_id,
        Part::Patch(part) => &part.session_id,
        Part::Agent(part) => &part.session_id,
        Part::Retry(part) => &part.session_id,
        Part::Compaction(part) => &part.session_id,
        Part::Unknown { .. } => &None,
    };
    id.clone()
}

fn part_message_id(part: &Part) -> Option<&str> {
    match part {
        Part::Text(part) => part.message_id.as_deref(),
        Part::Subtask(part) => part.message_id.as_deref(),
        Part::Reasoning(part) => part.message_id.as_deref(),
        Part::File(part) => part.message_id.as_deref(),
        Part::Tool(part) => part.message_id.as_deref(),
        Part::StepStart(part) => part.message_id.as_deref(),
        Part::StepFinish(part) => part.message_id.as_deref(),
        Part::Snapshot(part) => part.message_id.as_deref(),
        Part::Patch(part) => part.message_id.as_deref(),
        Part::Agent(part) => part.message_id.as_deref(),
        Part::Retry(part) => part.message_id.as_deref(),
        Part::Compaction(part) => part.message_id.as_deref(),
        Part::Unknown { .. } => None,
    }
}
