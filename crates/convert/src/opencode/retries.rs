//! Requests to the model that OpenCode makes again by itself.

use interlingua_native::opencode::{RetryPart, RetrySessionStatus};
use interlingua_schema::{ContentPart, Retry};
use serde::Deserialize;

use super::failures::Trouble;
use super::wire::retry_delay;
use crate::{Note, error_code_for_text};

/// The session waits before it tries again. `text` is the event's, whose id tells the time.
pub(super) fn session_retries(retry: RetrySessionStatus, text: &str) -> Note {
    let reason = retry.message.map_or_else(|| "the model did not answer".to_owned(), in_words);
    let code = error_code_for_text(&reason);
    let delay = retry.next.and_then(|next| retry_delay(text, next));
    let note = Note::retry(Retry::new(count(retry.attempt), reason).delay_ms(delay).code(code));
    let Some(action) = retry.action else { return note };
    let said: Vec<String> = [action.title, action.message, action.link].into_iter().flatten().collect();
    note.with_part(ContentPart::text(said.join("\n")))
}

/// A part of a message that tells of an attempt that failed.
pub(super) fn message_retries(part: RetryPart) -> Note {
    let (code, reason) = match part.error.map(Trouble::from) {
        Some(Trouble::Failed(failure)) => (Some(failure.code), failure.message),
        Some(Trouble::Interrupted) | None => (None, String::new()),
    };
    Note::retry(Retry::new(count(part.attempt), reason).code(code)).native_id(part.id)
}

/// The first attempt that is made again is number 1.
fn count(attempt: Option<i64>) -> u64 {
    attempt.and_then(|attempt| u64::try_from(attempt).ok()).unwrap_or(1)
}

/// The words of a provider's answer, where the agent tells the whole of it.
fn in_words(message: String) -> String {
    #[derive(Deserialize)]
    struct Answer {
        message: String,
    }
    match serde_json::from_str::<Answer>(&message) {
        Ok(answer) => answer.message,
        Err(_) => message,
    }
}
