//! Permissions and questions: only their state and the name of the tool are passed on.

use interlingua_schema::{Permission, PermissionStatus, Question, QuestionStatus, UniversalEvent};

use super::projected_events::ProjectedEvents;
use super::session::Session;
use crate::data_writer::DataWriter;
use crate::metadata::key;
use crate::{AgentWrapperEvent, AgentWrapperKind};

impl Session {
    pub(super) fn permission<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        permission: &Permission,
    ) -> ProjectedEvents<'e> {
        let message = match permission.status {
            PermissionStatus::Requested => "permission requested",
            PermissionStatus::Approved => "permission approved",
            PermissionStatus::Denied => "permission denied",
            PermissionStatus::Unknown(_) => "permission changed",
        };
        let mut data =
            self.request_data(event, permission.metadata.as_ref().and_then(|metadata| metadata.call_id.as_deref()));
        data.name_from(key::status, Some(permission.status.as_str()));
        data.name_from(key::request_id, Some(&permission.permission_id));
        ProjectedEvents::one(AgentWrapperEvent::status(agent, message, data.finish()))
    }

    pub(super) fn question<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        question: &Question,
    ) -> ProjectedEvents<'e> {
        let message = match question.status {
            QuestionStatus::Requested => "question requested",
            QuestionStatus::Answered => "question answered",
            QuestionStatus::Rejected => "question rejected",
            QuestionStatus::Unknown(_) => "question changed",
        };
        let mut data =
            self.request_data(event, question.metadata.as_ref().and_then(|metadata| metadata.call_id.as_deref()));
        data.name_from(key::status, Some(question.status.as_str()));
        data.name_from(key::request_id, Some(&question.question_id));
        ProjectedEvents::one(AgentWrapperEvent::status(agent, message, data.finish()))
    }

    /// The data of a request, with the tool call that it is about: the call that its metadata names, or else the only call
    /// without a result. The name of the tool comes from the call, because a request mixes it with the tool's input.
    fn request_data(&self, event: &UniversalEvent, call_id: Option<&str>) -> DataWriter {
        let call = match call_id {
            Some(call_id) => self.pending_calls.entry(call_id),
            None => self.pending_calls.only(),
        };
        let mut data = self.event_data(event);
        data.name(key::tool_name, call.and_then(|(_, call)| call.name.as_ref()));
        data.name(key::tool_use_id, call.map(|(call_id, _)| call_id));
        data
    }
}
