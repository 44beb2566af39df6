//! The message that the agent works on.

use interlingua_convert::PromptDraft;
use interlingua_schema::{ContentPart, FileAction, Message};
use interlingua_store::{MessageId, QueuedMessage};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

/// The message that was sent to the driver last, until its turn has ended.
#[derive(Debug)]
pub(super) struct CurrentMessage {
    pub(super) id: MessageId,
    /// Id of the message for clients.
    pub(super) public_id: String,
    pub(super) message: Message,
    /// The client's trace.
    pub(super) trace_parent: Option<String>,
    /// The callers that wait for the message's turn.
    pub(super) turn_waiters: Vec<oneshot::Sender<u64>>,
    /// The sequence number before the turn that started since the message was sent.
    pub(super) turn_starts_after: Option<u64>,
    /// Whether the stream has the message.
    pub(super) is_in_stream: bool,
    /// Whether the driver has launched or sent anything since it got the message.
    pub(super) has_driver_acted: bool,
    /// Whether it was sent to the driver a second time.
    pub(super) is_retried: bool,
    /// Room for a large message, until the stream has it.
    room: Option<OwnedSemaphorePermit>,
}

impl CurrentMessage {
    pub(super) fn new(
        queued: QueuedMessage,
        turn_waiters: Vec<oneshot::Sender<u64>>,
        room: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self {
            id: queued.id,
            public_id: queued.public_id,
            message: queued.message,
            trace_parent: None,
            turn_waiters,
            turn_starts_after: None,
            is_in_stream: false,
            has_driver_acted: false,
            is_retried: false,
            room,
        }
    }

    pub(super) fn trace_parent(mut self, trace_parent: Option<String>) -> Self {
        self.trace_parent = trace_parent;
        self
    }

    /// Releases the text, if the driver has acted on it: the stream has the message. Returns the room for a large
    /// message, which is needed until the events that show it are durable.
    pub(super) fn release_text(&mut self) -> Option<OwnedSemaphorePermit> {
        if self.has_driver_acted {
            self.message.text = String::new();
        }
        self.room.take()
    }

    /// The message as a prompt, for a message that never reached the agent.
    pub(super) fn prompt(&self) -> PromptDraft {
        let mut content = Vec::new();
        if !self.message.text.is_empty() {
            content.push(ContentPart::text(self.message.text.as_str()));
        }
        content.extend(self.message.attachments.iter().map(|attachment| {
            let path = attachment.path.clone();
            match &attachment.mime {
                Some(mime) if mime.starts_with("image/") => ContentPart::Image { path, mime: Some(mime.clone()) },
                _ => ContentPart::FileRef { path, action: FileAction::Read, diff: None },
            }
        }));
        PromptDraft::new(content)
    }
}
