//! Messages as clients send them.

use interlingua_schema::{Message, SessionId};
use interlingua_store::{MessageState, NewMessage, Session};
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

use crate::attachments;
use crate::cpu_bound::run_cpu_bound;
use crate::error::RuntimeError;
use crate::ids::unique_id;
use crate::runtime::Runtime;
use crate::sent_message::SentMessage;
use crate::session::{SessionCommand, SessionRequest};

/// Maximum length of a message id.
const MAX_MESSAGE_ID_BYTES: usize = 128;

/// A message for a session, with an id if the client has chosen one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IncomingMessage {
    /// Id of the message, unique in its session. A message with an id can be sent again: it is queued once.
    pub id: Option<String>,
    /// The message.
    pub message: Message,
    /// The client's trace (`traceparent` of W3C Trace Context), for the agent's process if the message starts it. It is no
    /// part of the message: the same message may be sent again with another one.
    pub trace_parent: Option<String>,
}

impl IncomingMessage {
    /// A message with this id.
    #[must_use]
    pub fn new(id: Option<String>, message: Message) -> Self {
        Self { id, message, trace_parent: None }
    }

    /// Sets the client's trace.
    #[must_use]
    pub fn trace_parent(mut self, trace_parent: Option<String>) -> Self {
        self.trace_parent = trace_parent;
        self
    }

    /// Equal for messages with the same text and attachments only.
    fn fingerprint(&self) -> Vec<u8> {
        let mut digest = Sha256::new();
        // Each text is preceded by its length, so that no two messages have the same bytes.
        let mut add = |text: Option<&str>| {
            digest.update(text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            digest.update(text.unwrap_or_default());
        };
        add(Some(&self.message.text));
        for attachment in &self.message.attachments {
            add(Some(&attachment.path));
            add(attachment.mime.as_deref());
            add(attachment.filename.as_deref());
        }
        digest.finalize().to_vec()
    }
}

impl From<Message> for IncomingMessage {
    fn from(message: Message) -> Self {
        Self::new(None, message)
    }
}

/// Checks the length and the characters of a message id.
fn check_message_id(id: &str) -> Result<(), RuntimeError> {
    if id.is_empty() || id.len() > MAX_MESSAGE_ID_BYTES {
        let detail = format!("expected a message id of 1 to {MAX_MESSAGE_ID_BYTES} bytes, found {}", id.len());
        return Err(RuntimeError::field("id", detail));
    }
    if id.chars().any(char::is_control) {
        return Err(RuntimeError::field("id", "expected a message id without control characters"));
    }
    Ok(())
}

impl Runtime {
    /// Queues a message, and returns when it is durable. Its turn starts when all earlier messages have had theirs.
    ///
    /// A message with the id of an earlier one is not queued again: the result is that of the earlier one, whatever has
    /// become of it since, also after a restart.
    ///
    /// # Errors
    /// If the session does not exist or has ended, the agent cannot take the message, or the session has another message
    /// with the same id.
    pub async fn send(&self, id: &SessionId, message: impl Into<IncomingMessage>) -> Result<SentMessage, RuntimeError> {
        let incoming = message.into();
        let fingerprint = run_cpu_bound(incoming.message.text.len(), || incoming.fingerprint());
        let session = self.session(id).await?;
        if let Some(message_id) = &incoming.id {
            check_message_id(message_id)?;
            if let Some(existing) = self.shared.store.find_message(session.key, message_id).await? {
                if existing.fingerprint != fingerprint {
                    return Err(RuntimeError::message_id_taken(session.id, message_id));
                }
                return self.find_turn(&session, message_id, existing.state).await;
            }
        }
        if session.ended {
            return Err(RuntimeError::SessionEnded(session.id));
        }
        let driver = self.driver(&session.agent)?;
        let mut message = incoming.message;
        self.fetch_files(session.key, &mut message).await;
        let message = attachments::resolve(message, session.directory.as_deref())?;
        driver.check_message(&message).map_err(|refusal| refusal.into_runtime_error(driver.id()))?;
        let public_id = incoming.id.unwrap_or_else(|| unique_id("msg_"));
        let message = NewMessage::new(public_id, message).fingerprint(fingerprint);
        let trace_parent = incoming.trace_parent;
        if self.fleet().is_some() {
            return self.send_in_fleet(&session, message, trace_parent).await;
        }
        let (turn_start, turn) = oneshot::channel();
        let command = |reply_to| SessionCommand::Message { message, trace_parent, reply_to, turn_start };
        self.send_command(&session, command).await?;
        Ok(SentMessage::waiting(turn))
    }

    /// The turn of a message that was queued before.
    async fn find_turn(
        &self,
        session: &Session,
        message_id: &str,
        state: MessageState,
    ) -> Result<SentMessage, RuntimeError> {
        let mut state = Some(state);
        if state == Some(MessageState::Queued) && self.fleet().is_some() {
            return Ok(self.follow_message(session, message_id.to_owned()));
        }
        if state == Some(MessageState::Queued) {
            let (turn_start, turn) = oneshot::channel();
            let public_id = message_id.to_owned();
            let command = |reply_to| SessionCommand::FindTurn { public_id, reply_to, turn_start };
            match self.send_command(session, command).await {
                Ok(()) => return Ok(SentMessage::waiting(turn)),
                Err(RuntimeError::SessionEnded(_)) => {}
                Err(error) => return Err(error),
            }
            // The session has ended meanwhile: the message had its turn before, or was cancelled.
            state = self.shared.store.find_message(session.key, message_id).await?.map(|record| record.state);
        }
        Ok(match state {
            Some(MessageState::Begun { turn_starts_after }) => SentMessage::started(turn_starts_after),
            _ => SentMessage::cancelled(),
        })
    }

    /// Removes a message from the queue. A message that was removed before stays so.
    ///
    /// # Errors
    /// If the session or the message does not exist, or the turn of the message has begun.
    pub async fn cancel_message(&self, id: &SessionId, message: &str) -> Result<(), RuntimeError> {
        let session = self.session(id).await?;
        self.dispatch(&session, SessionRequest::CancelMessage { message: message.to_owned() }).await
    }
}

#[cfg(test)]
mod tests {
    use interlingua_schema::Attachment;

    use super::*;

    #[test]
    fn different_messages_have_different_fingerprints() {
        let with = |text: &str, paths: &[&str]| {
            let attachments = paths.iter().map(|path| Attachment::new(*path)).collect();
            IncomingMessage::from(Message::new(text).attachments(attachments)).fingerprint()
        };
        let messages = [with("a", &[]), with("", &["a"]), with("a", &["b"]), with("ab", &[]), with("a", &["b", "c"])];
        for (index, message) in messages.iter().enumerate() {
            assert!(!messages[index + 1..].contains(message), "message {index}");
        }
        assert_eq!(with("a", &["b"]), with("a", &["b"]));
    }

    #[test]
    fn an_invalid_message_id_is_refused() {
        for id in ["", "a\nb", &"x".repeat(129)] {
            assert!(check_message_id(id).is_err(), "{id:?}");
        }
        assert!(check_message_id(&"x".repeat(128)).is_ok());
    }
}
