//! What went wrong, and of which kind it is.

use interlingua_native::codex::{CodexErrorInfo, CodexErrorInfoText, TurnError};
use interlingua_schema::ErrorCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Failure, code_for_status, code_for_words};

/// A turn's error as a failure.
pub(super) fn failure(error: TurnError) -> Failure {
    let message = error.message.unwrap_or_default();
    let code = match &error.codex_error_info {
        Some(info) => code_of(info, &message),
        None => code_of_message(&message),
    };
    let mut details = serde_json::Map::new();
    if let Some(info) = error.codex_error_info.and_then(|info| serde_json::to_value(info).ok()) {
        details.insert("codex_error_info".to_owned(), info);
    }
    if let Some(more) = error.additional_details {
        details.insert("additional_details".to_owned(), more.into());
    }
    if let Some(misalignment) = error.misalignment.and_then(|more| serde_json::to_value(more).ok()) {
        details.insert("misalignment".to_owned(), misalignment);
    }
    let failure = Failure::new(code, message);
    if details.is_empty() { failure } else { failure.details(Value::Object(details)) }
}

/// A request of the host that the agent refused.
pub(super) fn refusal(method: Option<&str>, code: Option<i64>, message: String, data: Option<&Value>) -> Failure {
    // JSON-RPC keeps this one for the server's own faults.
    let kind = if code == Some(-32603) { ErrorCode::AgentError } else { ErrorCode::InvalidRequest };
    Failure::new(kind, message).details(json!({ "method": method, "code": code, "data": data }))
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
            let status =
                more.get("httpStatusCode").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
            match (name.as_str(), status) {
                ("modelCap", _) => ErrorCode::RateLimited,
                ("activeTurnNotSteerable", _) => ErrorCode::InvalidRequest,
                (_, Some(status)) => code_for_status(status),
                (
                    "httpConnectionFailed"
                    | "responseStreamConnectionFailed"
                    | "responseStreamDisconnected"
                    | "responseTooManyFailedAttempts",
                    None,
                ) => match code_for_words(message) {
                    // An answer that was cut at a limit ends its stream too.
                    Some(code @ (ErrorCode::Limit | ErrorCode::ContextOverflow)) => code,
                    _ => ErrorCode::Connection,
                },
                _ => code_of_message(message),
            }
        }
        _ => code_of_message(message),
    }
}

/// The kind of a failure of which there are only words: the provider's own body, or the agent's sentence.
pub(super) fn code_of_message(message: &str) -> ErrorCode {
    #[derive(Deserialize)]
    struct Body {
        error: Inner,
    }
    #[derive(Deserialize)]
    struct Inner {
        r#type: Option<String>,
        code: Option<String>,
    }
    if let Ok(Body { error }) = serde_json::from_str::<Body>(message) {
        let named = [error.code.as_deref(), error.r#type.as_deref()].into_iter().flatten();
        return named.map(code_of_name).next().unwrap_or(ErrorCode::InvalidRequest);
    }
    code_for_words(message).unwrap_or(ErrorCode::AgentError)
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
    message.starts_with("Reconnecting...")
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
