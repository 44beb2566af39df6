//! Error codes from HTTP statuses and error messages.

use interlingua_schema::ErrorCode;

/// Stable error code for an HTTP status of a model provider. If the agent names the failure itself, that name is the
/// better source.
#[must_use]
pub fn error_code_for_status(status: u16) -> ErrorCode {
    match status {
        401 | 403 => ErrorCode::Auth,
        402 => ErrorCode::Limit,
        408 | 502 | 504 => ErrorCode::Connection,
        413 => ErrorCode::ContextOverflow,
        429 => ErrorCode::RateLimited,
        503 | 529 => ErrorCode::Overloaded,
        400..500 => ErrorCode::InvalidRequest,
        _ => ErrorCode::AgentError,
    }
}

/// Phrases of a conversation that is too long. They are checked before the status, because providers use many different
/// statuses for it.
const CONTEXT_OVERFLOW_PHRASES: &[&str] =
    &["context_length_exceeded", "context length", "context limit", "context window", "prompt is too long"];

/// Phrases of each error code, in lower case. The first row with a match counts: specific phrases come before general
/// ones.
const PHRASES: &[(ErrorCode, &[&str])] = &[
    (
        ErrorCode::Auth,
        &["api key", "api_key", "authenticat", "unauthorized", "not logged in", "/login", "amp login", "log in to"],
    ),
    (
        ErrorCode::Limit,
        &[
            "quota",
            "usage limit",
            "usage_limit",
            "out of credits",
            "insufficient",
            "credit balance",
            "payment required",
            "max_output_tokens",
            "output token maximum",
        ],
    ),
    (ErrorCode::RateLimited, &["rate limit", "rate_limit", "too many requests"]),
    (ErrorCode::Overloaded, &["overloaded", "at capacity"]),
    (
        ErrorCode::InvalidRequest,
        &["model not found", "modelnotfound", "no conversation found", "unknown option", "unexpected token"],
    ),
    (
        ErrorCode::Connection,
        &[
            "connect",
            "econn",
            "enotfound",
            "etimedout",
            "timed out",
            "timeout",
            "network",
            "fetch failed",
            "socket",
            "unreachable",
            "error sending request",
        ],
    ),
    (ErrorCode::InvalidRequest, &["not found", "notfound", "invalid"]),
    (ErrorCode::AgentError, &["internal server error", "internal_server_error"]),
];

/// Stable error code for an error message; `None` if the text contains no known phrase. If the agent reports a name or
/// a status, that is the better source.
#[must_use]
pub fn error_code_for_text(text: &str) -> Option<ErrorCode> {
    let text = text.to_lowercase();
    let contains_any = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    if contains_any(CONTEXT_OVERFLOW_PHRASES) {
        return Some(ErrorCode::ContextOverflow);
    }
    if let Some(status) = find_status(&text) {
        return Some(error_code_for_status(status));
    }
    PHRASES.iter().find(|(_, phrases)| contains_any(phrases)).map(|(code, _)| code.clone())
}

/// Whether a text says that the conversation is too long.
#[must_use]
pub(crate) fn is_context_overflow(text: &str) -> bool {
    let text = text.to_lowercase();
    CONTEXT_OVERFLOW_PHRASES.iter().any(|phrase| text.contains(phrase))
}

/// HTTP status that a text contains: `unexpected status 401 Unauthorized`, `failed with HTTP 400: …`,
/// `API Error: 529 Overloaded`, `402 Payment Required`.
fn find_status(text: &str) -> Option<u16> {
    let after = |marker: &str| text.split_once(marker).map(|(_, after)| after.trim_start_matches([':', ' ']));
    let status = |text: &str| text.get(..3)?.parse().ok().filter(|status| (400..600).contains(status));
    let candidates = [after("status"), after("http "), after("error: "), Some(text)];
    candidates.into_iter().flatten().find_map(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_error_codes() {
        for (text, expected) in [
            ("Error: Invalid or missing API key. Run 'amp login' to authenticate.", Some(ErrorCode::Auth)),
            ("Not logged in · Please run /login", Some(ErrorCode::Auth)),
            ("Unauthorized", Some(ErrorCode::Auth)),
            ("unexpected status 401 Unauthorized: The key is not valid.", Some(ErrorCode::Auth)),
            ("This model's maximum context length is 8192 tokens", Some(ErrorCode::ContextOverflow)),
            ("Context Limit Reached", Some(ErrorCode::ContextOverflow)),
            ("failed with HTTP 400: prompt is too long", Some(ErrorCode::ContextOverflow)),
            ("Your input exceeds the context window of this model", Some(ErrorCode::ContextOverflow)),
            ("Quota exceeded. Check your plan and billing details.", Some(ErrorCode::Limit)),
            ("You've hit your usage limit.", Some(ErrorCode::Limit)),
            ("Insufficient credits", Some(ErrorCode::Limit)),
            ("402 Payment Required", Some(ErrorCode::Limit)),
            ("Error: 402 from the server", Some(ErrorCode::Limit)),
            (
                "stream disconnected before completion: Incomplete response returned, reason: max_output_tokens",
                Some(ErrorCode::Limit),
            ),
            ("Claude's response exceeded the 32000 output token maximum.", Some(ErrorCode::Limit)),
            ("Rate limit reached for requests", Some(ErrorCode::RateLimited)),
            ("Too Many Requests", Some(ErrorCode::RateLimited)),
            ("exceeded retry limit, last status: 429 Too Many Requests", Some(ErrorCode::RateLimited)),
            ("The server is overloaded", Some(ErrorCode::Overloaded)),
            ("Selected model is at capacity.", Some(ErrorCode::Overloaded)),
            ("unexpected status 529 <unknown status code>", Some(ErrorCode::Overloaded)),
            ("API Error: 529. Try again in a moment.", Some(ErrorCode::Overloaded)),
            ("Couldn't connect to the server at http://127.0.0.1:1.", Some(ErrorCode::Connection)),
            ("getaddrinfo ENOTFOUND api.example.com", Some(ErrorCode::Connection)),
            ("The request timed out", Some(ErrorCode::Connection)),
            ("idle timeout waiting for SSE", Some(ErrorCode::Connection)),
            ("stream disconnected before completion", Some(ErrorCode::Connection)),
            ("fetch failed", Some(ErrorCode::Connection)),
            ("ProviderModelNotFoundError: no such model at connection.ts", Some(ErrorCode::InvalidRequest)),
            ("No conversation found with session ID: x", Some(ErrorCode::InvalidRequest)),
            ("error: unknown option '--wrong'", Some(ErrorCode::InvalidRequest)),
            ("failed with HTTP 400: no", Some(ErrorCode::InvalidRequest)),
            ("invalid value", Some(ErrorCode::InvalidRequest)),
            ("status 200, and yet", None),
            ("Internal server error", Some(ErrorCode::AgentError)),
            ("something else", None),
            ("", None),
        ] {
            assert_eq!(error_code_for_text(text), expected, "{text}");
        }
    }
}
