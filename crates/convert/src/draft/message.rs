//! Drafts of messages.

use std::borrow::Cow;

use interlingua_schema::{ContentPart, NativeItemId, RawJson, Role, Visibility};

use crate::Key;

/// Kind of text that a message streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Text,
    Reasoning(Visibility),
}

impl Channel {
    pub(crate) fn part(self, text: String) -> ContentPart {
        match self {
            Self::Text => ContentPart::Text { text },
            Self::Reasoning(visibility) => ContentPart::Reasoning { text, visibility },
        }
    }

    /// Content of a message at its start. Reasoning has an empty part from the start, so that a reader of the deltas
    /// knows that they are reasoning.
    pub(crate) fn initial_content(self) -> Vec<ContentPart> {
        match self {
            Self::Text => Vec::new(),
            Self::Reasoning(_) => vec![self.part(String::new())],
        }
    }

    /// Channel of a message with this content.
    pub(crate) fn from_content(content: &[ContentPart]) -> Self {
        match content.first() {
            Some(ContentPart::Reasoning { visibility, .. }) => Self::Reasoning(*visibility),
            _ => Self::Text,
        }
    }
}

/// The texts of a message, joined. Mostly there is one, which is borrowed.
pub(crate) fn streamed_text(content: &[ContentPart]) -> Cow<'_, str> {
    let mut texts = content.iter().filter_map(ContentPart::streamed_text);
    let first = texts.next().unwrap_or_default();
    match texts.next() {
        None => Cow::Borrowed(first),
        Some(second) => Cow::Owned([first, second].into_iter().chain(texts).collect()),
    }
}

/// Role of a message. Smaller than [`Role`], because every draft has room for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageRole {
    User,
    Assistant,
}

impl From<MessageRole> for Role {
    fn from(role: MessageRole) -> Self {
        match role {
            MessageRole::User => Self::User,
            MessageRole::Assistant => Self::Assistant,
        }
    }
}

/// A message: one stream of text, or of reasoning. A native message with both is two of these, with the same
/// [`in_message`](MessageDraft::in_message).
#[derive(Clone, Debug)]
pub struct MessageDraft {
    pub(crate) role: MessageRole,
    pub(crate) channel: Channel,
    pub(crate) native_id: Option<NativeItemId>,
    pub(crate) native_message: Option<Key>,
}

impl MessageDraft {
    fn new(role: MessageRole, channel: Channel) -> Self {
        Self { role, channel, native_id: None, native_message: None }
    }

    /// Text of the agent.
    #[must_use]
    pub fn assistant() -> Self {
        Self::new(MessageRole::Assistant, Channel::Text)
    }

    /// Reasoning of the agent.
    #[must_use]
    pub fn reasoning(visibility: Visibility) -> Self {
        Self::new(MessageRole::Assistant, Channel::Reasoning(visibility))
    }

    /// The prompt of a sub-agent. A message of the user is a [`UserMessage`](crate::UserMessage).
    #[must_use]
    pub fn prompt() -> Self {
        Self::new(MessageRole::User, Channel::Text)
    }

    /// Sets the native id of the item; null if not set.
    #[must_use]
    pub fn native_id(mut self, id: impl Into<NativeItemId>) -> Self {
        self.native_id = Some(id.into());
        self
    }

    /// Sets the native message that this is part of, so that its tool calls find their parent.
    #[must_use]
    pub fn in_message(mut self, message: impl Into<Key>) -> Self {
        self.native_message = Some(message.into());
        self
    }
}

/// End of a message.
#[derive(Clone, Debug, Default)]
pub struct MessageEnd {
    /// The whole text; the streamed text if `None`.
    pub(crate) text: Option<String>,
    pub(crate) parts: Vec<ContentPart>,
    pub(crate) failed: bool,
    pub(crate) raw: Option<RawJson>,
}

impl MessageEnd {
    /// Ends with this text. The part that was streamed already is not emitted again.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Ends with the streamed text, because the agent only reports that the message is over.
    #[must_use]
    pub fn as_streamed() -> Self {
        Self::default()
    }

    /// Adds a part after the text: an image, a file, JSON.
    #[must_use]
    pub fn with_part(mut self, part: ContentPart) -> Self {
        self.parts.push(part);
        self
    }

    /// Sets the payload with the end of the text, from [`Drafts::raw`](crate::Drafts::raw), if that is not the payload that
    /// is being converted.
    #[must_use]
    pub fn raw(mut self, raw: Option<RawJson>) -> Self {
        self.raw = raw;
        self
    }

    /// Marks the message as failed: it was cut off or aborted.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.failed = true;
        self
    }
}
