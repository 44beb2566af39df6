//! Errors of JSON-RPC as failures.

use interlingua_native::acp::Error;
use interlingua_schema::ErrorCode;
use serde_json::Value;

use crate::{Failure, error_code_for_status, error_code_for_text};

/// The agent requires a login.
const AUTHENTICATION_REQUIRED: i64 = -32000;
/// The request was cancelled.
const REQUEST_CANCELLED: i64 = -32800;
/// The codes of requests that the agent does not accept: unknown, malformed, about something that does not exist.
const INVALID_REQUEST_CODES: [i64; 5] = [-32700, -32600, -32601, -32602, -32002];

/// An error response.
#[derive(Debug)]
pub(super) struct RpcFailure {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl RpcFailure {
    /// Decodes the `error` of a response. Anything that is not an error object is the message itself.
    pub(super) fn decode(json: &str) -> Self {
        let Ok(error) = serde_json::from_str::<Error>(json) else {
            return Self { code: 0, message: json.to_owned(), data: None };
        };
        let code = error.code.unwrap_or_default();
        let message = match error.text() {
            text if text.is_empty() => format!("the agent reported error {code} without a message"),
            text => text,
        };
        let data = error.data.map(|data| data.to_value()).filter(|data| !data.is_null());
        Self { code, message, data }
    }

    pub(super) fn requires_login(&self) -> bool {
        self.code == AUTHENTICATION_REQUIRED
    }

    pub(super) fn is_cancellation(&self) -> bool {
        self.code == REQUEST_CANCELLED
    }

    /// The failure. `request` is the method of the request, if the failure is not that of a prompt.
    pub(super) fn into_failure(self, request: Option<&str>) -> Failure {
        let message = self.message;
        // The text of a model's error follows the generic one.
        let specific = message.strip_prefix("Internal error: ").unwrap_or(&message);
        let status = u16::try_from(self.code).ok().filter(|status| (100..600).contains(status));
        let code = match self.code {
            AUTHENTICATION_REQUIRED => ErrorCode::Auth,
            code if INVALID_REQUEST_CODES.contains(&code) => ErrorCode::InvalidRequest,
            _ => match status {
                Some(status) => error_code_for_text(specific)
                    .filter(|code| *code == ErrorCode::ContextOverflow)
                    .unwrap_or_else(|| error_code_for_status(status)),
                None => error_code_for_text(specific).unwrap_or(ErrorCode::AgentError),
            },
        };
        let message = match request {
            Some(method) => format!("{method}: {message}"),
            None => message,
        };
        Failure::new(code, message).status(status).kind(Some(self.code.to_string())).native(self.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(json: &str) -> (ErrorCode, String, Option<u16>) {
        let failure = RpcFailure::decode(json).into_failure(None);
        (failure.code, failure.message, failure.details.status)
    }

    #[test]
    fn an_error_has_the_code_of_its_failure() {
        for (json, code, message, status) in [
            (
                r#"{"code":-32000,"message":"Authentication required"}"#,
                ErrorCode::Auth,
                "Authentication required",
                None,
            ),
            (r#"{"code":400,"message":"no"}"#, ErrorCode::InvalidRequest, "no", Some(400)),
            (r#"{"code":429,"message":"slow"}"#, ErrorCode::RateLimited, "slow", Some(429)),
            (
                r#"{"code":-32602,"message":"Session not found: x"}"#,
                ErrorCode::InvalidRequest,
                "Session not found: x",
                None,
            ),
            (
                r#"{"code":-32603,"message":"Internal error","data":{"details":"fetch failed"}}"#,
                ErrorCode::Connection,
                "Internal error: fetch failed",
                None,
            ),
            (r#"{"code":-32603,"message":"Internal error"}"#, ErrorCode::AgentError, "Internal error", None),
            (r#"{"code":-1}"#, ErrorCode::AgentError, "the agent reported error -1 without a message", None),
            (r#""boom""#, ErrorCode::AgentError, "\"boom\"", None),
        ] {
            assert_eq!(failure(json), (code, message.to_owned(), status), "{json}");
        }
    }
}
