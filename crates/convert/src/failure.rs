//! What kind of failure an HTTP status tells of.

use interlingua_schema::ErrorCode;

/// The stable code for a model provider's HTTP status. Where the agent names the failure itself, that name is the
/// better source.
#[must_use]
pub fn code_for_status(status: u16) -> ErrorCode {
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
