//! Messages.

use std::borrow::Cow;

use interlingua_schema::{ContentPart, NativeItemId, Role, Visibility};

use crate::Key;

/// What a message streams.
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

    /// What a message has when it begins. Reasoning has its part from the start, still empty: whoever follows the
    /// deltas must know what they are.
    pub(crate) fn initial_content(self) -> Vec<ContentPart> {
        match self {
            Self::Text => Vec::new(),
            Self::Reasoning(_) => vec![self.part(String::new())],
        }
    }

    /// What streams in a message of this content.
    pub(crate) fn from_content(content: &[ContentPart]) -> Self {
        match content.first() {
            Some(ContentPart::Reasoning { visibility, .. }) => Self::Reasoning(*visibility),
            _ => Self::Text,
        }
    }
}

/// The texts of a message in order; mostly there is one.
pub(crate) fn streamed_text(content: &[ContentPart]) -> Cow<'_, str> {
    let mut texts = content.iter().filter_map(ContentPart::streamed_text);
    let first = texts.next().unwrap_or_default();
    match texts.next() {
        None => Cow::Borrowed(first),
        Some(second) => Cow::Owned([first, second].into_iter().chain(texts).collect()),
    }
}

/// Who says a message. A role that is kept in a draft, of which there are many, has to be small.
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

/// Something said: one stream of text, or of reasoning. An agent's message that holds both is two of these, with the
/// same [`in_message`](MessageDraft::in_message).
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

    /// The agent says something.
    #[must_use]
    pub fn assistant() -> Self {
        Self::new(MessageRole::Assistant, Channel::Text)
    }

    /// The agent thinks.
    #[must_use]
    pub fn reasoning(visibility: Visibility) -> Self {
        Self::new(MessageRole::Assistant, Channel::Reasoning(visibility))
    }

    /// A sub-agent is told what to do. (What the user says is a [`UserMessage`](crate::UserMessage).)
    #[must_use]
    pub fn prompt() -> Self {
        Self::new(MessageRole::User, Channel::Text)
    }

    /// Sets the agent's own id of the item; without one it is null.
    #[must_use]
    pub fn native_id(mut self, id: impl Into<NativeItemId>) -> Self {
        self.native_id = Some(id.into());
        self
    }

    /// Names the agent's message that this is part of, so that its tool calls find their parent.
    #[must_use]
    pub fn in_message(mut self, message: impl Into<Key>) -> Self {
        self.native_message = Some(message.into());
        self
    }
}

/// How a message ends.
#[derive(Clone, Debug, Default)]
pub struct MessageEnd {
    /// The whole text; what was streamed when absent.
    pub(crate) text: Option<String>,
    pub(crate) parts: Vec<ContentPart>,
    pub(crate) failed: bool,
}

impl MessageEnd {
    /// With this text. What was streamed of it already is not said again.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// With what was streamed, because the agent only says that it is over.
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

    /// Cut off or aborted.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.failed = true;
        self
    }
}
