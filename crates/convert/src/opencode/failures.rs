//! Failures: of a session, of a message, of a request. OpenCode tells most of them twice.

use interlingua_native::opencode::{
    ApiError, AssistantMessageError, EventSessionErrorProperties, EventSessionErrorPropertiesError,
};
use interlingua_schema::{ErrorCode, RawJson, TurnStatus};
use serde_json::{Value, json};

use super::session::Session;
use super::{INTERRUPT, OpenCodeConverter, TOLD};
use crate::error_code::is_context_overflow;
use crate::{Drafts, Failure, Note, TurnEnd, error_code_for_status, error_code_for_text};

/// How a line of a stack trace begins.
const STACK_TRACE: &str = "\n    at ";

/// What went wrong, as OpenCode names it.
pub(super) enum Trouble {
    /// Somebody interrupted it.
    Interrupted,
    Failed(Box<Failure>),
}

impl Trouble {
    fn named(code: ErrorCode, name: &str, message: Option<String>) -> Self {
        Self::Failed(Box::new(Failure::new(code, message.unwrap_or_else(|| name.to_owned())).kind(Some(name))))
    }

    /// A message without a code: words are all there is to go by.
    pub(super) fn from_words(name: &str, message: String) -> Self {
        let code = error_code_for_text(&message).unwrap_or(ErrorCode::AgentError);
        Self::named(code, name, Some(message))
    }
}

impl From<ApiError> for Trouble {
    fn from(error: ApiError) -> Self {
        let data = error.data.unwrap_or_default();
        let message = data.message.unwrap_or_else(|| "APIError".to_owned());
        let status = data.status_code.and_then(|status| u16::try_from(status).ok());
        let body = data.response_body.as_deref().unwrap_or_default();
        let code = match status {
            _ if is_context_overflow(&message) || is_context_overflow(body) => ErrorCode::ContextOverflow,
            Some(status) => error_code_for_status(status),
            None => match error_code_for_text(&message) {
                Some(code) => code,
                None if data.is_retryable == Some(true) => ErrorCode::Connection,
                None => ErrorCode::AgentError,
            },
        };
        let failure = Failure::new(code, message)
            .kind(Some("APIError"))
            .status(status)
            .retryable(data.is_retryable)
            .native(data.response_body.map(|body| json!({ "body": body })));
        Self::Failed(Box::new(failure))
    }
}

macro_rules! troubles {
    ($($union:ident),*) => {$(
        impl From<$union> for Trouble {
            fn from(error: $union) -> Self {
                match error {
                    $union::ProviderAuthError(error) => {
                        Self::named(ErrorCode::Auth, "ProviderAuthError", error.data.and_then(|data| data.message))
                    }
                    $union::UnknownError(error) => {
                        let message = error.data.and_then(|data| data.message);
                        Self::from_words("UnknownError", message.unwrap_or_else(|| "UnknownError".to_owned()))
                    }
                    $union::MessageOutputLengthError(_) => {
                        Self::named(ErrorCode::Limit, "MessageOutputLengthError", None)
                    }
                    $union::MessageAbortedError(_) => Self::Interrupted,
                    $union::StructuredOutputError(error) => Self::named(
                        ErrorCode::AgentError,
                        "StructuredOutputError",
                        error.data.and_then(|data| data.message),
                    ),
                    $union::ContextOverflowError(error) => Self::named(
                        ErrorCode::ContextOverflow,
                        "ContextOverflowError",
                        error.data.and_then(|data| data.message),
                    ),
                    $union::ContentFilterError(error) => Self::named(
                        ErrorCode::InvalidRequest,
                        "ContentFilterError",
                        error.data.and_then(|data| data.message),
                    ),
                    $union::ApiError(error) => error.into(),
                    $union::Unknown { tag, raw } => {
                        let raw = raw.to_value();
                        let message = raw.pointer("/data/message").and_then(Value::as_str).unwrap_or(&tag);
                        Self::from_words(&tag, message.to_owned())
                    }
                }
            }
        }
    )*};
}
troubles!(AssistantMessageError, EventSessionErrorPropertiesError);

impl OpenCodeConverter {
    pub(super) fn session_error(&mut self, properties: Option<EventSessionErrorProperties>, out: &mut Drafts) {
        let EventSessionErrorProperties { error, session_id } = properties.unwrap_or_default();
        let trouble = match error {
            Some(error) => error.into(),
            None => Trouble::named(ErrorCode::AgentError, "Error", Some("the session failed".to_owned())),
        };
        match (session_id, trouble) {
            (Some(id), trouble) => {
                let session = self.sessions.of(&id);
                session.show_users(None, out);
                let raw = out.raw();
                session.report_or_hold(trouble, raw, out);
            }
            (None, Trouble::Interrupted) => out.dropped(INTERRUPT),
            // What concerns no session says nothing about the turn that happens to run.
            (None, Trouble::Failed(failure)) => out.current_session().failed(failure.outside_turn()),
        }
    }
}

/// Why the words of an overflow are held back: OpenCode shortens the conversation and goes on, or it does not.
const HELD: &str = "failure that waits for what becomes of the turn";

impl Session {
    /// As [`report`](Self::report), but that the conversation is too long is held back: if OpenCode compacts it, the
    /// turn goes on and it was no failure.
    fn report_or_hold(&mut self, trouble: Trouble, raw: Option<RawJson>, out: &mut Drafts) {
        match trouble {
            Trouble::Failed(failure)
                if failure.code == ErrorCode::ContextOverflow
                    && self.run.turn_open
                    && !self.run.failed_early
                    && !self.was_told(&failure.message, false, false) =>
            {
                self.is_there(out);
                self.run.active = true;
                self.run.failed = true;
                self.run.held.get_or_insert_with(|| Box::new(failure.raw(raw)));
                out.dropped(HELD);
            }
            trouble => self.report(trouble, out),
        }
    }

    /// The conversation is compacted after all: what was held back is a remark.
    pub(super) fn failure_overcome(&mut self, out: &mut Drafts) {
        if let Some(Failure { message, raw, .. }) = self.run.held.take().map(|held| *held) {
            out.session(self.id.as_str()).note(Note::notice(message).raw(raw));
        }
    }

    /// The agent goes on after what failed.
    pub(super) fn goes_on(&mut self, out: &mut Drafts) {
        self.run.failed = false;
        self.failure_overcome(out);
    }

    /// Nothing came of it: what was held back is told.
    pub(super) fn tell_held(&mut self, out: &mut Drafts) {
        if let Some(failure) = self.run.held.take().map(|held| *held) {
            self.run.failed = true;
            self.run.failures.push(failure.message.clone());
            out.session(self.id.as_str()).failed(failure);
        }
    }

    /// Tells of a failure, once in a turn, or notes that the turn was interrupted.
    pub(super) fn report(&mut self, trouble: Trouble, out: &mut Drafts) {
        self.report_of(trouble, false, out);
    }

    /// As [`report`](Self::report), of something that may be of the turn before.
    pub(super) fn report_of(&mut self, trouble: Trouble, is_old: bool, out: &mut Drafts) {
        let failure = match trouble {
            Trouble::Interrupted => {
                self.run.interrupted = self.run.turn_open;
                return out.dropped(INTERRUPT);
            }
            Trouble::Failed(failure) => *failure,
        };
        self.is_there(out);
        self.tell_held(out);
        let message = failure.message.clone();
        let is_trace = message.contains(STACK_TRACE);
        if self.was_told(&message, is_trace, is_old) {
            self.run.failed = self.run.turn_open;
            if self.run.failed_early && is_trace {
                // With that OpenCode gives up a prompt that it never repeated.
                self.end_turn(out);
            }
            return out.dropped(TOLD);
        }
        self.begun = true;
        let mut session = out.session(self.id.as_str());
        session.failed(failure);
        if self.run.turn_open {
            self.run.active = true;
            self.run.failed = true;
            self.run.failures.push(message);
        } else if self.sent.is_empty() {
            session.turn_ended(TurnEnd::with_status(TurnStatus::Failed));
            self.failures_before.push(message);
            self.prompted_since = false;
        } else {
            // It is about the prompt that waits, with which the agent may yet go on, or not even repeat it.
            self.run.turn_open = true;
            self.run.failed = true;
            self.run.failed_early = true;
            self.run.failures.push(message);
        }
    }

    /// Whether a failure was told before. The second time it may come with a stack trace, or be one; after a new
    /// prompt only those are about the turn before, and what is old itself.
    fn was_told(&self, message: &str, is_trace: bool, is_old: bool) -> bool {
        if is_trace && !(self.run.failures.is_empty() && self.failures_before.is_empty()) {
            return true;
        }
        let before = self.failures_before.iter().filter(|_| is_old || !self.prompted_since);
        self.run.failures.iter().chain(before).any(|told| message.contains(told.as_str()))
    }

    /// Whether a prompt that is refused has failed, so that the refusal says nothing new.
    pub(super) fn has_failed(&self) -> bool {
        self.run.failed || !self.prompted_since && !self.failures_before.is_empty()
    }
}
