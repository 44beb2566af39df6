//! A message on its way from the queue into the stream.

use interlingua_convert::PromptDraft;
use interlingua_schema::{ContentPart, FileAction, Message};
use interlingua_store::{MessageId, QueuedMessage};
use tokio::sync::oneshot;

/// The message that the agent was given last, until its turn is over.
#[derive(Debug)]
pub(super) struct Ordered {
    pub(super) id: MessageId,
    pub(super) message: Message,
    /// Who waits for its turn.
    pub(super) turn: Option<oneshot::Sender<u64>>,
    /// The sequence before the turn that began since.
    pub(super) began_after: Option<u64>,
    /// Whether the stream shows it.
    pub(super) shown: bool,
    /// Whether the driver did anything since it was ordered.
    pub(super) touched: bool,
    /// Whether it was ordered a second time.
    pub(super) repeated: bool,
}

impl Ordered {
    pub(super) fn new(queued: QueuedMessage, turn: Option<oneshot::Sender<u64>>) -> Self {
        Self {
            id: queued.id,
            message: queued.message,
            turn,
            began_after: None,
            shown: false,
            touched: false,
            repeated: false,
        }
    }

    /// The message as the user's words, for when the agent never got to hear them.
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
