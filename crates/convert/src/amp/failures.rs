//! Error codes of failures, from Amp's message. Amp reports no codes, neither on the wire nor as its exit code.

use interlingua_schema::ErrorCode;

use crate::error_code_for_text;

/// The code for a failure with this message.
pub(super) fn code_for_message(message: &str) -> ErrorCode {
    // The CLI denies the approval because there is no user. The message mentions JSON, but the input was valid.
    if message.contains("require user approval") {
        return ErrorCode::AgentError;
    }
    // Amp could not parse a line that the host sent.
    let invalid_json = || message.to_lowercase().contains("json").then_some(ErrorCode::InvalidRequest);
    error_code_for_text(message).or_else(invalid_json).unwrap_or(ErrorCode::AgentError)
}

/// Whether the message says that the host interrupted the agent: `User cancelled (SIGINT/SIGTERM)`.
pub(super) fn is_interrupt(message: &str) -> bool {
    message.starts_with("User cancelled")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_decides_the_code() {
        for (message, expected) in [
            ("Error: Invalid or missing API key. Run 'amp login' to authenticate.", ErrorCode::Auth),
            ("No API key found. Starting login flow...", ErrorCode::Auth),
            ("Context Limit Reached This conversation has reached", ErrorCode::ContextOverflow),
            ("Error: Couldn't connect to the Amp server at http://127.0.0.1:1.", ErrorCode::Connection),
            ("error: unknown option '--wrong'", ErrorCode::InvalidRequest),
            ("402 Payment Required", ErrorCode::Limit),
            ("something else", ErrorCode::AgentError),
            (
                "The following tools require user approval, which is not supported in stream JSON mode: x",
                ErrorCode::AgentError,
            ),
        ] {
            assert_eq!(code_for_message(message), expected, "{message}");
        }
    }
}
