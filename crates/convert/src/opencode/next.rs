//! `session.next.*`: the events of the v2 API. Items begin, stream and end under their own names; the end of a turn is
//! a step that asks for no more tools.

use interlingua_native::opencode as native;
use interlingua_schema::{Compaction, CompactionTrigger, Retry, Visibility};

use super::compaction::SUMMARY;
use super::failures::Trouble;
use super::finish::Finish;
use super::next_names::Said;
use super::session::{reverted, turn_metadata};
use super::usage::Tokens;
use super::users::next_prompt;
use super::{EMPTY_PART, HERE, OpenCodeConverter, STATE_ECHO, incomplete};
use crate::{Drafts, MessageDraft, MessageEnd, Note, SessionDrafts, UserMessage, error_code_for_text};

/// How the words begin with which the v2 API tells of an interrupt.
const INTERRUPTED: &str = "Provider turn interrupted";

/// What an event tells.
pub(super) type Properties<T> = Option<T>;

impl OpenCodeConverter {
    pub(super) fn next_agent(
        &mut self,
        properties: Properties<native::EventSessionNextAgentSwitchedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextAgentSwitchedProperties { session_id: Some(id), agent: Some(agent), .. }) =
            properties
        else {
            return incomplete("session.next.agent.switched", out);
        };
        // The first is no change, and is told even where the rest is of the older generation.
        self.sessions.of(&id).mode_changes(Some(agent), None, out);
        out.dropped(STATE_ECHO);
    }

    pub(super) fn next_model(
        &mut self,
        properties: Properties<native::EventSessionNextModelSwitchedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextModelSwitchedProperties { session_id: Some(id), model, .. }) = properties
        else {
            return incomplete("session.next.model.switched", out);
        };
        self.sessions.of(&id).mode_changes(None, model.and_then(|model| model.id), out);
        out.dropped(STATE_ECHO);
    }

    pub(super) fn next_moved(
        &mut self,
        properties: Properties<native::EventSessionNextMovedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextMovedProperties { session_id: Some(id), location, .. }) = properties else {
            return incomplete("session.next.moved", out);
        };
        let place = location.and_then(|location| location.directory).unwrap_or_default();
        self.next(&id, out).note(Note::notice(format!("moved to {place}")));
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
            return incomplete("session.next.prompted", out);
        };
        let content = next_prompt(prompt);
        let session = self.sessions.of(&id);
        session.is_there(out);
        let is_over = session.is_cut_off() || session.run.declined;
        // What failed early is the turn of this very prompt.
        if session.run.turn_open && is_over && !std::mem::take(&mut session.run.failed_early) {
            session.end_turn(out);
        }
        let repeated = session.repeated(&message, &content).unwrap_or_default();
        if !session.run.turn_open {
            let metadata = turn_metadata(session.model.clone(), session.agent.clone());
            out.session(&id).synthetic().turn_started(None, metadata);
        }
        session.run.turn_open = true;
        session.failures_before.clear();
        let mut user = UserMessage::new(content).native_id(message.as_str()).in_message(&message);
        if let Some(name) = repeated.name {
            user = user.echo_of(name);
        }
        self.next(&id, out).user_message(message, user);
    }

    pub(super) fn next_context(
        &mut self,
        properties: Properties<native::EventSessionNextContextUpdatedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextContextUpdatedProperties { session_id: Some(id), text: Some(text), .. }) =
            properties
        else {
            return incomplete("session.next.context.updated", out);
        };
        self.next(&id, out).note(Note::system(text));
    }

    pub(super) fn next_synthetic(
        &mut self,
        properties: Properties<native::EventSessionNextSyntheticProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextSyntheticProperties { session_id: Some(id), text: Some(text), .. }) =
            properties
        else {
            return incomplete("session.next.synthetic", out);
        };
        self.next(&id, out).note(Note::system(text));
    }

    pub(super) fn next_step_started(
        &mut self,
        properties: Properties<native::EventSessionNextStepStartedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextStepStartedProperties { session_id: Some(id), model, agent, .. }) = properties
        else {
            return incomplete("session.next.step.started", out);
        };
        let session = self.sessions.of(&id);
        session.run.declined = false;
        session.goes_on(out);
        session.ensure_turn(out);
        session.mode_changes(agent, model.and_then(|model| model.id), out);
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
            return incomplete("session.next.step.ended", out);
        };
        let session = self.sessions.of(&id);
        if let Some(tokens) = &tokens {
            let model = session.model.clone();
            let step = assistant_message_id.unwrap_or_default();
            session.count(&step, Tokens::from(tokens), cost.as_ref(), model, out);
        }
        let reason = finish.as_deref().map(Finish::from_word);
        match reason {
            Some(Finish::GoesOn) if !session.run.interrupt_requested => return out.dropped(STATE_ECHO),
            // Here the step is all that ends the turn.
            Some(Finish::Unlisted) | None => {
                session.run.failed = true;
                let error = format!("unknown finish of a step: {}", finish.as_deref().unwrap_or("none"));
                out.session(&id).partially_unparsed(HERE, error, Some("session.next.step.ended".to_owned()));
            }
            Some(_) => {}
        }
        session.run.finish = finish;
        session.end_turn(out);
    }

    pub(super) fn next_step_failed(
        &mut self,
        properties: Properties<native::EventSessionNextStepFailedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextStepFailedProperties { session_id: Some(id), error, .. }) = properties else {
            return incomplete("session.next.step.failed", out);
        };
        let message = error.and_then(|error| error.message).unwrap_or_default();
        let session = self.sessions.of(&id);
        let interrupted = message.starts_with(INTERRUPTED) || session.run.interrupt_requested;
        session.report(if interrupted { Trouble::Interrupted } else { Trouble::from_words("unknown", message) }, out);
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
            return incomplete("session.next.text.delta", out);
        };
        let Said { key, native } = self.sessions.of(&id).saying(&message, text_id);
        let mut session = self.next(&id, out);
        session.message_started(key.as_str(), MessageDraft::assistant().native_id(native).in_message(message));
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
            return incomplete("session.next.text.ended", out);
        };
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return out.dropped(EMPTY_PART);
        };
        let session = self.sessions.of(&id);
        let Said { key, native } = session.said(&message, text_id);
        let cut_off = session.is_cut_off();
        let said = MessageDraft::assistant().native_id(native).in_message(message);
        self.next(&id, out).message_finished(key, said, ended(text, cut_off));
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
            return incomplete("session.next.reasoning.delta", out);
        };
        let Said { key, native } = self.sessions.of(&id).saying(&message, reasoning_id);
        let said = MessageDraft::reasoning(Visibility::Public).native_id(native).in_message(message);
        let mut session = self.next(&id, out);
        session.message_started(key.as_str(), said);
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
            return incomplete("session.next.reasoning.ended", out);
        };
        let text = text.unwrap_or_default();
        if text.is_empty() && provider_metadata.is_none() {
            return out.dropped(EMPTY_PART);
        }
        let visibility = if text.is_empty() { Visibility::Private } else { Visibility::Public };
        let session = self.sessions.of(&id);
        let Said { key, native } = session.said(&message, reasoning_id);
        let cut_off = session.is_cut_off();
        let said = MessageDraft::reasoning(visibility).native_id(native).in_message(message);
        self.next(&id, out).message_finished(key, said, ended(text, cut_off));
    }

    pub(super) fn next_retried(
        &mut self,
        properties: Properties<native::EventSessionNextRetriedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextRetriedProperties { session_id: Some(id), attempt, error, .. }) = properties
        else {
            return incomplete("session.next.retried", out);
        };
        let reason = error.and_then(|error| error.message).unwrap_or_default();
        let code = error_code_for_text(&reason);
        let retry = Retry::new(attempt.and_then(|attempt| attempt.as_u64()).unwrap_or(1), reason).code(code);
        self.sessions.of(&id).retried(out);
        self.next(&id, out).note(Note::retry(retry));
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
            return incomplete("session.next.compaction.started", out);
        };
        let data =
            compaction(reason.as_ref().map(native::EventSessionNextCompactionStartedPropertiesReason::as_str), None);
        self.next(&id, out).note_started(message, Note::compacting(data));
    }

    pub(super) fn next_compaction_delta(
        &mut self,
        properties: Properties<native::EventSessionNextCompactionDeltaProperties>,
        out: &mut Drafts,
    ) {
        match properties.and_then(|properties| properties.session_id) {
            // The end has all of it.
            Some(id) => {
                self.next(&id, out);
                out.dropped(SUMMARY);
            }
            None => incomplete("session.next.compaction.delta", out),
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
            return incomplete("session.next.compaction.ended", out);
        };
        let data =
            compaction(reason.as_ref().map(native::EventSessionNextCompactionEndedPropertiesReason::as_str), text);
        self.next(&id, out).note_finished(message, Note::compaction(data), false);
    }

    pub(super) fn next_revert_staged(
        &mut self,
        properties: Properties<native::EventSessionNextRevertStagedProperties>,
        out: &mut Drafts,
    ) {
        let Some(native::EventSessionNextRevertStagedProperties { session_id: Some(id), revert, .. }) = properties
        else {
            return incomplete("session.next.revert.staged", out);
        };
        let revert = revert.unwrap_or_default();
        let note = reverted(&revert.message_id.unwrap_or_default(), revert.diff);
        self.next(&id, out).note(note);
    }

    pub(super) fn next_revert_cleared(
        &mut self,
        properties: Properties<native::EventSessionNextRevertClearedProperties>,
        out: &mut Drafts,
    ) {
        match properties.and_then(|properties| properties.session_id) {
            Some(id) => {
                self.next(&id, out).note(Note::notice("the revert is over"));
            }
            None => incomplete("session.next.revert.cleared", out),
        }
    }

    pub(super) fn next_revert_committed(
        &mut self,
        properties: Properties<native::EventSessionNextRevertCommittedProperties>,
        out: &mut Drafts,
    ) {
        match properties.and_then(|properties| properties.session_id) {
            Some(id) => {
                self.next(&id, out).note(Note::notice("the reverted messages were removed"));
            }
            None => incomplete("session.next.revert.committed", out),
        }
    }

    /// Speaks of a session, which is there from now on.
    pub(super) fn next<'a>(&mut self, id: &str, out: &'a mut Drafts) -> SessionDrafts<'a> {
        let session = self.sessions.of(id);
        session.is_there(out);
        session.begun = true;
        out.session(id)
    }
}

/// What is known of a compaction.
fn compaction(reason: Option<&str>, summary: Option<String>) -> Compaction {
    let trigger = match reason {
        Some("auto") => Some(CompactionTrigger::Auto),
        Some("manual") => Some(CompactionTrigger::Manual),
        _ => None,
    };
    Compaction::new().trigger(trigger).summary(summary.filter(|summary| !summary.is_empty()))
}

fn ended(text: String, cut_off: bool) -> MessageEnd {
    let end = MessageEnd::text(text);
    if cut_off { end.failed() } else { end }
}
