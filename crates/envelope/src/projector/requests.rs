//! Permissions and questions: that there is one, and which tool it is about.

use interlingua_schema::{Permission, PermissionStatus, Question, QuestionStatus, UniversalEvent};

use super::projected::Projected;
use super::session::Session;
use crate::metadata::key;
use crate::object::Object;
use crate::{AgentWrapperEvent, AgentWrapperKind};

impl Session {
    pub(super) fn permission<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        permission: &Permission,
    ) -> Projected<'e> {
        let message = match permission.status {
            PermissionStatus::Requested => "permission requested",
            PermissionStatus::Approved => "permission approved",
            PermissionStatus::Denied => "permission denied",
            PermissionStatus::Unknown(_) => "permission changed",
        };
        let mut facts =
            self.about_call(event, permission.metadata.as_ref().and_then(|metadata| metadata.call_id.as_deref()));
        facts.text(key::status, Some(permission.status.as_str()));
        facts.text(key::request_id, Some(&permission.permission_id));
        Projected::one(AgentWrapperEvent::status(agent, message, facts.finish()))
    }

    pub(super) fn question<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        question: &Question,
    ) -> Projected<'e> {
        let message = match question.status {
            QuestionStatus::Requested => "question requested",
            QuestionStatus::Answered => "question answered",
            QuestionStatus::Rejected => "question rejected",
            QuestionStatus::Unknown(_) => "question changed",
        };
        let mut facts =
            self.about_call(event, question.metadata.as_ref().and_then(|metadata| metadata.call_id.as_deref()));
        facts.text(key::status, Some(question.status.as_str()));
        facts.text(key::request_id, Some(&question.question_id));
        Projected::one(AgentWrapperEvent::status(agent, message, facts.finish()))
    }

    /// The call that a request is about: the one that its metadata names, or the only one that waits. What a request says
    /// of its tool is mixed with the tool's input, so nothing of it is let through; the call has told the name.
    fn about_call(&self, event: &UniversalEvent, call_id: Option<&str>) -> Object {
        let call = match call_id {
            Some(named) => self.calls.entry(named),
            None => self.calls.only(),
        };
        let mut facts = self.facts(event);
        facts.name(key::tool_name, call.and_then(|(_, call)| call.name.as_ref()));
        facts.name(key::tool_use_id, call.map(|(call_id, _)| call_id));
        facts
    }
}
