//! Session ids, which clients choose.

use interlingua_schema::SessionId;

use crate::error::RuntimeError;

/// Maximum length of a session id.
const MAX_SESSION_ID_BYTES: usize = 256;

/// Checks the length and the characters of a session id: 1 to 256 bytes without control characters.
///
/// # Errors
/// Says what is wrong with the id.
pub fn check_session_id(id: &SessionId) -> Result<(), RuntimeError> {
    let text = id.as_str();
    if text.is_empty() || text.len() > MAX_SESSION_ID_BYTES {
        let detail = format!("expected a session id of 1 to {MAX_SESSION_ID_BYTES} bytes, found {}", text.len());
        return Err(RuntimeError::field("sessionId", detail));
    }
    if text.chars().any(char::is_control) {
        return Err(RuntimeError::field("sessionId", "expected a session id without control characters"));
    }
    // HTTP clients remove these segments from a path, so requests for the session would reach another endpoint.
    if matches!(text, "." | "..") {
        return Err(RuntimeError::field("sessionId", "expected a session id other than `.` and `..`"));
    }
    Ok(())
}
