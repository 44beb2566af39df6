//! Lines that the host sends: prompts, interrupts, model changes, and answers to the agent's requests.

use interlingua_native::claude::{
    ControlRequestInner, ControlResponse, ControlResult, MessageParam, PermissionResult, StdinMessage,
};
use interlingua_native::{Json, Native as _};
use interlingua_schema::{ApprovalScope, QuestionAnswer};

use super::control::{PendingRequest, approval_scopes};
use super::questions::{accepted_answer, parse_answers};
use super::{ClaudeConverter, content};
use crate::{Drafts, Note};

impl ClaudeConverter {
    /// Converts a line that the host sent. A line that cannot be decoded is ignored: the agent reports it.
    pub(super) fn convert_sent(&mut self, line: &str, out: &mut Drafts) {
        let Ok(decoded) = StdinMessage::decode(line) else {
            return;
        };
        match decoded.value {
            StdinMessage::User(message) => {
                let Some(MessageParam::User(body)) = message.message else {
                    return;
                };
                let content = body.content.map(content::message_parts).unwrap_or_default();
                if !content.is_empty() {
                    let prompt = self.prompts.push(content, message.uuid, out.raw(), self.turn.is_running());
                    out.current_session().prompt_sent(prompt);
                }
            }
            StdinMessage::ControlRequest(request) => match request.request {
                Some(ControlRequestInner::Interrupt(_)) => {
                    self.requests.interrupt = Some(request.request_id);
                    self.interrupt_turn();
                    out.current_session().interrupt_requested();
                }
                Some(ControlRequestInner::SetModel(change)) => {
                    if let Some(model) = change.model {
                        self.requests.insert_model_change(request.request_id, model);
                    }
                }
                _ => {}
            },
            StdinMessage::ControlResponse(response) => self.host_response(response, out),
            // Keep-alives, and cancellations of the host's own requests.
            _ => {}
        }
    }

    /// The host answers a request of the agent. Anything but a clear approval is a refusal.
    fn host_response(&mut self, response: ControlResponse, out: &mut Drafts) {
        let (id, answer) = match response.response {
            Some(ControlResult::Success(success)) => (success.request_id, success.response),
            Some(ControlResult::Error(error)) => (error.request_id, None),
            _ => return,
        };
        let Some(id) = id else { return };
        let Some(request) = self.requests.from_agent.remove(&id) else {
            return;
        };
        let mut session = out.current_session();
        match request {
            PendingRequest::Permission { .. } => match decode_decision(answer.as_ref()) {
                Some(PermissionResult::Allow(allow)) => {
                    let scopes = approval_scopes(allow.updated_permissions.as_deref());
                    session.permission_approved(id, scopes.last().cloned().unwrap_or(ApprovalScope::Once));
                }
                denied => {
                    session.permission_denied(id);
                    self.interrupt_if_requested(denied.as_ref(), out);
                }
            },
            PendingRequest::Questions { questions, .. } => match decode_decision(answer.as_ref()) {
                Some(PermissionResult::Allow(allow)) => {
                    session.questions_answered(id, parse_answers(&questions, allow.updated_input.as_ref()));
                }
                denied => self.reject_questions(id, denied, out),
            },
            PendingRequest::Plan { .. } => match decode_decision(answer.as_ref()) {
                Some(PermissionResult::Allow(_)) => {
                    session.questions_answered(id, vec![QuestionAnswer::Answered("approve".to_owned())]);
                }
                denied => self.reject_questions(id, denied, out),
            },
            PendingRequest::Elicitation | PendingRequest::Dialog { .. } => match accepted_answer(answer.as_ref()) {
                Some(text) => session.questions_answered(id, vec![QuestionAnswer::Answered(text)]),
                None => session.questions_rejected(id, None),
            },
            PendingRequest::Hook { name } => {
                let failed = answer.is_none();
                session.note_finished(id, Note::hook(name), failed);
            }
        }
    }

    /// Marks the running turn as interrupted, or the turn that a waiting prompt is about to start.
    fn interrupt_turn(&mut self) {
        if self.turn.is_running() || self.prompts.has_waiting() {
            self.turn.mark_interrupted();
        }
    }

    /// Interrupts the turn if the denial says so.
    fn interrupt_if_requested(&mut self, denied: Option<&PermissionResult>, out: &mut Drafts) {
        if let Some(PermissionResult::Deny(deny)) = denied
            && deny.interrupt == Some(true)
        {
            self.interrupt_turn();
            out.current_session().interrupt_requested();
        }
    }

    fn reject_questions(&mut self, id: String, denied: Option<PermissionResult>, out: &mut Drafts) {
        self.interrupt_if_requested(denied.as_ref(), out);
        let reason = match denied {
            Some(PermissionResult::Deny(deny)) => deny.message.filter(|message| !message.is_empty()),
            _ => None,
        };
        out.current_session().questions_rejected(id, reason);
    }
}

/// Decodes the host's decision about a tool.
fn decode_decision(answer: Option<&Json>) -> Option<PermissionResult> {
    PermissionResult::decode(answer?.get()).ok().map(|decoded| decoded.value)
}
