//! Status items, failures, and what nobody can classify. The messages are ours, but for an agent's own words about its
//! failure.

use interlingua_schema::{ContentPart, ErrorCode, ErrorEvent, Item, Source, StatusLabel, UniversalEvent};
use serde_json::Value;

use super::projected::Projected;
use super::session::Session;
use crate::metadata::key;
use crate::{AgentWrapperEvent, AgentWrapperKind};

impl Session {
    /// A status item. Its detail may hold a hook's output, a command's input, a sub-agent's report.
    pub(super) fn note<'e>(&mut self, agent: AgentWrapperKind, event: &UniversalEvent, item: &Item) -> Projected<'e> {
        let label = item.content.iter().find_map(|part| match part {
            ContentPart::Status { label, .. } => Some(label),
            _ => None,
        });
        let message = match label {
            Some(StatusLabel::Retry) => "the agent tries again",
            Some(StatusLabel::Compaction) => "the conversation is shortened",
            Some(StatusLabel::Plan) => "the plan changed",
            Some(StatusLabel::RateLimit) => "the use of a limit changed",
            Some(StatusLabel::ModelChanged) => "the model changed",
            Some(StatusLabel::ModeChanged) => "the mode changed",
            Some(StatusLabel::Hook) => "a hook ran",
            Some(StatusLabel::Task) => "background work moved on",
            Some(StatusLabel::Notice) => "a notice",
            Some(StatusLabel::LateResult) => "a tool's result came after its turn",
            Some(StatusLabel::Unknown(_)) | None => "a change of state",
        };
        let mut facts = self.about(event, item);
        facts.text(key::label, label.map(StatusLabel::as_str));
        Projected::one(AgentWrapperEvent::status(agent, message, facts.finish()))
    }

    /// A failure. An agent's own words are passed on; what was inferred may quote its standard error or a line that was
    /// no JSON, and becomes words of ours.
    pub(super) fn error<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        error: &ErrorEvent,
    ) -> Projected<'e> {
        let exit_code = error.details.as_ref().and_then(|details| details.native.as_ref()?.get("exit_code")?.as_i64());
        let exit_code = exit_code.and_then(|code| i32::try_from(code).ok());
        let mut facts = self.facts(event);
        facts.text(key::code, error.code.as_ref().map(ErrorCode::as_str));
        facts.number(key::exit_code, exit_code);
        let facts = facts.finish();
        let own_words = event.origin.source() == Source::Agent && !error.message.trim().is_empty();
        let event = if own_words {
            AgentWrapperEvent::error(agent, &error.message, facts)
        } else {
            AgentWrapperEvent::error(agent, &inferred(error.code.as_ref(), exit_code), facts)
        };
        Projected::one(event)
    }

    /// Something that nobody could classify.
    pub(super) fn unknown<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        native_type: Option<&str>,
    ) -> Projected<'e> {
        let mut facts = self.facts(event);
        facts.text(key::native_type, native_type);
        Projected::one(AgentWrapperEvent::unknown(agent, facts.finish()))
    }

    /// An item that the universal schema has no word for. Its content is the native payload, whose tag is its type.
    pub(super) fn unknown_item<'e>(
        &mut self,
        agent: AgentWrapperKind,
        event: &UniversalEvent,
        item: &Item,
    ) -> Projected<'e> {
        let tag = item.content.iter().find_map(|part| match part {
            ContentPart::Json { json } => json.get("type").and_then(Value::as_str),
            _ => None,
        });
        let mut facts = self.about(event, item);
        facts.text(key::native_type, tag);
        Projected::one(AgentWrapperEvent::unknown(agent, facts.finish()))
    }
}

/// What a failure is called that the agent has no words for.
fn inferred(code: Option<&ErrorCode>, exit_code: Option<i32>) -> String {
    if let Some(code) = exit_code {
        return farewell(code);
    }
    let words = match code {
        Some(ErrorCode::RateLimited) => "too many requests",
        Some(ErrorCode::Overloaded) => "the model's provider has no capacity",
        Some(ErrorCode::Auth) => "not signed in, or not allowed",
        Some(ErrorCode::InvalidRequest) => "the request was refused",
        Some(ErrorCode::ContextOverflow) => "the conversation is too long for the model",
        Some(ErrorCode::Connection) => "the connection failed",
        Some(ErrorCode::Limit) => "a limit was reached",
        Some(ErrorCode::AgentError | ErrorCode::Unknown(_)) | None => "the agent failed",
    };
    words.to_owned()
}

/// How an agent left.
pub(super) fn farewell(exit_code: i32) -> String {
    if exit_code < 0 {
        format!("the agent was killed by signal {}", exit_code.unsigned_abs())
    } else {
        format!("the agent exited with code {exit_code}")
    }
}
