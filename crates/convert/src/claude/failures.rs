//! Failures and their error codes.

use interlingua_native::claude::{AssistantMessageError, StartupFailureReason, TerminalReason};
use interlingua_schema::ErrorCode;
use serde_json::{Value, json};

use super::native_details;
use crate::error_code::is_context_overflow;
use crate::{Failure, error_code_for_status, error_code_for_text};

/// What the agent reports about a failure besides the message.
#[derive(Default)]
pub(super) struct FailureInfo<'a> {
    pub(super) error: Option<&'a AssistantMessageError>,
    /// The limit of turns or of cost was reached.
    pub(super) is_limit: bool,
    /// The API's error type.
    pub(super) api_type: Option<&'a str>,
    /// HTTP status of the API.
    pub(super) status: Option<u64>,
    /// Why the turn ended.
    pub(super) terminal_reason: Option<&'a TerminalReason>,
    pub(super) startup_failure: Option<&'a StartupFailureReason>,
    /// Subtype of the `result`, if there is no better name for the failure.
    pub(super) subtype: Option<&'a str>,
}

impl FailureInfo<'_> {
    /// The stable code. The message decides only where the agent does not name the failure.
    fn code(&self, message: &str) -> ErrorCode {
        if self.is_limit {
            return ErrorCode::Limit;
        }
        if is_context_overflow(message) {
            return ErrorCode::ContextOverflow;
        }
        if let Some(code) = self.startup_failure.map(code_for_startup_failure) {
            return code;
        }
        let terminal_code = self.terminal_reason.and_then(code_for_terminal_reason);
        let named = terminal_code.or_else(|| self.api_type.and_then(code_for_api_type));
        if let Some(code) = named {
            return code;
        }
        if let Some(status) = self.status {
            return error_code_for_status(u16::try_from(status).unwrap_or_default());
        }
        if let Some(code) = self.error.and_then(code_for_error) {
            return code;
        }
        error_code_for_text(message).unwrap_or(ErrorCode::AgentError)
    }

    /// The failure with the agent's message and everything that the agent reports about it.
    pub(super) fn to_failure(&self, message: impl Into<String>) -> Failure {
        let message = message.into();
        let kind = self
            .api_type
            .or_else(|| self.error.map(AssistantMessageError::as_str))
            .or_else(|| self.startup_failure.map(StartupFailureReason::as_str))
            .or(self.subtype);
        Failure::new(self.code(&message), message)
            .status(self.status.and_then(|status| u16::try_from(status).ok()))
            .kind(kind)
            .native(native_details(self.native()))
    }

    /// The facts that have no universal key.
    fn native(&self) -> Value {
        json!({
            "error": self.error.filter(|_| self.api_type.is_some()).map(AssistantMessageError::as_str),
            "terminal_reason": self.terminal_reason.map(TerminalReason::as_str),
        })
    }
}

/// The stable code for a request to the model that failed and is retried.
pub(super) fn retry_code(error: Option<&str>, status: Option<u64>) -> Option<ErrorCode> {
    let code = status.and_then(|status| u16::try_from(status).ok()).map(error_code_for_status);
    code.or_else(|| error.and_then(error_code_for_text))
}

/// Whether a message that the CLI wrote is a failure, by its text. Versions up to 2.0.30 do not mark it as one.
pub(super) fn is_unmarked_failure(text: &str) -> bool {
    const PREFIXES: [&str; 7] = [
        "API Error",
        "Claude AI usage limit reached",
        "Credit balance is too low",
        "Invalid API key",
        "OAuth token revoked",
        "Prompt is too long",
        "Request timed out",
    ];
    PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

fn code_for_error(error: &AssistantMessageError) -> Option<ErrorCode> {
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
        // Server errors and unknown names: the message may say more.
        _ => return None,
    })
}

fn code_for_api_type(api_type: &str) -> Option<ErrorCode> {
    Some(match api_type {
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

fn code_for_terminal_reason(reason: &TerminalReason) -> Option<ErrorCode> {
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

fn code_for_startup_failure(reason: &StartupFailureReason) -> ErrorCode {
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
