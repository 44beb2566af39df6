//! What went wrong, and of which kind it is.

use interlingua_native::codex::{CodexErrorInfo, CodexErrorInfoText, TurnError};
use interlingua_schema::{ErrorCode, Retry, StopReason};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::content::json as to_json;
use super::requests::known;
use crate::{Failure, error_code_for_status, error_code_for_text};

/// The key of an HTTP status beside the name of a failure.
const STATUS: &str = "httpStatusCode";
/// What Codex says of a retry, before the numbers.
const RETRY_PREFIX: &str = "Reconnecting...";

/// A turn's error as a failure.
pub(super) fn failure(error: TurnError) -> Failure {
    let message = error.message.unwrap_or_default();
    let info = error.codex_error_info.as_ref().map(ErrorName::read).unwrap_or_default();
    let code = match &error.codex_error_info {
        Some(info) => code_of(info, &message),
        None => code_of_message(&message),
    };
    let mut native = Map::new();
    if let Some(more) = info.more {
        native.insert("codexErrorInfo".to_owned(), more);
    }
    if let Some(more) = error.additional_details {
        native.insert("additionalDetails".to_owned(), more.into());
    }
    if let Some(misalignment) = error.misalignment {
        native.insert("misalignment".to_owned(), to_json(misalignment));
    }
    // `other` says nothing; the provider may have a name for it.
    let kind = info.name.filter(|name| name != "other").or_else(|| provider_type(&message));
    let status = info.status.or_else(|| status_in_words(&message));
    Failure::new(code, message).kind(kind).status(status).native(known(native))
}

/// A failure of which there are only words.
pub(super) fn failure_in_words(message: String) -> Failure {
    let (kind, status) = (provider_type(&message), status_in_words(&message));
    Failure::new(code_of_message(&message), message).kind(kind).status(status)
}

/// The HTTP status that Codex's own sentences name: `unexpected status 401 Unauthorized: …`, `exceeded retry limit, last
/// status: 429 Too Many Requests`.
fn status_in_words(message: &str) -> Option<u16> {
    let (_, after) = message.split_once("unexpected status ").or_else(|| message.split_once("last status: "))?;
    after.get(..3)?.parse().ok()
}

/// A request of the host that the agent refused.
pub(super) fn refusal(method: Option<&str>, code: Option<i64>, message: String, data: Option<&Value>) -> Failure {
    // JSON-RPC keeps this one for the server's own faults.
    let kind = if code == Some(-32603) { ErrorCode::AgentError } else { ErrorCode::InvalidRequest };
    let native = [("method", method.map(Value::from)), ("code", code.map(Value::from)), ("data", data.cloned())];
    let native = native.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    Failure::new(kind, message).native(known(native))
}

/// Codex's own name for a failure, and what stands beside it.
#[derive(Default)]
struct ErrorName {
    name: Option<String>,
    status: Option<u16>,
    /// All of it, where there is more than a status.
    more: Option<Value>,
}

impl ErrorName {
    /// A word, or an object whose only key is the word.
    fn read(info: &CodexErrorInfo) -> Self {
        let info = to_json(info);
        match &info {
            Value::String(name) => Self { name: Some(name.clone()), ..Self::default() },
            Value::Object(object) => {
                let Some((name, about)) = object.iter().next() else { return Self::default() };
                let status = about.get(STATUS).and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
                let is_status_only = about.as_object().is_none_or(|about| about.keys().all(|key| key == STATUS));
                Self { name: Some(name.clone()), status, more: (!is_status_only).then(|| info.clone()) }
            }
            _ => Self::default(),
        }
    }
}

/// Why the model stopped, where a failure says that it was not done.
pub(super) fn stop_reason(message: &str) -> Option<StopReason> {
    let (_, reason) = message.split_once("Incomplete response returned, reason: ")?;
    match reason.trim() {
        "max_output_tokens" => Some(StopReason::MaxTokens),
        "content_filter" => Some(StopReason::Refusal),
        _ => Some(StopReason::Other),
    }
}

/// A retry that an error tells of: `Reconnecting... 1/2`, with the reason beside it. Where the error has no number, it is
/// the one after `before`.
pub(super) fn retry(error: TurnError, before: u64) -> Retry {
    let message = error.message.unwrap_or_default();
    let (numbers, in_brackets) = retry_words(&message);
    let (attempt, max_attempts) = numbers.map_or((before + 1, None), |(attempt, max)| (attempt, Some(max)));
    let words = if numbers.is_some() { RETRY_PREFIX } else { &message };
    let reason = error.additional_details.unwrap_or_else(|| in_brackets.unwrap_or(words).to_owned());
    let code = match &error.codex_error_info {
        Some(info) => code_of(info, &reason),
        None => code_of_message(&reason),
    };
    Retry::new(attempt, reason).max_attempts(max_attempts).code(code)
}

/// The numbers that a retry's message has, and the reason in brackets behind them.
fn retry_words(message: &str) -> (Option<(u64, u64)>, Option<&str>) {
    let rest = message.strip_prefix(RETRY_PREFIX).unwrap_or_default().trim();
    let (numbers, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let numbers = numbers.split_once('/').and_then(|(attempt, max)| Some((attempt.parse().ok()?, max.parse().ok()?)));
    (numbers, reason.strip_prefix('(').and_then(|reason| reason.strip_suffix(')')))
}

fn code_of(info: &CodexErrorInfo, message: &str) -> ErrorCode {
    match info {
        CodexErrorInfo::Text(text) => match text {
            CodexErrorInfoText::ContextWindowExceeded => ErrorCode::ContextOverflow,
            CodexErrorInfoText::SessionBudgetExceeded
            | CodexErrorInfoText::UsageLimitExceeded
            | CodexErrorInfoText::TooManyDenials => ErrorCode::Limit,
            CodexErrorInfoText::RateLimitExceeded => ErrorCode::RateLimited,
            CodexErrorInfoText::FlexUnavailable
            | CodexErrorInfoText::ServerOverloaded
            | CodexErrorInfoText::PolicyCapacityUnavailable => ErrorCode::Overloaded,
            CodexErrorInfoText::ModelNotFound
            | CodexErrorInfoText::CyberPolicy
            | CodexErrorInfoText::MisalignmentPolicyViolation
            | CodexErrorInfoText::BadRequest => ErrorCode::InvalidRequest,
            CodexErrorInfoText::Unauthorized => ErrorCode::Auth,
            CodexErrorInfoText::InternalServerError
            | CodexErrorInfoText::ThreadRollbackFailed
            | CodexErrorInfoText::SandboxError => ErrorCode::AgentError,
            // `other`, and whatever a later release adds: the message may say more.
            _ => code_of_message(message),
        },
        CodexErrorInfo::Object(object) | CodexErrorInfo::Unknown(object) => {
            let Ok(Value::Object(object)) = object.decode::<Value>() else {
                return code_of_message(message);
            };
            let Some((name, more)) = object.iter().next() else {
                return code_of_message(message);
            };
            let status = more.get(STATUS).and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
            match (name.as_str(), status) {
                ("modelCap", _) => ErrorCode::RateLimited,
                ("activeTurnNotSteerable", _) => ErrorCode::InvalidRequest,
                (_, Some(status)) => error_code_for_status(status),
                (
                    "httpConnectionFailed"
                    | "responseStreamConnectionFailed"
                    | "responseStreamDisconnected"
                    | "responseTooManyFailedAttempts",
                    None,
                ) => match error_code_for_text(message) {
                    // An answer that was cut at a limit ends its stream too.
                    Some(code @ (ErrorCode::Limit | ErrorCode::ContextOverflow)) => code,
                    _ => ErrorCode::Connection,
                },
                _ => code_of_message(message),
            }
        }
    }
}

/// The error that a model's provider answers with.
#[derive(Deserialize)]
struct ProviderBody {
    error: ProviderError,
}

#[derive(Deserialize)]
struct ProviderError {
    r#type: Option<String>,
    code: Option<String>,
}

/// The provider's name for a failure, where its answer is the message.
fn provider_type(message: &str) -> Option<String> {
    serde_json::from_str::<ProviderBody>(message).ok()?.error.r#type
}

/// The kind of a failure of which there are only words: the provider's own body, or the agent's sentence.
fn code_of_message(message: &str) -> ErrorCode {
    if let Ok(ProviderBody { error }) = serde_json::from_str::<ProviderBody>(message) {
        let named = [error.code.as_deref(), error.r#type.as_deref()].into_iter().flatten();
        return named.map(code_of_name).next().unwrap_or(ErrorCode::InvalidRequest);
    }
    error_code_for_text(message).unwrap_or(ErrorCode::AgentError)
}

fn code_of_name(name: &str) -> ErrorCode {
    match name {
        "insufficient_quota" | "usage_limit_reached" | "usage_not_included" => ErrorCode::Limit,
        "context_length_exceeded" => ErrorCode::ContextOverflow,
        "server_is_overloaded" | "overloaded_error" | "slow_down" => ErrorCode::Overloaded,
        "server_error" | "api_error" => ErrorCode::AgentError,
        name if name.contains("rate_limit") => ErrorCode::RateLimited,
        name if name.contains("auth") || name.contains("api_key") || name.contains("permission") => ErrorCode::Auth,
        _ => ErrorCode::InvalidRequest,
    }
}

/// Whether the agent says that it tries again. `codex exec --json` has only the words.
pub(super) fn is_retry(message: &str) -> bool {
    message.starts_with(RETRY_PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use interlingua_native::Native as _;

    fn code(info: &str, message: &str) -> ErrorCode {
        let line = format!(r#"{{"codexErrorInfo":{info},"message":{}}}"#, Value::from(message));
        let params = format!(r#"{{"method":"error","params":{{"error":{line}}}}}"#);
        match interlingua_native::codex::ServerNotification::decode(&params).unwrap().value {
            interlingua_native::codex::ServerNotification::Error(params) => failure(params.error.unwrap()).code,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_kind_of_failure_has_its_code() {
        let body = r#"{"error": {"message": "bad", "type": "invalid_request_error", "code": null}}"#;
        for (info, message, expected) in [
            (r#""contextWindowExceeded""#, "", ErrorCode::ContextOverflow),
            (r#""usageLimitExceeded""#, "", ErrorCode::Limit),
            (r#""other""#, body, ErrorCode::InvalidRequest),
            (r#""other""#, "stream disconnected before completion: x", ErrorCode::Connection),
            (r#"{"httpConnectionFailed":{"httpStatusCode":401}}"#, "", ErrorCode::Auth),
            (r#"{"httpConnectionFailed":{"httpStatusCode":null}}"#, "", ErrorCode::Connection),
            (r#"{"responseTooManyFailedAttempts":{"httpStatusCode":429}}"#, "", ErrorCode::RateLimited),
            (r#"{"modelCap":{"model":"m"}}"#, "", ErrorCode::RateLimited),
            (r#""somethingNew""#, "unexpected status 503 Service Unavailable", ErrorCode::Overloaded),
            ("null", "what happened?", ErrorCode::AgentError),
        ] {
            assert_eq!(code(info, message), expected, "{info} {message}");
        }
    }
}
