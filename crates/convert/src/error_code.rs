//! What kind of failure an HTTP status or an agent's words tell of.

use interlingua_schema::ErrorCode;

/// The stable code for a model provider's HTTP status. Where the agent names the failure itself, that name is the
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

/// That the conversation is too long, whatever else is said: providers answer it with all sorts of statuses.
const OVERFLOW: &[&str] =
    &["context_length_exceeded", "context length", "context limit", "context window", "prompt is too long"];

/// Words that tell a kind of failure, in small letters. The first row that fits counts: those that say exactly what it
/// is come before those that are said of many things.
const SIGNS: &[(ErrorCode, &[&str])] = &[
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

/// The stable code for a failure of which there are only words; `None` where they tell nothing. What the agent names
/// or numbers is the better source.
#[must_use]
pub fn error_code_for_text(words: &str) -> Option<ErrorCode> {
    let words = words.to_lowercase();
    let says = |signs: &[&str]| signs.iter().any(|sign| words.contains(sign));
    if says(OVERFLOW) {
        return Some(ErrorCode::ContextOverflow);
    }
    if let Some(status) = status_in(&words) {
        return Some(error_code_for_status(status));
    }
    SIGNS.iter().find(|(_, signs)| says(signs)).map(|(code, _)| code.clone())
}

/// Whether words say that the conversation is too long.
#[must_use]
pub(crate) fn is_context_overflow(words: &str) -> bool {
    let words = words.to_lowercase();
    OVERFLOW.iter().any(|sign| words.contains(sign))
}

/// The HTTP status that a sentence names: `unexpected status 401 Unauthorized`, `failed with HTTP 400: …`,
/// `API Error: 529 Overloaded`, `402 Payment Required`.
fn status_in(words: &str) -> Option<u16> {
    let after = |mark: &str| words.split_once(mark).map(|(_, after)| after.trim_start_matches([':', ' ']));
    let number = |text: &str| text.get(..3)?.parse().ok().filter(|status| (400..600).contains(status));
    let named = [after("status"), after("http "), after("error: "), Some(words)];
    named.into_iter().flatten().find_map(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_the_kind_of_failure() {
        for (words, expected) in [
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
            assert_eq!(error_code_for_text(words), expected, "{words}");
        }
    }
}
