//! `session.next.*`: events of the v2 API. Items start, stream and end with explicit ids. A turn ends with a step that
//! calls no tools.

use interlingua_native::opencode as native;
use interlingua_schema::{Compaction, CompactionTrigger, Retry, Visibility};

use super::compaction::SUMMARY;
use super::failures::ErrorReport;
use super::finish::Finish;
use super::next_keys::StreamKey;
use super::session::revert_note;
use super::turn::turn_metadata;
use super::usage::Tokens;
use super::user_messages::v2_prompt_content;
use super::{EMPTY_PART, LOCATION, OpenCodeConverter, STATE_ECHO, report_incomplete};
use crate::{Drafts, MessageDraft, MessageEnd, Note, SessionDrafts, UserMessage, error_code_for_text};

/// How the error message of an interrupt begins.
const INTERRUPTED_PREFIX: &str = "Provider turn interrupted";

/// Properties of an event.
pub(super) type Properties<T> = Option<T>;

impl OpenCodeConverter {
    pub(super) fn next_agent_switched(
        &mut self,
        properties: Properties<native::EventSessionNextAgentSwitchedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextAgentSwitchedProperties { session_id: Some(id), agent: Some(agent), .. }) =
            properties
        else {
            return report_incomplete("session.next.agent.switched", out);
        };
        // The first event is not a change. Some releases send it beside events of the older generation.
        self.sessions.get_or_insert(&id).update_mode(Some(agent), None, out);
        out.dropped(STATE_ECHO);
    }

    pub(super) fn next_model_switched(
        &mut self,
        properties: Properties<native::EventSessionNextModelSwitchedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextModelSwitchedProperties { session_id: Some(id), model, .. }) = properties
        else {
            return report_incomplete("session.next.model.switched", out);
        };
        self.sessions.get_or_insert(&id).update_mode(None, model.and_then(|model| model.id), out);
        out.dropped(STATE_ECHO);
    }

    pub(super) fn next_moved(
        &mut self,
        properties: Properties<native::EventSessionNextMovedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextMovedProperties { session_id: Some(id), location, .. }) = properties else {
            return report_incomplete("session.next.moved", out);
        };
        let directory = location.and_then(|location| location.directory).unwrap_or_default();
        self.next_session(&id, out).note(Note::notice(format!("moved to {directory}")));
    }

    pub(super) fn next_prompted(
        &mut self,
        properties: Properties<native::EventSessionNextPromptedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextPromptedProperties {
            session_id: Some(id),
            message_id: Some(message),
            prompt: Some(prompt),
            ..
        }) = properties
        else {
            return report_incomplete("session.next.prompted", out);
        };
        let content = v2_prompt_content(prompt);
        let session = self.sessions.get_or_insert(&id);
        session.confirm_exists(out);
        let has_ended = session.is_cut_off() || session.turn.has_declined_request;
        // A failure before the echo belongs to the turn of this prompt.
        if session.turn.is_open && has_ended && !std::mem::take(&mut session.turn.failed_before_echo) {
            session.end_turn(out);
        }
        let echo = session.match_echo(&message, &content).unwrap_or_default();
        if !session.turn.is_open {
            let metadata = turn_metadata(session.model.clone(), session.agent.clone());
            out.session(&id).synthetic().turn_started(None, metadata);
        }
        session.turn.is_open = true;
        session.previous_failures.clear();
        let mut user = UserMessage::new(content).native_id(message.as_str()).in_message(&message);
        if let Some(key) = echo.key {
            user = user.echo_of(key);
        }
        self.next_session(&id, out).user_message(message, user);
    }

    pub(super) fn next_context_updated(
        &mut self,
        properties: Properties<native::EventSessionNextContextUpdatedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextContextUpdatedProperties { session_id: Some(id), text: Some(text), .. }) =
            properties
        else {
            return report_incomplete("session.next.context.updated", out);
        };
        self.next_session(&id, out).note(Note::system(text));
    }

    pub(super) fn next_synthetic(
        &mut self,
        properties: Properties<native::EventSessionNextSyntheticProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextSyntheticProperties { session_id: Some(id), text: Some(text), .. }) =
            properties
        else {
            return report_incomplete("session.next.synthetic", out);
        };
        self.next_session(&id, out).note(Note::system(text));
    }

    pub(super) fn next_step_started(
        &mut self,
        properties: Properties<native::EventSessionNextStepStartedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextStepStartedProperties { session_id: Some(id), model, agent, .. }) = properties
        else {
            return report_incomplete("session.next.step.started", out);
        };
        let session = self.sessions.get_or_insert(&id);
        session.turn.has_declined_request = false;
        session.clear_failure(out);
        session.ensure_turn(out);
        session.update_mode(agent, model.and_then(|model| model.id), out);
        out.dropped(STATE_ECHO);
    }

    pub(super) fn next_step_ended(
        &mut self,
        properties: Properties<native::EventSessionNextStepEndedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextStepEndedProperties {
            session_id: Some(id),
            assistant_message_id,
            finish,
            tokens,
            cost,
            ..
        }) = properties
        else {
            return report_incomplete("session.next.step.ended", out);
        };
        let session = self.sessions.get_or_insert(&id);
        if let Some(tokens) = &tokens {
            let model = session.model.clone();
            let step = assistant_message_id.unwrap_or_default();
            session.count_usage(&step, Tokens::from(tokens), cost.as_ref(), model, out);
        }
        let reason = finish.as_deref().map(Finish::parse);
        match reason {
            Some(Finish::Continues) if !session.turn.interrupt_requested => return out.dropped(STATE_ECHO),
            // No other event ends the turn, so it ends as failed.
            Some(Finish::Unknown) | None => {
                session.turn.failed = true;
                let error = format!("unknown finish of a step: {}", finish.as_deref().unwrap_or("none"));
                out.session(&id).partially_unparsed(LOCATION, error, Some("session.next.step.ended".to_owned()));
            }
            Some(_) => {}
        }
        session.turn.last_finish = finish;
        session.end_turn(out);
    }

    pub(super) fn next_step_failed(
        &mut self,
        properties: Properties<native::EventSessionNextStepFailedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextStepFailedProperties { session_id: Some(id), error, .. }) = properties else {
            return report_incomplete("session.next.step.failed", out);
        };
        let message = error.and_then(|error| error.message).unwrap_or_default();
        let session = self.sessions.get_or_insert(&id);
        let is_interrupted = message.starts_with(INTERRUPTED_PREFIX) || session.turn.interrupt_requested;
        session.report_error(
            if is_interrupted { ErrorReport::Interrupted } else { ErrorReport::from_message("unknown", message) },
            out,
        );
        session.end_turn(out);
    }

    pub(super) fn next_text_delta(
        &mut self,
        properties: Properties<native::EventSessionNextTextDeltaProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextTextDeltaProperties {
            session_id: Some(id),
            assistant_message_id: Some(message),
            text_id,
            delta: Some(delta),
            ..
        }) = properties
        else {
            return report_incomplete("session.next.text.delta", out);
        };
        let StreamKey { key, native_id } = self.sessions.get_or_insert(&id).start_stream(&message, text_id);
        let mut session = self.next_session(&id, out);
        session.message_started(key.as_str(), MessageDraft::assistant().native_id(native_id).in_message(message));
        session.message_delta(key, delta);
    }

    pub(super) fn next_text_ended(
        &mut self,
        properties: Properties<native::EventSessionNextTextEndedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextTextEndedProperties {
            session_id: Some(id),
            assistant_message_id: Some(message),
            text_id,
            text,
            ..
        }) = properties
        else {
            return report_incomplete("session.next.text.ended", out);
        };
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return out.dropped(EMPTY_PART);
        };
        let session = self.sessions.get_or_insert(&id);
        let StreamKey { key, native_id } = session.end_stream(&message, text_id);
        let is_cut_off = session.is_cut_off();
        let draft = MessageDraft::assistant().native_id(native_id).in_message(message);
        self.next_session(&id, out).message_finished(key, draft, message_end(text, is_cut_off));
    }

    pub(super) fn next_reasoning_delta(
        &mut self,
        properties: Properties<native::EventSessionNextReasoningDeltaProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextReasoningDeltaProperties {
            session_id: Some(id),
            assistant_message_id: Some(message),
            reasoning_id,
            delta: Some(delta),
            ..
        }) = properties
        else {
            return report_incomplete("session.next.reasoning.delta", out);
        };
        let StreamKey { key, native_id } = self.sessions.get_or_insert(&id).start_stream(&message, reasoning_id);
        let draft = MessageDraft::reasoning(Visibility::Public).native_id(native_id).in_message(message);
        let mut session = self.next_session(&id, out);
        session.message_started(key.as_str(), draft);
        session.message_delta(key, delta);
    }

    pub(super) fn next_reasoning_ended(
        &mut self,
        properties: Properties<native::EventSessionNextReasoningEndedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextReasoningEndedProperties {
            session_id: Some(id),
            assistant_message_id: Some(message),
            reasoning_id,
            text,
            provider_metadata,
            ..
        }) = properties
        else {
            return report_incomplete("session.next.reasoning.ended", out);
        };
        let text = text.unwrap_or_default();
        if text.is_empty() && provider_metadata.is_none() {
            return out.dropped(EMPTY_PART);
        }
        let visibility = if text.is_empty() { Visibility::Private } else { Visibility::Public };
        let session = self.sessions.get_or_insert(&id);
        let StreamKey { key, native_id } = session.end_stream(&message, reasoning_id);
        let is_cut_off = session.is_cut_off();
        let draft = MessageDraft::reasoning(visibility).native_id(native_id).in_message(message);
        self.next_session(&id, out).message_finished(key, draft, message_end(text, is_cut_off));
    }

    pub(super) fn next_retried(
        &mut self,
        properties: Properties<native::EventSessionNextRetriedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextRetriedProperties { session_id: Some(id), attempt, error, .. }) = properties
        else {
            return report_incomplete("session.next.retried", out);
        };
        let reason = error.and_then(|error| error.message).unwrap_or_default();
        let code = error_code_for_text(&reason);
        let retry = Retry::new(attempt.and_then(|attempt| attempt.as_u64()).unwrap_or(1), reason).code(code);
        self.sessions.get_or_insert(&id).abandon_streams(out);
        self.next_session(&id, out).note(Note::retry(retry));
    }

    pub(super) fn next_compaction_started(
        &mut self,
        properties: Properties<native::EventSessionNextCompactionStartedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextCompactionStartedProperties {
            session_id: Some(id),
            message_id: Some(message),
            reason,
            ..
        }) = properties
        else {
            return report_incomplete("session.next.compaction.started", out);
        };
        let data = new_compaction(
            reason.as_ref().map(native::EventSessionNextCompactionStartedPropertiesReason::as_str),
            None,
        );
        self.next_session(&id, out).note_started(message, Note::compacting(data));
    }

    pub(super) fn next_compaction_delta(
        &mut self,
        properties: Properties<native::EventSessionNextCompactionDeltaProperties>,
        out: &mut Drafts,
    ) {
        match properties.and_then(|properties| properties.session_id) {
            // The last event repeats the whole summary.
            Some(id) => {
                self.next_session(&id, out);
                out.dropped(SUMMARY);
            }
            None => report_incomplete("session.next.compaction.delta", out),
        }
    }

    pub(super) fn next_compaction_ended(
        &mut self,
        properties: Properties<native::EventSessionNextCompactionEndedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextCompactionEndedProperties {
            session_id: Some(id),
            message_id: Some(message),
            reason,
            text,
            ..
        }) = properties
        else {
            return report_incomplete("session.next.compaction.ended", out);
        };
        let data =
            new_compaction(reason.as_ref().map(native::EventSessionNextCompactionEndedPropertiesReason::as_str), text);
        self.next_session(&id, out).note_finished(message, Note::compaction(data), false);
    }

    pub(super) fn next_revert_staged(
        &mut self,
        properties: Properties<native::EventSessionNextRevertStagedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextRevertStagedProperties { session_id: Some(id), revert, .. }) = properties
        else {
            return report_incomplete("session.next.revert.staged", out);
        };
        let revert = revert.unwrap_or_default();
        let note = revert_note(&revert.message_id.unwrap_or_default(), revert.diff);
        self.next_session(&id, out).note(note);
    }

    pub(super) fn next_revert_cleared(
        &mut self,
        properties: Properties<native::EventSessionNextRevertClearedProperties>,
        out: &mut Drafts,
    ) {
        match properties.and_then(|properties| properties.session_id) {
            Some(id) => {
                self.next_session(&id, out).note(Note::notice("the revert is over"));
            }
            None => report_incomplete("session.next.revert.cleared", out),
        }
    }

    pub(super) fn next_revert_committed(
        &mut self,
        properties: Properties<native::EventSessionNextRevertCommittedProperties>,
        out: &mut Drafts,
    ) {
        match properties.and_then(|properties| properties.session_id) {
            Some(id) => {
                self.next_session(&id, out).note(Note::notice("the reverted messages were removed"));
            }
            None => report_incomplete("session.next.revert.committed", out),
        }
    }

    /// Session of a `session.next.*` event, which exists from now on.
    pub(super) fn next_session<'a>(&mut self, id: &str, out: &'a mut Drafts) -> SessionDrafts<'a> {
        let session = self.sessions.get_or_insert(id);
        session.confirm_exists(out);
        session.is_started = true;
        out.session(id)
    }
}

fn new_compaction(reason: Option<&str>, summary: Option<String>) -> Compaction {
    let trigger = match reason {
        Some("auto") => Some(CompactionTrigger::Auto),
        Some("manual") => Some(CompactionTrigger::Manual),
        _ => None,
    };
    Compaction::new().trigger(trigger).summary(summary.filter(|summary| !summary.is_empty()))
}

fn message_end(text: String, is_cut_off: bool) -> MessageEnd {
    let end = MessageEnd::text(text);
    if is_cut_off { end.failed() } else { end }
}
