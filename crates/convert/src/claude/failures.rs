//! What kind of failure it is.

use interlingua_native::claude::{AssistantMessageError, StartupFailureReason, TerminalReason};
use interlingua_schema::ErrorCode;
use serde_json::{Value, json};

use super::facts::{facts, known};
use crate::error_code::is_context_overflow;
use crate::{Failure, error_code_for_status, error_code_for_text};

/// What the agent says about a failure beside its words.
#[derive(Default)]
pub(super) struct Kind<'a> {
    pub(super) error: Option<&'a AssistantMessageError>,
    /// A limit of turns or money was reached.
    pub(super) is_limit: bool,
    /// The API's own name for it.
    pub(super) api_type: Option<&'a str>,
    /// The API's HTTP status.
    pub(super) status: Option<u64>,
    /// Why the turn ended.
    pub(super) terminal: Option<&'a TerminalReason>,
    pub(super) startup: Option<&'a StartupFailureReason>,
    /// The subtype of a `result` that says nothing else.
    pub(super) subtype: Option<&'a str>,
}

impl Kind<'_> {
    /// The stable code. The words count for what the agent has no name for.
    fn code(&self, words: &str) -> ErrorCode {
        if self.is_limit {
            return ErrorCode::Limit;
        }
        if is_context_overflow(words) {
            return ErrorCode::ContextOverflow;
        }
        if let Some(code) = self.startup.map(startup) {
            return code;
        }
        let named = self.terminal.and_then(terminal).or_else(|| self.api_type.and_then(api_type));
        if let Some(code) = named {
            return code;
        }
        if let Some(status) = self.status {
            return error_code_for_status(u16::try_from(status).unwrap_or_default());
        }
        if let Some(code) = self.error.and_then(error) {
            return code;
        }
        error_code_for_text(words).unwrap_or(ErrorCode::AgentError)
    }

    /// The failure in the agent's words, with all that it says about it.
    pub(super) fn failure(&self, words: impl Into<String>) -> Failure {
        let words = words.into();
        let kind = self
            .api_type
            .or_else(|| self.error.map(AssistantMessageError::as_str))
            .or_else(|| self.startup.map(StartupFailureReason::as_str))
            .or(self.subtype);
        Failure::new(self.code(&words), words)
            .status(self.status.and_then(|status| u16::try_from(status).ok()))
            .kind(kind)
            .native(known(self.native()))
    }

    /// What has no key of its own.
    fn native(&self) -> Value {
        facts(json!({
            "error": self.error.filter(|_| self.api_type.is_some()).map(AssistantMessageError::as_str),
            "terminal_reason": self.terminal.map(TerminalReason::as_str),
        }))
    }
}

/// The stable code for what the agent says of a request that failed and is made again.
pub(super) fn retry_code(error: Option<&str>, status: Option<u64>) -> Option<ErrorCode> {
    let by_status = status.and_then(|status| u16::try_from(status).ok()).map(error_code_for_status);
    by_status.or_else(|| error.and_then(error_code_for_text))
}

/// Whether a made-up line tells of a failure that it does not name, as in versions up to 2.0.30.
pub(super) fn is_unmarked(text: &str) -> bool {
    const BEGINNINGS: [&str; 7] = [
        "API Error",
        "Claude AI usage limit reached",
        "Credit balance is too low",
        "Invalid API key",
        "OAuth token revoked",
        "Prompt is too long",
        "Request timed out",
    ];
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
}

fn error(error: &AssistantMessageError) -> Option<ErrorCode> {
    Some(match error {
        AssistantMessageError::AuthenticationFailed
        | AssistantMessageError::OauthOrgNotAllowed
        | AssistantMessageError::AccountOnHold
        | AssistantMessageError::VerificationRequired
        | AssistantMessageError::CloudCredentialError => ErrorCode::Auth,
        AssistantMessageError::BillingError | AssistantMessageError::MaxOutputTokens => ErrorCode::Limit,
        AssistantMessageError::RateLimit => ErrorCode::RateLimited,
        AssistantMessageError::Overloaded => ErrorCode::Overloaded,
        AssistantMessageError::InvalidRequest | AssistantMessageError::ModelNotFound => ErrorCode::InvalidRequest,
        // A server's error and what has no name: the words may tell more.
        _ => return None,
    })
}

fn api_type(name: &str) -> Option<ErrorCode> {
    Some(match name {
        "authentication_error" | "permission_error" => ErrorCode::Auth,
        "billing_error" => ErrorCode::Limit,
        "invalid_request_error" | "not_found_error" => ErrorCode::InvalidRequest,
        "overloaded_error" => ErrorCode::Overloaded,
        "rate_limit_error" => ErrorCode::RateLimited,
        "request_too_large" => ErrorCode::ContextOverflow,
        "timeout_error" => ErrorCode::Connection,
        _ => return None,
    })
}

fn terminal(reason: &TerminalReason) -> Option<ErrorCode> {
    Some(match reason {
        TerminalReason::BlockingLimit | TerminalReason::PromptTooLong => ErrorCode::ContextOverflow,
        TerminalReason::RapidRefillBreaker | TerminalReason::MaxTurns | TerminalReason::BudgetExhausted => {
            ErrorCode::Limit
        }
        TerminalReason::ImageError => ErrorCode::InvalidRequest,
        TerminalReason::MalformedToolUseExhausted
        | TerminalReason::StructuredOutputRetryExhausted
        | TerminalReason::TurnSetupFailed => ErrorCode::AgentError,
        _ => return None,
    })
}

fn startup(reason: &StartupFailureReason) -> ErrorCode {
    match reason {
        StartupFailureReason::OrgPinApiKeyConflict
        | StartupFailureReason::OrgVerifyFailed
        | StartupFailureReason::OrgPinMismatch
        | StartupFailureReason::ProviderNotAllowed
        | StartupFailureReason::GatewaySigninRequired
        | StartupFailureReason::GatewayAccessDenied => ErrorCode::Auth,
        StartupFailureReason::RemoteSettingsRequiredUnavailable
        | StartupFailureReason::OrgConfigRequiredUnavailable
        | StartupFailureReason::ProxyInvalid => ErrorCode::Connection,
        StartupFailureReason::BypassRoot
        | StartupFailureReason::ManagedSettingsInvalid
        | StartupFailureReason::ConfigFileInvalid
        | StartupFailureReason::SessionHeldByBackground
        | StartupFailureReason::WorktreeResumeRefused
        | StartupFailureReason::WorktreeUnverified
        | StartupFailureReason::CwdUnavailable
        | StartupFailureReason::InitializeNotFirst => ErrorCode::InvalidRequest,
        _ => ErrorCode::AgentError,
    }
}
