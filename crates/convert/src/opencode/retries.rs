//! Retries of requests to the model.

use interlingua_native::opencode::{RetryPart, RetrySessionStatus};
use interlingua_schema::{ContentPart, Retry};
use serde::Deserialize;

use super::failures::ErrorReport;
use super::wire::retry_delay;
use crate::{Note, error_code_for_text};

/// Note for a session that waits before a retry. `text` is the JSON of the event, whose id contains its time.
pub(super) fn session_retry_note(retry: RetrySessionStatus, text: &str) -> Note {
    let reason = retry.message.map_or_else(|| "the model did not answer".to_owned(), provider_message);
    let code = error_code_for_text(&reason);
    let delay = retry.next.and_then(|next| retry_delay(text, next));
    let note = Note::retry(Retry::new(attempt_number(retry.attempt), reason).delay_ms(delay).code(code));
    let Some(action) = retry.action else { return note };
    let texts: Vec<String> = [action.title, action.message, action.link].into_iter().flatten().collect();
    note.with_part(ContentPart::text(texts.join("\n")))
}

/// Note for a part that reports a failed attempt.
pub(super) fn message_retry_note(part: RetryPart) -> Note {
    let (code, reason) = match part.error.map(ErrorReport::from) {
        Some(ErrorReport::Failed(failure)) => (Some(failure.code), failure.message),
        Some(ErrorReport::Interrupted) | None => (None, String::new()),
    };
    Note::retry(Retry::new(attempt_number(part.attempt), reason).code(code)).native_id(part.id)
}

/// Number of the retry; the first one is 1.
fn attempt_number(attempt: Option<i64>) -> u64 {
    attempt.and_then(|attempt| u64::try_from(attempt).ok()).unwrap_or(1)
}

/// Message in the response of a provider, if the agent passes on the whole response.
fn provider_message(message: String) -> String {
    #[derive(Deserialize)]
    struct ProviderResponse {
        message: String,
    }
    match serde_json::from_str::<ProviderResponse>(&message) {
        Ok(response) => response.message,
        Err(_) => message,
    }
}
