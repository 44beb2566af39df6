//! Failures of sessions, messages and requests. OpenCode reports most of them twice.

use interlingua_native::opencode::{
    ApiError, AssistantMessageError, EventSessionErrorProperties, EventSessionErrorPropertiesError,
};
use interlingua_schema::{ErrorCode, RawJson, TurnStatus};
use serde_json::{Value, json};

use super::session::Session;
use super::{INTERRUPT_MARKER, OpenCodeConverter, REPEATED_FAILURE};
use crate::error_code::is_context_overflow;
use crate::{Drafts, Failure, Note, TurnEnd, error_code_for_status, error_code_for_text};

/// How a line of a stack trace begins.
const STACK_TRACE: &str = "\n    at ";

/// Error that OpenCode reports.
pub(super) enum ErrorReport {
    /// The turn was interrupted, which is not a failure.
    Interrupted,
    Failed(Box<Failure>),
}

impl ErrorReport {
    fn failed(code: ErrorCode, name: &str, message: Option<String>) -> Self {
        Self::Failed(Box::new(Failure::new(code, message.unwrap_or_else(|| name.to_owned())).kind(Some(name))))
    }

    /// Failure without an error code. Its message determines the code.
    pub(super) fn from_message(name: &str, message: String) -> Self {
        let code = error_code_for_text(&message).unwrap_or(ErrorCode::AgentError);
        Self::failed(code, name, Some(message))
    }
}

impl From<ApiError> for ErrorReport {
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

macro_rules! error_report_from {
    ($($union:ident),*) => {$(
        impl From<$union> for ErrorReport {
            fn from(error: $union) -> Self {
                match error {
                    $union::ProviderAuthError(error) => {
                        Self::failed(ErrorCode::Auth, "ProviderAuthError", error.data.and_then(|data| data.message))
                    }
                    $union::UnknownError(error) => {
                        let message = error.data.and_then(|data| data.message);
                        Self::from_message("UnknownError", message.unwrap_or_else(|| "UnknownError".to_owned()))
                    }
                    $union::MessageOutputLengthError(_) => {
                        Self::failed(ErrorCode::Limit, "MessageOutputLengthError", None)
                    }
                    $union::MessageAbortedError(_) => Self::Interrupted,
                    $union::StructuredOutputError(error) => Self::failed(
                        ErrorCode::AgentError,
                        "StructuredOutputError",
                        error.data.and_then(|data| data.message),
                    ),
                    $union::ContextOverflowError(error) => Self::failed(
                        ErrorCode::ContextOverflow,
                        "ContextOverflowError",
                        error.data.and_then(|data| data.message),
                    ),
                    $union::ContentFilterError(error) => Self::failed(
                        ErrorCode::InvalidRequest,
                        "ContentFilterError",
                        error.data.and_then(|data| data.message),
                    ),
                    $union::ApiError(error) => error.into(),
                    $union::Unknown { tag, raw } => {
                        let raw = raw.to_value();
                        let message = raw.pointer("/data/message").and_then(Value::as_str).unwrap_or(&tag);
                        Self::from_message(&tag, message.to_owned())
                    }
                }
            }
        }
    )*};
}
error_report_from!(AssistantMessageError, EventSessionErrorPropertiesError);

impl OpenCodeConverter {
    pub(super) fn session_error(&mut self, properties: Option<EventSessionErrorProperties>, out: &mut Drafts) {
        let EventSessionErrorProperties { error, session_id, .. } = properties.unwrap_or_default();
        let report = match error {
            Some(error) => error.into(),
            None => ErrorReport::failed(ErrorCode::AgentError, "Error", Some("the session failed".to_owned())),
        };
        match (session_id, report) {
            (Some(id), report) => {
                let session = self.sessions.get_or_insert(&id);
                session.show_user_messages(None, out);
                let raw = out.raw();
                session.report_or_hold(report, raw, out);
            }
            (None, ErrorReport::Interrupted) => out.dropped(INTERRUPT_MARKER),
            // A failure without a session does not affect a running turn.
            (None, ErrorReport::Failed(failure)) => out.current_session().failed(failure.outside_turn()),
        }
    }
}

/// Drop reason for a context overflow. OpenCode may compact the conversation and continue.
const HELD_FAILURE: &str = "failure held until the turn ends";

impl Session {
    /// As [`report_error`](Self::report_error), but holds a context overflow back: if OpenCode compacts the
    /// conversation, the turn continues and has not failed.
    fn report_or_hold(&mut self, report: ErrorReport, raw: Option<RawJson>, out: &mut Drafts) {
        match report {
            ErrorReport::Failed(failure)
                if failure.code == ErrorCode::ContextOverflow
                    && self.turn.is_open
                    && !self.turn.failed_before_echo
                    && !self.is_repeated_failure(&failure.message, false, false) =>
            {
                self.confirm_exists(out);
                self.turn.is_active = true;
                self.turn.failed = true;
                self.turn.held_failure.get_or_insert_with(|| Box::new(failure.raw(raw)));
                out.dropped(HELD_FAILURE);
            }
            report => self.report_error(report, out),
        }
    }

    /// Drafts the held failure as a notice, because OpenCode compacts the conversation.
    pub(super) fn downgrade_held_failure(&mut self, out: &mut Drafts) {
        if let Some(Failure { message, raw, .. }) = self.turn.held_failure.take().map(|held| *held) {
            out.session(self.id.as_str()).note(Note::notice(message).raw(raw));
        }
    }

    /// The agent continues after a failure.
    pub(super) fn clear_failure(&mut self, out: &mut Drafts) {
        self.turn.failed = false;
        self.downgrade_held_failure(out);
    }

    /// Reports the held failure, because no compaction has followed.
    pub(super) fn report_held_failure(&mut self, out: &mut Drafts) {
        if let Some(failure) = self.turn.held_failure.take().map(|held| *held) {
            self.turn.failed = true;
            self.turn.reported_failures.push(failure.message.clone());
            out.session(self.id.as_str()).failed(failure);
        }
    }

    /// Reports a failure, once in a turn, or remembers that the turn was interrupted.
    pub(super) fn report_error(&mut self, report: ErrorReport, out: &mut Drafts) {
        self.report_error_of_message(report, false, out);
    }

    /// As [`report_error`](Self::report_error), for the error of a message. `is_old`: it may belong to the previous
    /// turn.
    pub(super) fn report_error_of_message(&mut self, report: ErrorReport, is_old: bool, out: &mut Drafts) {
        let failure = match report {
            ErrorReport::Interrupted => {
                self.turn.interrupted = self.turn.is_open;
                return out.dropped(INTERRUPT_MARKER);
            }
            ErrorReport::Failed(failure) => *failure,
        };
        self.confirm_exists(out);
        self.report_held_failure(out);
        let message = failure.message.clone();
        let is_trace = message.contains(STACK_TRACE);
        if self.is_repeated_failure(&message, is_trace, is_old) {
            self.turn.failed = self.turn.is_open;
            if self.turn.failed_before_echo && is_trace {
                // The stack trace is the last event about a prompt that OpenCode never echoes.
                self.end_turn(out);
            }
            return out.dropped(REPEATED_FAILURE);
        }
        self.is_started = true;
        let mut session = out.session(self.id.as_str());
        session.failed(failure);
        if self.turn.is_open {
            self.turn.is_active = true;
            self.turn.failed = true;
            self.turn.reported_failures.push(message);
        } else if self.sent_prompts.is_empty() {
            session.turn_ended(TurnEnd::with_status(TurnStatus::Failed));
            self.previous_failures.push(message);
            self.has_new_prompt = false;
        } else {
            // The failure is about a prompt without an echo. The agent may still echo and answer it.
            self.turn.is_open = true;
            self.turn.failed = true;
            self.turn.failed_before_echo = true;
            self.turn.reported_failures.push(message);
        }
    }

    /// Whether a failure was reported before. A repetition may contain a stack trace, or be one. After a new prompt,
    /// only stack traces and old reports are about the previous turn.
    fn is_repeated_failure(&self, message: &str, is_trace: bool, is_old: bool) -> bool {
        if is_trace && !(self.turn.reported_failures.is_empty() && self.previous_failures.is_empty()) {
            return true;
        }
        let previous = self.previous_failures.iter().filter(|_| is_old || !self.has_new_prompt);
        self.turn.reported_failures.iter().chain(previous).any(|reported| message.contains(reported.as_str()))
    }

    /// Whether the failure of a refused prompt was already reported.
    pub(super) fn prompt_has_failed(&self) -> bool {
        self.turn.failed || !self.has_new_prompt && !self.previous_failures.is_empty()
    }
}
