//! Status items, errors and unknown events. Their messages are fixed texts, except for error messages of the agent.

use interlingua_schema::{ContentPart, ErrorCode, ErrorEvent, Item, Source, StatusLabel, UniversalEvent};
use serde_json::Value;

use super::projected_events::ProjectedEvents;
use super::session::Session;
use crate::metadata::key;
use crate::{AgentWrapperEvent, AgentWrapperKind};

impl Session {
    /// A status item. Its detail is dropped: it may have the output of a hook, a command line or a report of a sub-agent.
    pub(super) fn status_item<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        item: &Item,
    ) -> ProjectedEvents<'e> {
        let label = item.status_label();
        let message = match label {
            Some(StatusLabel::Retry) => "the agent is retrying",
            Some(StatusLabel::Compaction) => "the conversation was compacted",
            Some(StatusLabel::Plan) => "the plan changed",
            Some(StatusLabel::RateLimit) => "rate limit usage changed",
            Some(StatusLabel::ModelChanged) => "the model changed",
            Some(StatusLabel::ModeChanged) => "the mode changed",
            Some(StatusLabel::Hook) => "a hook ran",
            Some(StatusLabel::Task) => "a background task changed state",
            Some(StatusLabel::Notice) => "a notice",
            Some(StatusLabel::LateResult) => "a tool's result came after its item was closed",
            Some(StatusLabel::Unknown(_)) | None => "a change of state",
        };
        let mut data = self.item_data(event, item);
        data.name_from(key::label, label.map(StatusLabel::as_str));
        ProjectedEvents::one(AgentWrapperEvent::status(agent, message, data.finish()))
    }

    /// An error. A message that the agent sent is passed on. A synthetic message is replaced by a fixed text, because it
    /// may quote standard error or a line that is not JSON.
    pub(super) fn error<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        error: &ErrorEvent,
    ) -> ProjectedEvents<'e> {
        let exit_code = error.details.as_ref().and_then(|details| details.native.as_ref()?.get("exit_code")?.as_i64());
        let exit_code = exit_code.and_then(|code| i32::try_from(code).ok());
        let mut data = self.event_data(event);
        data.name_from(key::code, error.code.as_ref().map(ErrorCode::as_str));
        data.number(key::exit_code, exit_code);
        let data = data.finish();
        let is_agents_message = event.origin.source() == Source::Agent && !error.message.trim().is_empty();
        let event = if is_agents_message {
            AgentWrapperEvent::error(agent, &error.message, data)
        } else {
            AgentWrapperEvent::error(agent, &fixed_error_message(error.code.as_ref(), exit_code), data)
        };
        ProjectedEvents::one(event)
    }

    /// An event that could not be classified.
    pub(super) fn unknown_event<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        native_type: Option<&str>,
    ) -> ProjectedEvents<'e> {
        let mut data = self.event_data(event);
        data.name_from(key::native_type, native_type);
        ProjectedEvents::one(AgentWrapperEvent::unknown(agent, data.finish()))
    }

    /// An item of kind `unknown`. Its content is the native payload, and the payload's `type` is the native type.
    pub(super) fn unknown_item<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        item: &Item,
    ) -> ProjectedEvents<'e> {
        let native_type = item.content.iter().find_map(|part| match part {
            ContentPart::Json { json } => json.get("type").and_then(Value::as_str),
            _ => None,
        });
        let mut data = self.item_data(event, item);
        data.name_from(key::native_type, native_type);
        ProjectedEvents::one(AgentWrapperEvent::unknown(agent, data.finish()))
    }
}

/// A fixed message for an error without a message of the agent.
fn fixed_error_message(code: Option<&ErrorCode>, exit_code: Option<i32>) -> String {
    if let Some(code) = exit_code {
        return exit_message(code);
    }
    let message = match code {
        Some(ErrorCode::RateLimited) => "too many requests",
        Some(ErrorCode::Overloaded) => "the model's provider has no capacity",
        Some(ErrorCode::Auth) => "not signed in, or not allowed",
        Some(ErrorCode::InvalidRequest) => "the request was refused",
        Some(ErrorCode::ContextOverflow) => "the conversation is too long for the model",
        Some(ErrorCode::Connection) => "the connection failed",
        Some(ErrorCode::Limit) => "a limit was reached",
        Some(ErrorCode::AgentError | ErrorCode::Unknown(_)) | None => "the agent failed",
    };
    message.to_owned()
}

/// The message for an agent that exited with an error.
pub(super) fn exit_message(exit_code: i32) -> String {
    if exit_code < 0 {
        format!("the agent was killed by signal {}", exit_code.unsigned_abs())
    } else {
        format!("the agent exited with code {exit_code}")
    }
}
