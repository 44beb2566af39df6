//! Parts of messages: text and reasoning as they stream, and the markers between them.

use std::mem;

use interlingua_native::opencode::{
    EventMessagePartDeltaProperties, EventMessagePartRemovedProperties, EventMessagePartUpdatedProperties, Part,
    StepFinishPart,
};
use interlingua_schema::{ContentPart, Timestamp, Visibility};

use super::compaction::{Compaction, SUMMARY};
use super::kinds::Kinds;
use super::messages::Known;
use super::retries::message_retries;
use super::session::Session;
use super::usage::Tokens;
use super::users::{UserPart, file_part, mentioned, subtask};
use super::wire::riding_delta;
use super::{EMPTY_PART, HERE, HISTORY, OpenCodeConverter, SAID_AGAIN, STATE_ECHO, incomplete};
use crate::{Drafts, MessageDraft, MessageEnd, Note};

/// A text or reasoning that streams.
#[derive(Debug)]
pub(super) struct OpenPart {
    message: String,
    reasoning: bool,
    /// How much of its text is known.
    known: usize,
    /// White space at the end, which may yet be cut off.
    held: String,
    started: bool,
}

/// What is told of a text or reasoning at a time.
struct Told {
    part: String,
    message: String,
    reasoning: bool,
    text: String,
    ended: bool,
    /// There is something in it that is not shown.
    redacted: bool,
}

impl OpenCodeConverter {
    pub(super) fn part_updated(
        &mut self,
        properties: Option<EventMessagePartUpdatedProperties>,
        text: &str,
        out: &mut Drafts,
    ) {
        let Some(EventMessagePartUpdatedProperties { part: Some(part), session_id, time }) = properties else {
            return incomplete("message.part.updated", out);
        };
        if let Some(at) = time.and_then(|time| time.as_i64()) {
            out.set_payload_time(Timestamp::from_millis(at));
        }
        // Since 1.2 deltas are events of their own, and the session is named outside the part too.
        let delta = if session_id.is_none() { riding_delta(text) } else { None };
        match session_id.or_else(|| session_of(&part)) {
            Some(id) => self.part(&id, part, delta.as_deref(), out),
            None => incomplete("message.part.updated", out),
        }
    }

    /// One part, in the order of the schema. `line`: the payload that tells of it, if it is alone in it.
    pub(super) fn part(&mut self, id: &str, part: Part, delta: Option<&str>, out: &mut Drafts) {
        let session = self.sessions.of(id);
        let message = message_of(&part).unwrap_or_default();
        let known = session.messages.get(&message.to_owned()).copied();
        match known {
            Some(Known::History) => return out.dropped(HISTORY),
            Some(Known::SaidAgain) => return out.dropped(SAID_AGAIN),
            Some(Known::SentUser) => return out.dropped(STATE_ECHO),
            _ => {}
        }
        // A message that was not announced is the agent's, unless it looks like something typed or attached.
        let is_user = match known {
            Some(known) => !matches!(known, Known::Agent | Known::DoneAgent),
            None => match &part {
                Part::Text(text) => text.time.is_none(),
                Part::File(_) | Part::Agent(_) => true,
                _ => false,
            },
        };
        if !is_user || session.users.last().is_some_and(|user| user.id != message) {
            session.show_users(None, out);
        }
        // What is shown later keeps its payload.
        let raw = || out.raw();
        match part {
            Part::Text(text) if is_user && text.synthetic == Some(true) => {
                let added = UserPart { id: text.id, content: text.text.unwrap_or_default(), raw: raw() };
                session.added_part(&text.message_id.unwrap_or_default(), added, out);
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
            Part::Text(text) => session.told(
                Told {
                    part: text.id,
                    message: text.message_id.unwrap_or_default(),
                    reasoning: false,
                    text: text.text.unwrap_or_default(),
                    ended: text.time.is_some_and(|time| time.end.is_some()),
                    redacted: false,
                },
                delta,
                out,
            ),
            Part::Subtask(part) => {
                let (message, id) = (part.message_id.clone().unwrap_or_default(), part.id.clone());
                let raw = raw();
                session.user_part(&message, UserPart { id, content: subtask(part), raw }, out);
            }
            Part::Reasoning(part) => session.told(
                Told {
                    part: part.id,
                    message: part.message_id.unwrap_or_default(),
                    reasoning: true,
                    text: part.text.unwrap_or_default(),
                    ended: part.time.is_some_and(|time| time.end.is_some()),
                    redacted: part.metadata.is_some(),
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
                    let said = MessageDraft::assistant().native_id(id.as_str()).in_message(message);
                    out.session(session.id.as_str()).message_finished(
                        id,
                        said,
                        MessageEnd::text("").with_part(file_part(*part)),
                    );
                }
            }
            Part::Tool(part) => session.tool_part(*part, Kinds::new(&self.mcp), out),
            Part::StepStart(part) => {
                // A step that begins again leaves what it streamed before.
                session.abandon_parts(part.message_id.as_deref(), out);
                out.dropped(STATE_ECHO);
            }
            Part::StepFinish(part) => session.step_finished(part, out),
            Part::Agent(part) if is_user => {
                let named = UserPart { id: part.id, content: mentioned(part.name.as_deref()), raw: raw() };
                session.user_part(&part.message_id.unwrap_or_default(), named, out);
            }
            // What the files looked like, for a revert; and an agent that nobody mentioned.
            Part::Snapshot(_) | Part::Patch(_) | Part::Agent(_) => out.dropped(STATE_ECHO),
            Part::Retry(part) => out.session(id).note(message_retries(part)),
            Part::Compaction(part) => session.compaction_part(part, out),
            Part::Unknown { tag, .. } => out.session(id).unparsed(HERE, "unknown part", Some(tag)),
        }
    }

    pub(super) fn part_delta(&mut self, properties: Option<EventMessagePartDeltaProperties>, out: &mut Drafts) {
        let Some(EventMessagePartDeltaProperties {
            session_id: Some(id),
            part_id: Some(part),
            delta: Some(delta),
            message_id,
            field,
        }) = properties
        else {
            return incomplete("message.part.delta", out);
        };
        let session = self.sessions.of(&id);
        if field.is_some_and(|field| field != "text") {
            if session.tools.contains_key(&part) {
                return out.session(&id).tool_arguments(part, delta);
            }
            return out.dropped(STATE_ECHO);
        }
        let message = message_id.unwrap_or_default();
        if session.messages.get(&message) == Some(&Known::History) {
            return out.dropped(HISTORY);
        }
        if session.is_summary(&message) {
            return out.dropped(SUMMARY);
        }
        session.parts.entry(part.clone()).or_insert_with(|| OpenPart::new(message, false));
        session.say(&part, &delta, out);
    }

    pub(super) fn part_removed(&mut self, properties: Option<EventMessagePartRemovedProperties>, out: &mut Drafts) {
        let Some(EventMessagePartRemovedProperties { session_id: Some(id), part_id: Some(part), .. }) = properties
        else {
            return incomplete("message.part.removed", out);
        };
        let session = self.sessions.of(&id);
        session.begun = true;
        if session.parts.remove(&part).is_some_and(|open| open.started) {
            out.session(&id).message_abandoned(part.as_str());
        }
        out.session(&id).note(Note::notice(format!("part {part} was removed")));
    }
}

impl OpenPart {
    fn new(message: String, reasoning: bool) -> Self {
        Self { message, reasoning, known: 0, held: String::new(), started: false }
    }
}

impl Session {
    /// The state of a text or reasoning, perhaps with the words that are new in it.
    fn told(&mut self, told: Told, delta: Option<&str>, out: &mut Drafts) {
        if !told.ended {
            let open = self.parts.entry(told.part.clone());
            let open = open.or_insert_with(|| OpenPart::new(told.message, told.reasoning));
            open.reasoning = told.reasoning;
            let known = mem::replace(&mut open.known, told.text.len());
            let new = delta.or_else(|| told.text.get(known..)).unwrap_or_default();
            return self.say(&told.part, new, out);
        }
        let started = self.parts.remove(&told.part).is_some_and(|open| open.started);
        if told.text.is_empty() && !started && !(told.reasoning && told.redacted) {
            return out.dropped(EMPTY_PART);
        }
        self.speaks_in(&told.message, out);
        let visibility = if told.text.is_empty() { Visibility::Private } else { Visibility::Public };
        let said = if told.reasoning { MessageDraft::reasoning(visibility) } else { MessageDraft::assistant() };
        let mut end = MessageEnd::text(told.text);
        if self.is_cut_off() {
            end = end.failed();
        }
        self.begun = true;
        let said = said.native_id(told.part.as_str()).in_message(told.message);
        out.session(self.id.as_str()).message_finished(told.part, said, end);
    }

    /// More of a text or reasoning.
    fn say(&mut self, part: &str, delta: &str, out: &mut Drafts) {
        let Some(open) = self.parts.get_mut(part) else {
            return;
        };
        if delta.is_empty() && !open.started {
            return out.dropped(EMPTY_PART);
        }
        if !open.started {
            let message = open.message.clone();
            self.speaks_in(&message, out);
        }
        let Some(open) = self.parts.get_mut(part) else {
            return;
        };
        let mut session = out.session(self.id.as_str());
        self.begun = true;
        if !open.started {
            open.started = true;
            let said =
                if open.reasoning { MessageDraft::reasoning(Visibility::Public) } else { MessageDraft::assistant() };
            session.message_started(part, said.native_id(part).in_message(open.message.as_str()));
        }
        if !self.trims {
            return session.message_delta(part, delta);
        }
        let mut words = mem::take(&mut open.held);
        words.push_str(delta);
        open.held = words.split_off(words.trim_end().len());
        session.message_delta(part, words);
    }

    /// Gives up the texts that were never ended, of one message or of all.
    pub(super) fn abandon_parts(&mut self, message: Option<&str>, out: &mut Drafts) {
        let id = &self.id;
        self.parts.retain(|part, open| {
            let stays = message.is_some_and(|message| message != open.message);
            if !stays && open.started {
                out.session(id.as_str()).message_abandoned(part.as_str());
            }
            stays
        });
    }

    fn step_finished(&mut self, part: StepFinishPart, out: &mut Drafts) {
        let message = part.message_id.unwrap_or_default();
        if self.run.turn_open
            && !self.run.counted_whole.contains(&message)
            && let Some(tokens) = &part.tokens
        {
            self.count(&part.id, Tokens::from(tokens), part.cost.as_ref(), self.model.clone(), out);
            // The message repeats the figures when it is complete.
            self.run.counted.insert(message.clone());
        }
        self.step_ended(&message, part.reason);
        out.dropped(STATE_ECHO);
    }

    /// Why a step ended. The summary of a compaction that OpenCode made by itself is no answer: the work goes on.
    pub(super) fn step_ended(&mut self, message: &str, finish: Option<String>) {
        if self.run.compaction == Compaction::None || !self.is_summary(message) {
            self.run.finish = finish;
        }
    }
}

fn session_of(part: &Part) -> Option<String> {
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

fn message_of(part: &Part) -> Option<&str> {
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
