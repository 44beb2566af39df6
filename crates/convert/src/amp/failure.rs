//! What kind of failure Amp's words tell of. It gives no codes, on the wire or when it exits.

use interlingua_schema::ErrorCode;

use crate::error_code_for_text;

/// The code for a failure in Amp's own words.
pub(super) fn code(words: &str) -> ErrorCode {
    // Refused by us, because there is nobody to ask: the words mention the JSON mode, but the input was fine.
    if words.contains("require user approval") {
        return ErrorCode::AgentError;
    }
    // What it could not read was written by the host.
    let is_unreadable = || words.to_lowercase().contains("json").then_some(ErrorCode::InvalidRequest);
    error_code_for_text(words).or_else(is_unreadable).unwrap_or(ErrorCode::AgentError)
}

/// Whether the words say that the host stopped the agent: `User cancelled (SIGINT/SIGTERM)`.
pub(super) fn is_interrupt(words: &str) -> bool {
    words.starts_with("User cancelled")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_the_kind_of_failure() {
        for (words, expected) in [
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
            assert_eq!(code(words), expected, "{words}");
        }
    }
}
