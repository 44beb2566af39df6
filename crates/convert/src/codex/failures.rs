//! Errors and their error codes.

use interlingua_native::codex::{CodexErrorInfo, CodexErrorInfoText, TurnError};
use interlingua_schema::{ErrorCode, Retry, StopReason};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::content::{non_empty, to_json};
use crate::{Failure, error_code_for_status, error_code_for_text};

/// Key of the HTTP status in `codexErrorInfo`.
const STATUS_KEY: &str = "httpStatusCode";
/// How the message of a retry begins.
const RETRY_PREFIX: &str = "Reconnecting...";

/// Failure of a turn.
pub(super) fn turn_failure(error: TurnError) -> Failure {
    let message = error.message.unwrap_or_default();
    let info = error.codex_error_info.as_ref().map(ErrorInfo::parse).unwrap_or_default();
    let code = match &error.codex_error_info {
        Some(info) => code_for_info(info, &message),
        None => code_for_message(&message),
    };
    let mut native = Map::new();
    if let Some(details) = info.details {
        native.insert("codexErrorInfo".to_owned(), details);
    }
    if let Some(details) = error.additional_details {
        native.insert("additionalDetails".to_owned(), details.into());
    }
    if let Some(misalignment) = error.misalignment {
        native.insert("misalignment".to_owned(), to_json(misalignment));
    }
    // `other` carries no information; the provider's error type may.
    let kind = info.name.filter(|name| name != "other").or_else(|| provider_type(&message));
    let status = info.status.or_else(|| parse_http_status(&message));
    Failure::new(code, message).kind(kind).status(status).native(non_empty(native))
}

/// Failure that has only a message.
pub(super) fn failure_from_message(message: String) -> Failure {
    let (kind, status) = (provider_type(&message), parse_http_status(&message));
    Failure::new(code_for_message(&message), message).kind(kind).status(status)
}

/// HTTP status in a message of Codex: `unexpected status 401 Unauthorized: …`, `exceeded retry limit, last status: 429
/// Too Many Requests`.
fn parse_http_status(message: &str) -> Option<u16> {
    let (_, after) = message.split_once("unexpected status ").or_else(|| message.split_once("last status: "))?;
    after.get(..3)?.parse().ok()
}

/// Failure of a host request that the agent refused.
pub(super) fn refused_request(
    method: Option<&str>,
    code: Option<i64>,
    message: String,
    data: Option<&Value>,
) -> Failure {
    // JSON-RPC reserves this code for internal errors of the server.
    let kind = if code == Some(-32603) { ErrorCode::AgentError } else { ErrorCode::InvalidRequest };
    let native = [("method", method.map(Value::from)), ("code", code.map(Value::from)), ("data", data.cloned())];
    let native = native.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    Failure::new(kind, message).native(non_empty(native))
}

/// Content of `codexErrorInfo`.
#[derive(Default)]
struct ErrorInfo {
    name: Option<String>,
    status: Option<u16>,
    /// The whole value, if it contains more than a status.
    details: Option<Value>,
}

impl ErrorInfo {
    /// Parses a name, or an object whose only key is the name.
    fn parse(info: &CodexErrorInfo) -> Self {
        let info = to_json(info);
        match &info {
            Value::String(name) => Self { name: Some(name.clone()), ..Self::default() },
            Value::Object(object) => {
                let Some((name, details)) = object.iter().next() else { return Self::default() };
                let status =
                    details.get(STATUS_KEY).and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
                let is_status_only =
                    details.as_object().is_none_or(|details| details.keys().all(|key| key == STATUS_KEY));
                Self { name: Some(name.clone()), status, details: (!is_status_only).then(|| info.clone()) }
            }
            _ => Self::default(),
        }
    }
}

/// Reason for which the model stopped, if the message says that the response is incomplete.
pub(super) fn parse_stop_reason(message: &str) -> Option<StopReason> {
    let (_, reason) = message.split_once("Incomplete response returned, reason: ")?;
    match reason.trim() {
        "max_output_tokens" => Some(StopReason::MaxTokens),
        "content_filter" => Some(StopReason::Refusal),
        _ => Some(StopReason::Other),
    }
}

/// Retry that an error reports: `Reconnecting... 1/2`, with the reason beside it. Without a number, it is the one after
/// `before`.
pub(super) fn parse_retry(error: TurnError, before: u64) -> Retry {
    let message = error.message.unwrap_or_default();
    let (numbers, bracketed) = parse_retry_message(&message);
    let (attempt, max_attempts) = numbers.map_or((before + 1, None), |(attempt, max)| (attempt, Some(max)));
    let fallback = if numbers.is_some() { RETRY_PREFIX } else { &message };
    let reason = error.additional_details.unwrap_or_else(|| bracketed.unwrap_or(fallback).to_owned());
    let code = match &error.codex_error_info {
        Some(info) => code_for_info(info, &reason),
        None => code_for_message(&reason),
    };
    Retry::new(attempt, reason).max_attempts(max_attempts).code(code)
}

/// Attempt and maximum in the message of a retry, and the reason in brackets after them.
fn parse_retry_message(message: &str) -> (Option<(u64, u64)>, Option<&str>) {
    let rest = message.strip_prefix(RETRY_PREFIX).unwrap_or_default().trim();
    let (numbers, reason) = rest.split_once(' ').unwrap_or((rest, ""));
    let numbers = numbers.split_once('/').and_then(|(attempt, max)| Some((attempt.parse().ok()?, max.parse().ok()?)));
    (numbers, reason.strip_prefix('(').and_then(|reason| reason.strip_suffix(')')))
}

fn code_for_info(info: &CodexErrorInfo, message: &str) -> ErrorCode {
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
            // `other` and names that a later release adds: the message may contain more.
            _ => code_for_message(message),
        },
        CodexErrorInfo::Object(object) | CodexErrorInfo::Unknown(object) => {
            let Ok(Value::Object(object)) = object.decode::<Value>() else {
                return code_for_message(message);
            };
            let Some((name, details)) = object.iter().next() else {
                return code_for_message(message);
            };
            let status = details.get(STATUS_KEY).and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
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
                    // A response that reaches a limit also ends its stream.
                    Some(code @ (ErrorCode::Limit | ErrorCode::ContextOverflow)) => code,
                    _ => ErrorCode::Connection,
                },
                _ => code_for_message(message),
            }
        }
    }
}

/// Error body of a model provider.
#[derive(Deserialize)]
struct ProviderBody {
    error: ProviderError,
}

#[derive(Deserialize)]
struct ProviderError {
    r#type: Option<String>,
    code: Option<String>,
}

/// Error type of the provider, if the message is its response body.
fn provider_type(message: &str) -> Option<String> {
    serde_json::from_str::<ProviderBody>(message).ok()?.error.r#type
}

/// Error code for a message: the response body of the provider, or a sentence of the agent.
fn code_for_message(message: &str) -> ErrorCode {
    if let Ok(ProviderBody { error }) = serde_json::from_str::<ProviderBody>(message) {
        let names = [error.code.as_deref(), error.r#type.as_deref()].into_iter().flatten();
        return names.map(code_for_provider_error).next().unwrap_or(ErrorCode::InvalidRequest);
    }
    error_code_for_text(message).unwrap_or(ErrorCode::AgentError)
}

fn code_for_provider_error(name: &str) -> ErrorCode {
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

/// Whether a message reports a retry. `codex exec --json` marks retries in no other way.
pub(super) fn is_retry_message(message: &str) -> bool {
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
            interlingua_native::codex::ServerNotification::Error(params) => turn_failure(params.error.unwrap()).code,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn each_kind_of_error_has_its_code() {
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
