//! What kind of failure Amp's words tell of. It gives no codes, on the wire or when it exits.

use interlingua_schema::ErrorCode;

/// Words that tell a kind of failure, in small letters. The first that fits counts.
const SIGNS: [(&str, ErrorCode); 26] = [
    ("api key", ErrorCode::Auth),
    ("authenticat", ErrorCode::Auth),
    ("unauthorized", ErrorCode::Auth),
    ("amp login", ErrorCode::Auth),
    ("context limit", ErrorCode::ContextOverflow),
    ("context window", ErrorCode::ContextOverflow),
    ("prompt is too long", ErrorCode::ContextOverflow),
    ("rate limit", ErrorCode::RateLimited),
    ("too many requests", ErrorCode::RateLimited),
    ("overloaded", ErrorCode::Overloaded),
    ("insufficient", ErrorCode::Limit),
    ("out of credits", ErrorCode::Limit),
    ("payment required", ErrorCode::Limit),
    ("402", ErrorCode::Limit),
    ("usage limit", ErrorCode::Limit),
    ("couldn't connect", ErrorCode::Connection),
    ("could not connect", ErrorCode::Connection),
    ("connection", ErrorCode::Connection),
    ("unreachable", ErrorCode::Connection),
    ("fetch failed", ErrorCode::Connection),
    ("econn", ErrorCode::Connection),
    ("timed out", ErrorCode::Connection),
    ("unknown option", ErrorCode::InvalidRequest),
    ("unexpected token", ErrorCode::InvalidRequest),
    ("json", ErrorCode::InvalidRequest),
    ("invalid", ErrorCode::InvalidRequest),
];

/// The code for a failure in Amp's own words.
pub(super) fn code(words: &str) -> ErrorCode {
    // Refused by us, because there is nobody to ask: the words mention the JSON mode, but the input was fine.
    if words.contains("require user approval") {
        return ErrorCode::AgentError;
    }
    let words = words.to_lowercase();
    let sign = SIGNS.iter().find(|(sign, _)| words.contains(sign));
    sign.map_or(ErrorCode::AgentError, |(_, code)| code.clone())
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
